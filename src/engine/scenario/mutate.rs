//! Which small changes of the policies the cases notice, and which they do not.
//!
//! In: cases. Out: each mutant of the manifests that they name, with the case that notices it, or with the word that none does. A case notices a change if it
//! passed before and does not pass any more. Cases that never come to a changed step cannot notice it and are not run. Linear in the mutants times those cases.

use super::case::{Case, Manifests};
use super::coverage::Coverage;
use super::killers::killer;
use super::killing_case::KillingCase;
use super::mutants::{Mutant, SWAPPED, mutants};
use super::report::CaseOutcome;
use super::run::{Compiled, Runner, Telling};
use crate::analysis::never_both_fail;
use crate::diagnostic::{Diagnostic, Standing};
use crate::diff::proved_alike;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::given::plain;
use crate::manifest::mode::Mode;
use crate::policy::step_key;
use crate::source::{Place, Span};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;

/// What came of the mutants.
#[derive(Clone, Debug, Default)]
pub struct Mutation {
    /// Those that were tried, in the order in which they stand.
    pub tried: Vec<TriedMutant>,
}

/// A mutant that was tried.
#[derive(Clone, Debug)]
pub struct TriedMutant {
    /// The change.
    pub mutant: Mutant,
    /// What came of it.
    pub fate: Fate,
    /// A case that would notice it, if none does and one was looked for and found.
    pub killer: Option<KillingCase>,
}

/// Whether cases are looked for that would notice what survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// They are not.
    Nothing,
    /// Other arguments, results, messages and payloads are tried.
    Arguments,
}

/// What came of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// This case notices it.
    Noticed(String),
    /// No case does.
    Survived,
}

impl Mutation {
    /// How many were noticed.
    #[must_use]
    pub fn noticed(&self) -> usize {
        self.tried.iter().filter(|tried| matches!(tried.fate, Fate::Noticed(_))).count()
    }

    /// Each of them as JSON: `path`, `file`, `line`, `column`, `kind`, `change`, `noticed_by`, and where a case was found that would notice it, the text of that as `case`. Its
    /// name is `mutant-1` for the first one, and its manifests are named by the ways from where the cases that were run are named.
    pub fn rows(&self) -> impl Iterator<Item = Value> {
        let mut killers: usize = 0;
        self.tried.iter().map(move |tried| {
            let mut row = tried.to_json();
            if let (Some(killer), Some(members)) = (&tried.killer, row.as_object_mut()) {
                killers = killers.saturating_add(1);
                let text = killer.text(&format!("mutant-{killers}"), plain);
                members.insert("case".to_owned(), text.into());
            }
            row
        })
    }

    /// Those that no case notices.
    pub fn survivors(&self) -> impl Iterator<Item = &TriedMutant> {
        self.tried.iter().filter(|tried| tried.fate == Fate::Survived)
    }
}

impl TriedMutant {
    fn to_json(&self) -> Value {
        let mutant = &self.mutant;
        let position = mutant.place.position();
        let noticed_by = match &self.fate {
            Fate::Noticed(case) => Some(case),
            Fate::Survived => None,
        };
        json!({
            "path": mutant.path,
            "file": mutant.file(),
            "line": position.line,
            "column": position.column,
            "kind": mutant.kind,
            "change": mutant.about,
            "noticed_by": noticed_by,
        })
    }
}

/// Cases that name the same manifests.
struct Group<'c> {
    key: (Vec<PathBuf>, Mode),
    compiled: Rc<Compiled>,
    cases: Vec<&'c Case>,
}

