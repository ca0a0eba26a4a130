//! Documents by name: who is meant, and who is there twice.
//!
//! In: documents of all namespaces. Out: [`Names`], which resolves the references of agents, and errors for documents
//! of one name. Looking a name up costs the documents that have it; proposing others costs all names, so that is done
//! a bounded number of times.

use super::agent::Agent;
use super::messages;
use super::mount::Mount;
use super::policy::DeclaredPolicy;
use super::reader::{Path, Reader};
use super::resolved_agent::Target;
use super::tool::Tool;
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place, Source};
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many documents that a name may mean are pointed at.
const SHOWN: usize = 4;

/// Tools and agents by name, of all namespaces.
pub(super) struct Names<'a> {
    by_name: HashMap<&'a str, Vec<Target>>,
    /// How many more times other names are proposed: each time goes over all of them.
    guesses: Cell<usize>,
    /// A file that may hold more of them.
    unread: Option<&'a Source>,
}

/// The meaning of a name in an agent.
pub(super) enum Resolution {
    Found(Target),
    /// More than one; some of them.
    Several(Vec<Place>),
    Nothing,
}

impl<'a> Names<'a> {
    pub(super) fn new(
        agents: &'a [Arc<Agent>],
        tools: &'a [Arc<Tool>],
        unread: Option<&'a Source>,
        guesses: usize,
    ) -> Self {
        let mut by_name: HashMap<&str, Vec<Target>> = HashMap::new();
        for tool in tools {
            by_name.entry(&tool.name.text).or_default().push(Target::Tool(Arc::clone(tool)));
            for (name, alone) in tool.alone() {
                by_name.entry(name).or_default().push(Target::Tool(Arc::new(alone)));
            }
        }
        for agent in agents {
            by_name.entry(&agent.name.text).or_default().push(Target::Agent(Arc::clone(agent)));
        }
        Self { by_name, guesses: Cell::new(guesses), unread }
    }

    /// The documents that an agent names, by the names that it has for them. No others are proposed.
    pub(super) fn of_targets(targets: impl Iterator<Item = (&'a str, Target)>) -> Self {
        let mut by_name: HashMap<&str, Vec<Target>> = HashMap::new();
        for (name, target) in targets {
            by_name.entry(name).or_default().push(target);
        }
        Self { by_name, guesses: Cell::new(0), unread: None }
    }

    /// The document of a name among those `wanted`: that of the namespace, else the only one of all.
    pub(super) fn resolve(
        &self,
        name: &str,
        namespace: &str,
        wanted: impl Fn(&Target) -> bool,
    ) -> Resolution {
        let all = self.by_name.get(name).into_iter().flatten().filter(|target| wanted(target));
        let near = all.clone().filter(|target| target.namespace() == Some(namespace)).collect::<Vec<_>>();
        let candidates = if near.is_empty() { all.collect() } else { near };
        match candidates.as_slice() {
            [] => Resolution::Nothing,
            [target] => Resolution::Found((*target).clone()),
            several => {
                Resolution::Several(several.iter().take(SHOWN).filter_map(|target| target.place()).collect())
            }
        }
    }

    /// The name of a document that a misspelt one was meant to be.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        let names = self.may_guess().then(|| self.by_name.keys().copied());
        nearest(name, names.into_iter().flatten())
    }

    /// The finding that a name is not there, with the file that may hold it.
    pub(super) fn or_unread(&self, finding: Diagnostic) -> Diagnostic {
        match self.unread {
            Some(file) if finding.help.is_none() => {
                finding.help(format!("`{}` cannot be read, and may hold it", file.name()))
            }
            _ => finding,
        }
    }

    /// What there is instead of a name that is unknown, in order; nothing when enough has been said.
    pub(super) fn alternatives<'n>(&self, known: &HashSet<&'n str>) -> Vec<&'n str> {
        if !self.may_guess() {
            return Vec::new();
        }
        let mut names = known.iter().copied().collect::<Vec<_>>();
        names.sort_unstable();
        names
    }

    fn may_guess(&self) -> bool {
        let left = self.guesses.get();
        self.guesses.set(left.saturating_sub(1));
        left > 0
    }
}

/// What a document is known by.
pub(super) trait Named {
    const FAMILY: &'static str;
    fn namespace(&self) -> &Embedded;
    fn name(&self) -> &Embedded;
    fn path(&self) -> Path;
    fn condemn(&mut self);
}

impl Named for Agent {
    const FAMILY: &'static str = "agent";
    fn namespace(&self) -> &Embedded {
        &self.namespace
    }
    fn name(&self) -> &Embedded {
        &self.name
    }
    fn path(&self) -> Path {
        Path::document(&self.path)
    }
    fn condemn(&mut self) {
        self.sound = false;
    }
}

impl Named for Tool {
    const FAMILY: &'static str = "tool";
    fn namespace(&self) -> &Embedded {
        &self.namespace
    }
    fn name(&self) -> &Embedded {
        &self.name
    }
    fn path(&self) -> Path {
        Path::document(&self.path)
    }
    fn condemn(&mut self) {
        self.sound = false;
    }
}

impl Named for DeclaredPolicy {
    const FAMILY: &'static str = "policy";
    fn namespace(&self) -> &Embedded {
        &self.namespace
    }
    fn name(&self) -> &Embedded {
        &self.name
    }
    fn path(&self) -> Path {
        Path::document(&self.path)
    }
    fn condemn(&mut self) {
        self.sound = false;
    }
}

/// Two documents of one family and name: neither may be used, and the first is kept so that checking can go on.
pub(super) fn refuse_twins<T: Named>(documents: &mut Vec<T>, reader: &mut Reader) {
    let mut first: HashMap<(String, String), usize> = HashMap::new();
    let mut kept: Vec<T> = Vec::new();
    for document in documents.drain(..) {
        let name = (document.namespace().text.to_string(), document.name().text.to_string());
        match first.entry(name) {
            Entry::Occupied(at) if !document.name().text.is_empty() => {
                if let Some(twin) = kept.get_mut(*at.get()) {
                    let place = twin.name().place.clone();
                    let finding = messages::duplicate_manifest(document.name(), T::FAMILY, place);
                    reader.report(&document.path().key("name"), finding);
                    twin.condemn();
                }
            }
            Entry::Occupied(_) => kept.push(document),
            Entry::Vacant(free) => {
                free.insert(kept.len());
                kept.push(document);
            }
        }
    }
    *documents = kept;
}

/// The mount of the workspace; of several, the first, and it may not be used.
pub(super) fn only_mount(mounts: Vec<Mount>, reader: &mut Reader) -> Option<Arc<Mount>> {
    let mut mounts = mounts.into_iter();
    let mut first = mounts.next()?;
    for other in mounts {
        let finding = messages::several_mounts(&other.name.place, first.name.place.clone());
        reader.report(&Path::document(&other.path), finding);
        first.sound = false;
    }
    Some(Arc::new(first))
}
