//! Policies that are not served any more, for the tasks that go on under them.
//!
//! In: the digest of a set of manifests that the store keeps. Out: what was served when it was, compiled again by this
//! release, or why that cannot be. A few sets stay compiled; they share the cache of expressions and the switches of what
//! is served.

use crate::limits::ServerLimits;
use crate::manifests::Served;
use crate::messages;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador_store::{StoreError, StoredTasks};
use quick_cache::sync::Cache;
use std::sync::Arc;

/// The sets that were served before, as far as tasks were under them lately.
pub(crate) struct FormerPolicies {
    sets: Cache<String, Arc<Served>>,
    limits: EngineLimits,
}

/// Why a task cannot go on under the policy that it is under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The store does not have its manifests.
    NotKept,
    /// This release does not take its manifests, or makes another policy of them.
    NotCompiled,
}

impl Lack {
    /// In words.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NotKept => messages::manifests_not_kept(),
            Self::NotCompiled => messages::manifests_not_compiled(),
        }
    }
}

impl FormerPolicies {
    /// None compiled yet.
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        Self { sets: Cache::new(limits.max_former_manifests), limits: limits.store.engine }
    }

    /// A set by its digest, compiled beside what is served.
    pub(crate) fn set(
        &self,
        store: &StoredTasks,
        digest: &str,
        served: &Served,
    ) -> Result<Result<Arc<Served>, Lack>, StoreError> {
        if let Some(set) = self.sets.get(digest) {
            return Ok(Ok(set));
        }
        let Some(set) = store.manifests(digest)? else { return Ok(Err(Lack::NotKept)) };
        // findings were told when it was served; an agent that they stop cannot be had from the engine
        let (catalog, _) = Catalog::parse(&set.files()?, &self.limits);
        let (engine, _) = served.engine.beside(&catalog);
        let made = Arc::new(Served { engine, set: Arc::new(set) });
        self.sets.insert(digest.to_owned(), made.clone());
        Ok(Ok(made))
    }
}

#[cfg(test)]
mod tests {
    use super::{FormerPolicies, Lack};
    use crate::limits::ServerLimits;
    use crate::manifests::{Manifests, ReadManifests};
    use crate::settings::Settings;
    use celador::cel::Timestamp;
    use celador::task::{StartTask, User};
    use celador_store::{Database, Location, Owner, StoredTasks};
    use std::fs;

    /// `max_former_manifests` sets stay compiled, and one that has made room is compiled again.
    #[test]
    fn so_many_sets_stay_compiled() -> Result<(), Box<dyn std::error::Error>> {
        let limits = ServerLimits::default().store;
        let store = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
        let folder = tempfile::tempdir()?;
        let (file, now) = (folder.path().join("a.yaml"), Timestamp::from_nanos(0)?);
        let mut digests = Vec::new();
        let mut manifests = None;
        for prompt in ["One.", "Two.", "Three."] {
            fs::write(
                &file,
                format!(
                    "kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: {prompt}\n"
                ),
            )?;
            let settings = Settings::new(vec![folder.path().to_owned()]);
            let opened = Manifests::open(&settings, ReadManifests::of(&settings)?, |_| false, now)?;
            let served = opened.served();
            let user = User { id: "u".into(), email: None, ..User::default() };
            let task = served.engine.start(StartTask::new(prompt, "n", "a", user, now))?;
            store.create_under(&Owner::nobody(), &task, now, None, Some(served.set.clone()))?;
            digests.push(served.set.digest().to_owned());
            manifests = Some(opened);
        }
        let served = manifests.ok_or("no manifests")?.served();
        for most in [1, 2] {
            let bounds = ServerLimits { max_former_manifests: most, ..ServerLimits::default() };
            let former = FormerPolicies::new(&bounds);
            for _ in 0..2 {
                for digest in &digests {
                    let set = former.set(&store, digest, &served)?;
                    assert_eq!(set.map(|set| set.set.digest().to_owned()), Ok(digest.clone()));
                    assert!(former.sets.len() <= most, "{}", former.sets.len());
                }
            }
        }
        let all = FormerPolicies::new(&ServerLimits {
            max_former_manifests: usize::MAX,
            ..ServerLimits::default()
        });
        for digest in &digests {
            assert!(all.set(&store, digest, &served)?.is_ok());
        }
        assert_eq!(all.sets.len(), digests.len());
        assert_eq!(all.set(&store, "none", &served)?.err(), Some(Lack::NotKept));
        Ok(())
    }
}