impl Runner {
    /// Tries the mutants of the manifests that these cases name on those of them that pass. Cases that bring manifests of their own along are left out.
    /// Mutants that `check` would reject do not count, nor do those that are proved to decide everything as before.
    pub fn mutate(&mut self, cases: &[Case], search: Search) -> Mutation {
        let mut covering = Self::among(self.files.clone(), self.limits).covering();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for case in cases.iter().filter(|case| matches!(case.manifests, Manifests::Files { .. })) {
            let Ok(compiled) = covering.compile(case) else { continue };
            if !matches!(covering.run(case).outcome, CaseOutcome::Passed) {
                continue;
            }
            let key = (case.manifest_paths(), case.mode);
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.cases.push(case),
                None => groups.push(Group { key, compiled, cases: vec![case] }),
            }
        }
        let mut mutation = Mutation::default();
        for group in &groups {
            let known = rejections(&group.compiled.findings);
            for mutant in mutants(&group.compiled.catalog, &self.limits) {
                let Some(mutated) = group.compiled.mutated(&mutant, &known) else { continue };
                let (fate, may_notice) = self.fate(&mutant, &mutated, group, &covering);
                // asked of survivors alone: what a case notices makes a difference
                if fate == Fate::Survived
                    && (mutated.decides_as(&group.compiled)
                        || group.compiled.commutes(&mutant)
                        || mutated.is_rejected(&mutant, &known))
                {
                    continue;
                }
                let killer = match (&fate, search) {
                    (Fate::Survived, Search::Arguments) => {
                        // what no case comes to, one with other values may
                        let cases = if may_notice.is_empty() { &group.cases } else { &may_notice };
                        killer(&mutant, &group.compiled, &mutated, cases, &self.limits)
                    }
                    _ => None,
                };
                mutation.add(TriedMutant { mutant, fate, killer });
            }
        }
        mutation
    }

    /// What comes of a mutant, and the cases that came to it.
    fn fate<'c>(
        &self,
        mutant: &Mutant,
        mutated: &Compiled,
        group: &Group<'c>,
        covering: &Self,
    ) -> (Fate, Vec<&'c Case>) {
        let mut tried = Vec::new();
        for case in &group.cases {
            let file = case.name.place.source.name();
            let may_notice =
                |coverage: &Coverage| mutant.steps().iter().any(|step| coverage.comes_to(file, step));
            if mutant.is_local() && !covering.coverage.as_ref().is_none_or(may_notice) {
                continue;
            }
            tried.push(*case);
            let outcome = mutated.outcome(case, Telling::Off, &self.limits, &mut Vec::new());
            if !matches!(outcome, Ok(CaseOutcome::Passed)) {
                return (Fate::Noticed(case.name.text.to_string()), tried);
            }
        }
        (Fate::Survived, tried)
    }
}

/// What `check` rejects: by file, code and place.
type Rejections = HashSet<(String, &'static str, Span)>;

fn rejection(finding: &Diagnostic) -> Option<(String, &'static str, Span)> {
    let is_rejected = finding.is_error() || finding.standing == Standing::Refused;
    is_rejected.then(|| (finding.place.source.name().to_owned(), finding.code, finding.place.span))
}

fn rejections(findings: &[Diagnostic]) -> Rejections {
    findings.iter().filter_map(rejection).collect()
}

/// Whether something is rejected that is not known.
fn has_new(findings: &[Diagnostic], known: &Rejections) -> bool {
    findings.iter().filter_map(rejection).any(|rejection| !known.contains(&rejection))
}

impl Compiled {
    /// The same manifests with a change; nothing if an agent does not compile with it that did without, or compiling finds what `check` rejects. `known` is what it
    /// rejects without the change.
    fn mutated(&self, mutant: &Mutant, known: &Rejections) -> Option<Self> {
        let catalog = mutant.apply(&self.catalog)?;
        let (engine, findings) = self.engine.of_mutant(&catalog);
        if has_new(&findings, known) {
            return None;
        }
        let runs = |resolved: &ResolvedAgent| {
            let (namespace, name) = (&resolved.agent.namespace.text, &resolved.agent.name.text);
            self.engine.policy(namespace, name).is_err() || engine.policy(namespace, name).is_ok()
        };
        if !catalog.agents().iter().all(runs) {
            return None;
        }
        Some(Self { catalog, engine, findings: self.findings.clone() })
    }

    /// Whether `check` rejects what these policies permit: of clauses that decide nothing, for example. `known` is what it rejects anyway.
    fn is_rejected(&self, mutant: &Mutant, known: &Rejections) -> bool {
        has_new(&self.engine.findings_of_steps(&self.catalog, mutant.steps()), known)
    }

    /// Whether a mutant swaps two steps of which no call fails both, so that their order decides nothing.
    fn commutes(&self, mutant: &Mutant) -> bool {
        let (SWAPPED, [one, two]) = (mutant.kind, mutant.steps()) else { return false };
        let mut is_known = false;
        let commutes = self.catalog.agents().iter().all(|resolved| {
            let (namespace, name) = (&resolved.agent.namespace.text, &resolved.agent.name.text);
            let Ok(policy) = self.engine.policy(namespace, name) else { return true };
            let find = |place: &Place| policy.steps().find(|step| step_key(step.place()) == step_key(place));
            let (Some(one), Some(two)) = (find(one), find(two)) else { return true };
            is_known = true;
            never_both_fail(&policy, one, two)
        });
        is_known && commutes
    }

    /// Whether it is proved that both decide everything alike.
    fn decides_as(&self, other: &Self) -> bool {
        proved_alike((&other.catalog, &other.engine), (&self.catalog, &self.engine))
    }
}

impl Mutation {
    /// A mutant of several groups of cases is one, and noticed if a case of any of them does.
    fn add(&mut self, found: TriedMutant) {
        let is_it = |tried: &&mut TriedMutant| {
            let known = &tried.mutant;
            // one file may be named in several ways, by cases of several folders
            (known.file(), known.place.span, &known.about)
                == (found.mutant.file(), found.mutant.place.span, &found.mutant.about)
        };
        match self.tried.iter_mut().find(is_it) {
            Some(known) if known.fate == Fate::Survived => *known = found,
            Some(_) => {}
            None => self.tried.push(found),
        }
    }
}
