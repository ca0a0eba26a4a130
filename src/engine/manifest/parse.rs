//! Files to a catalog: read, told apart, linked, and what is wrong with them put in order.
//!
//! In: files, or documents that were read already. Out: a [`Catalog`], and a diagnostic for every problem, file by file and
//! place by place. Linear in the documents.

use super::bundle::Bundle;
use super::catalog::Catalog;
use super::comments::comments;
use super::document::Document;
use super::link;
use super::load::{File, FileOrigin};
use super::messages;
use super::resolved_agent::ResolvedAgent;
use super::role::{Role, empty_file};
use super::yaml;
use crate::diagnostic::{Diagnostic, Standing};
use crate::limits::EngineLimits;
use crate::lint::Allowances;
use crate::source::{Place, Source, Span};
use std::collections::HashMap;

impl Catalog {
    /// Reads and links files. The findings are in the order of the files and, in a file, of their places; of a file with
    /// more than `max_diagnostics` the rest is counted.
    #[must_use]
    pub fn parse(files: &[File], limits: &EngineLimits) -> (Self, Vec<Diagnostic>) {
        Self::parse_beside(files, Vec::new(), limits)
    }

    /// The same with documents that stand in none of the files, and without the steps that are only tried out.
    pub(crate) fn parse_watched(
        files: &[File],
        watching: Vec<Document>,
        limits: &EngineLimits,
    ) -> (Self, Vec<Diagnostic>) {
        let (mut catalog, findings) = Self::parse_beside(files, watching, limits);
        catalog.agents.iter_mut().for_each(ResolvedAgent::enforced_alone);
        (catalog, findings)
    }

    fn parse_beside(
        files: &[File],
        mut documents: Vec<Document>,
        limits: &EngineLimits,
    ) -> (Self, Vec<Diagnostic>) {
        let mut findings = Vec::new();
        let mut bundles = Vec::new();
        let mut unread = None;
        for file in files {
            let before = findings.len();
            let trees = yaml::parse(&file.source, limits, &mut findings);
            if findings.iter().skip(before).any(Diagnostic::is_error) && trees.iter().all(|tree| tree.sound) {
                unread.get_or_insert(&file.source);
            }
            if trees.is_empty() && findings.len() == before {
                findings.push(match file.origin {
                    FileOrigin::Named => messages::no_documents(start(&file.source)),
                    FileOrigin::Found => empty_file(&file.source),
                });
            }
            if Bundle::is_meant(&trees) {
                documents.extend(Bundle::of_documents(&trees, limits, &mut findings).documents);
                bundles.push(&file.source);
                continue;
            }
            for tree in &trees {
                match (file.origin, Role::of(&tree.node)) {
                    (FileOrigin::Named, _) | (_, Role::Manifest) => {
                        documents.extend(Document::read(tree, "", limits, &mut findings));
                    }
                    (FileOrigin::Found, other) => findings.extend(other.finding(&tree.node)),
                }
            }
        }
        if let Some(file) = files.first()
            && documents.is_empty()
            && bundles.is_empty()
            && !findings.iter().any(Diagnostic::is_error)
        {
            findings.push(messages::no_manifests(start(&file.source)));
        }
        let allowances = files.iter().filter_map(|file| comments(&file.source, limits));
        let mut catalog = Self::linked(documents, unread, limits, &mut findings, Allowances::new(allowances));
        for source in bundles {
            catalog.condemn(source, &findings);
        }
        (catalog, in_order(files, findings, limits.max_diagnostics))
    }

    /// Lets nothing of a bundle run if anything in it is an error (BUN-12).
    fn condemn(&mut self, bundle: &Source, findings: &[Diagnostic]) {
        let within = |place: &Place| place.source.same(bundle);
        if !findings.iter().any(|finding| finding.is_error() && within(&finding.place)) {
            return;
        }
        for agent in &mut self.agents {
            agent.sound &= !agent.policies.iter().any(|applied| within(&applied.policy.place));
        }
        let agents = self.agents.iter_mut().map(|one| (&one.agent.place, &mut one.sound));
        let schedules = self.schedules.iter_mut().map(|one| (&one.document.launch.place, &mut one.sound));
        let triggers = self.triggers.iter_mut().map(|one| (&one.document.launch.place, &mut one.sound));
        for (place, sound) in agents.chain(schedules).chain(triggers) {
            *sound &= !within(place);
        }
    }

    /// Links documents that were read one by one, such as those of a case file. `findings` holds what reading them found,
    /// and comes to hold what linking them finds. No comment allows anything there.
    #[must_use]
    pub fn link(documents: Vec<Document>, limits: &EngineLimits, findings: &mut Vec<Diagnostic>) -> Self {
        Self::linked(documents, None, limits, findings, Allowances::default())
    }

    fn linked(
        documents: Vec<Document>,
        unread: Option<&Source>,
        limits: &EngineLimits,
        findings: &mut Vec<Diagnostic>,
        mut allowances: Allowances,
    ) -> Self {
        let mut catalog = link::link(documents, unread, limits, findings);
        allowances.judge(findings);
        catalog.allowances = allowances;
        catalog.refused = findings.iter().filter(|finding| finding.is_refused()).cloned().collect();
        catalog
    }
}

/// The beginning of a source: where to point when the whole of it is meant.
fn start(source: &Source) -> Place {
    Place::new(source, Span::new(0, 0))
}

/// Findings file by file and place by place, at most `limit` a file and one that counts the rest.
fn in_order(files: &[File], findings: Vec<Diagnostic>, limit: usize) -> Vec<Diagnostic> {
    let positions =
        files.iter().enumerate().map(|(at, file)| (file.source.name(), at)).collect::<HashMap<_, _>>();
    let mut by_file = vec![Vec::new(); files.len()];
    for finding in findings {
        let at = positions.get(finding.place.source.name()).copied().unwrap_or_default();
        by_file.get_mut(at).into_iter().for_each(|list| list.push(finding.clone()));
    }
    for list in &mut by_file {
        list.sort_by_key(|finding| finding.place.span.start);
        let hidden = list.split_off(limit.min(list.len()));
        if let Some(first) = hidden.first() {
            let error = hidden.iter().any(Diagnostic::is_error);
            let mut rest = messages::too_many_findings(first.place.clone(), hidden.len(), error);
            if hidden.iter().any(Diagnostic::is_refused) {
                rest.standing = Standing::Refused;
            }
            list.push(rest);
        }
    }
    by_file.into_iter().flatten().collect()
}
