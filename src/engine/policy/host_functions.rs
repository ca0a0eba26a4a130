//! Functions that policies expect of their host, compared with those that the host has registered.
//!
//! In: an agent under its policies, and what is known of the host. Out: a finding for each declared function that the host lacks or has registered otherwise, and for each that two policies declare
//! differently. A policy whose function is not there must not run: each of its rules could fail. Linear in the declarations.

use super::messages;
use crate::cel::HostFunctionSet;
use crate::diagnostic::Diagnostic;
use crate::manifest::Catalog;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::host_function::DeclaredFunction;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The functions of a host, as far as an engine knows them.
#[derive(Clone, Debug)]
pub(crate) enum KnownFunctions {
    /// They are not there: policies are checked by what they declare, and a call fails.
    Declared,
    /// These and no others.
    Registered(Arc<HostFunctionSet>),
}

impl Default for KnownFunctions {
    fn default() -> Self {
        Self::Registered(Arc::default())
    }
}

impl KnownFunctions {
    /// Those that were given with the documents: none, unless these know them by what policies declare.
    pub(crate) fn of(catalog: &Catalog) -> Self {
        match catalog.host_functions() {
            _ if catalog.has_declared_functions() => Self::Declared,
            Some(functions) => Self::Registered(functions.clone()),
            None => Self::default(),
        }
    }

    /// Those that answer calls.
    pub(crate) fn set(&self) -> Arc<HostFunctionSet> {
        match self {
            Self::Declared => Arc::default(),
            Self::Registered(set) => set.clone(),
        }
    }

    /// What is wrong with the functions that the policies of an agent declare.
    pub(crate) fn findings(&self, resolved: &ResolvedAgent) -> Vec<Diagnostic> {
        let mut known: HashMap<&str, &DeclaredFunction> = HashMap::new();
        let mut findings = Vec::new();
        for declared in resolved.policies.iter().flat_map(|applied| &applied.policy.functions) {
            let first = *known.entry(&declared.signature.name).or_insert(declared);
            let finding = match self {
                _ if first.signature != declared.signature => {
                    let finding = messages::functions_differ(declared, &first.signature);
                    Some(finding.related(first.place.clone(), "the other declaration"))
                }
                Self::Declared => None,
                Self::Registered(set) => match set.signature(&declared.signature.name) {
                    Some(registered) if *registered != declared.signature => {
                        Some(messages::registered_otherwise(declared, registered))
                    }
                    None if !set.has(&declared.signature.name) => {
                        Some(messages::unregistered_function(declared))
                    }
                    _ => None,
                },
            };
            findings.extend(finding.map(|finding| finding.path(&declared.path)));
        }
        findings
    }
}

/// The functions that the policies of an agent expect of the host, each once.
pub(super) fn expected_of_host(resolved: &ResolvedAgent) -> Box<[Arc<str>]> {
    let declared = resolved.policies.iter().flat_map(|applied| &applied.policy.functions);
    let names: BTreeSet<Arc<str>> = declared.map(|function| function.signature.name.clone()).collect();
    names.into_iter().collect()
}
