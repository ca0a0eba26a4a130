//! Which policy each stored task is under: the manifests that it was made of, and what an operator has decided.
//!
//! In: with the beginning of a task, and with each step that brings it under another policy, the set of manifests that is
//! served. Out: that set, for a process that has to go on under the very same policy. The text of a set is stored once,
//! however many tasks are under it, and goes with the last of them. It is what stood in the files; nothing of an environment
//! or of the settings of a namespace is in it.

use super::Owner;
use super::some_tasks::{places, values_of};
use crate::decision_log::Notice;
use crate::row_digest::digest;
use crate::{Row, Sql, SqlValue, StoreError, messages};
use celador::cel::Timestamp;
use celador::digest::Digest;
use celador::manifest::load::{File, FileOrigin};
use celador::policy::Fingerprint;
use celador::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns of `task_policy`, in the order in which [`TaskPolicy::read`] takes them.
pub(super) const POLICY: &str =
    "owner, task, manifest, manifests, decision, decided_at, decided_by, reason, digest";

/// The manifests that are served together, as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestSet {
    digest: String,
    content: String,
}

/// One file of a set.
#[derive(Serialize, Deserialize)]
struct StoredFile<'f> {
    name: std::borrow::Cow<'f, str>,
    text: std::borrow::Cow<'f, str>,
    named: bool,
}

impl ManifestSet {
    /// The set of these files. Linear.
    #[must_use]
    pub fn of(files: &[File]) -> Self {
        let parts = files.iter().flat_map(|file| [file.source.name(), file.source.text()]);
        let stored = files.iter().map(|File { source, origin }| StoredFile {
            name: source.name().into(),
            text: source.text().into(),
            named: *origin == FileOrigin::Named,
        });
        let stored: Vec<StoredFile<'_>> = stored.collect();
        // texts and a boolean are always JSON
        let content = serde_json::to_string(&stored).unwrap_or_default();
        Self { digest: Digest::of_parts(parts).to_string(), content }
    }

    /// SHA-256 over names and texts of the files, as 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The length of its text, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.content.len()
    }

    /// The files. Linear.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a text that no set ever had.
    pub fn files(&self) -> Result<Vec<File>, StoreError> {
        let stored: Vec<StoredFile<'_>> =
            serde_json::from_str(&self.content).map_err(|_| altered_set(&self.digest))?;
        let file = |StoredFile { name, text, named }| File {
            source: Source::new(name, text),
            origin: if named { FileOrigin::Named } else { FileOrigin::Found },
        };
        Ok(stored.into_iter().map(file).collect())
    }
}

/// The decision of an operator about the policy of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum PolicyDecision {
    /// The task goes on under the policy that is served now, once. When that is replaced, the setting of the server decides again.
    Adopt,
    /// The task goes on under the policy that it is under, until it ends or somebody decides otherwise.
    Keep,
}

impl PolicyDecision {
    /// The word that is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Adopt => "adopt",
            Self::Keep => "keep",
        }
    }

    /// The word in decision logs.
    #[must_use]
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Adopt => "policy_adopt",
            Self::Keep => "policy_keep",
        }
    }
}

/// A decision of an operator about the policy of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PolicyDecision"))]
pub struct PolicyDecided {
    /// The policy under which the task goes on.
    pub decision: PolicyDecision,
    /// The time when they decided: RFC 3339.
    pub at: String,
    /// Who decided: the identity of the caller, or the name that an operator gives at the command line.
    pub who: String,
    /// The reason, in their words.
    pub reason: String,
}

impl PolicyDecided {
    /// Its notice for a decision log.
    #[must_use]
    pub fn notice<'n>(&'n self, at: Timestamp, owner: &'n Owner, task: &'n str, version: u64) -> Notice<'n> {
        Notice {
            who: Some(&*self.who).filter(|who| !who.is_empty()),
            task: Some(task),
            owner: Some(owner.as_str()),
            version: Some(version),
            reason: Some(&self.reason),
            ..Notice::new(at, self.decision.operation())
        }
    }
}

/// The policy of a task, as far as the store knows it.
///
/// ```
/// use celador::manifest::{Catalog, load::load};
/// use celador::{Engine, EngineLimits, StartTask, User};
/// use celador_store::{
///     Database, Location, ManifestSet, NewEvent, OperationKind, Owner, PolicyDecided, PolicyDecision, StoreLimits,
///     StoredTasks, TaskPolicy, Terms,
/// };
/// use std::sync::Arc;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let tasks = StoredTasks::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// // the manifests that are served are stored with the task
/// let (files, _) = load(&["examples/first-policy/agent.yaml"], &limits.engine)?;
/// let set = Arc::new(ManifestSet::of(&files));
/// let owner = Owner::caller("desk");
/// let task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let head = tasks.create_under(&owner, &task, now, None, Some(Arc::clone(&set)))?;
///
/// // an operator decides that the task keeps its policy, whatever is served later
/// let reason = "The customer was promised these terms.".to_owned();
/// let decided = PolicyDecided { decision: PolicyDecision::Keep, at: now.to_string(), who: "kim".into(), reason };
/// let (operation, before) = (OperationKind::Policy, task.mark());
/// let step = NewEvent { operation, at: now, task: &task, before: &before, decision: None, once: None };
/// let terms = Terms { manifests: Some(Arc::clone(&set)), decided: Some(decided), ..Terms::default() };
/// tasks.append_under(&head, &step, terms)?;
///
/// // a process that serves other manifests goes on under those of the task
/// let loaded = tasks.load(&owner, "t-1")?;
/// let policy: &TaskPolicy = loaded.head.policy().ok_or("the store knows the policy")?;
/// assert!(loaded.head.is_kept() && policy.is(&task.policy().fingerprint()));
/// let digest = policy.manifests.as_deref().ok_or("the store has the manifests")?;
/// let kept = tasks.manifests(digest)?.ok_or("the set is there as long as the task")?;
/// let (catalog, _) = Catalog::parse(&kept.files()?, &limits.engine);
/// let (engine, _) = Engine::from_catalog(&catalog, limits.engine);
/// assert_eq!(engine.restore(loaded.saved)?.policy().fingerprint(), task.policy().fingerprint());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPolicy {
    /// [`Policy::fingerprint`](celador::policy::Policy::fingerprint) as text; its column is called `manifest`.
    pub(super) fingerprint: String,
    /// The digest of the manifests that it was made of; nothing if the store does not have them.
    pub manifests: Option<String>,
    /// The last decision of an operator.
    pub decided: Option<PolicyDecided>,
}

/// What is written of the policy of a task.
#[derive(Debug)]
pub(super) struct PolicyWrite {
    pub(super) policy: TaskPolicy,
    /// The manifests, if they are to be kept.
    pub(super) set: Option<Arc<ManifestSet>>,
}

impl TaskPolicy {
    /// Whether it is the policy with this fingerprint.
    #[must_use]
    pub fn is(&self, fingerprint: &Fingerprint) -> bool {
        self.fingerprint == fingerprint.to_string()
    }

    /// Decision, time, who and why; empty where nothing was decided.
    fn decision(&self) -> [&str; 4] {
        let decided = self.decided.as_ref();
        decided.map_or([""; 4], |it| [it.decision.as_str(), &it.at, &it.who, &it.reason])
    }

    /// The row of a task, held against its digest.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let (owner, task, fingerprint) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let manifests = row.optional_text(3)?;
        let [decision, at, who, reason] = [row.text(4)?, row.text(5)?, row.text(6)?, row.text(7)?];
        if row.text(8)? != row_digest([owner, task, fingerprint], manifests, [decision, at, who, reason]) {
            return Err(StoreError::Corrupt(messages::altered_policy(task)));
        }
        let decision = match decision {
            "adopt" => Some(PolicyDecision::Adopt),
            "keep" => Some(PolicyDecision::Keep),
            _ => None,
        };
        let [at, who, reason] = [at, who, reason].map(str::to_owned);
        Ok(Self {
            fingerprint: fingerprint.to_owned(),
            manifests: manifests.map(str::to_owned),
            decided: decision.map(|decision| PolicyDecided { decision, at, who, reason }),
        })
    }
}

fn row_digest(facts: [&str; 3], manifests: Option<&str>, decision: [&str; 4]) -> String {
    digest(&[&facts[..], &[manifests.unwrap_or_default()], &decision].concat())
}

impl PolicyWrite {
    /// Writes it beside the row of its task. The text of the manifests goes over the wire only if it is not there.
    pub(super) fn put(&self, sql: &mut Sql<'_>, owner: &str, task: &str) -> Result<(), StoreError> {
        if let Some(ManifestSet { digest: name, content }) = self.set.as_deref() {
            let there = sql.query_one("SELECT 1 FROM manifest_set WHERE digest = $1", &[name.into()])?;
            if there.is_none() {
                let values = [name.into(), content.into(), digest(&[name, content]).into()];
                sql.execute(
                    "INSERT INTO manifest_set (digest, content, content_digest) VALUES ($1, $2, $3) \
                     ON CONFLICT DO NOTHING",
                    &values,
                )?;
            }
        }
        let policy = &self.policy;
        let decided = policy.decision();
        let digest = row_digest([owner, task, &policy.fingerprint], policy.manifests.as_deref(), decided);
        let decided = decided.map(SqlValue::from);
        let facts: [SqlValue<'_>; 4] =
            [owner.into(), task.into(), (&policy.fingerprint).into(), policy.manifests.as_ref().into()];
        sql.execute(
            &format!(
                "INSERT INTO task_policy ({POLICY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                 ON CONFLICT (owner, task) DO UPDATE SET manifest = excluded.manifest, \
                 manifests = excluded.manifests, decision = excluded.decision, decided_at = excluded.decided_at, \
                 decided_by = excluded.decided_by, reason = excluded.reason, digest = excluded.digest"
            ),
            &[&facts[..], &decided, &[digest.into()]].concat(),
        )?;
        Ok(())
    }
}

/// The policy of a task, as far as the store knows it.
pub(super) fn policy_of(
    sql: &mut Sql<'_>,
    owner: &str,
    task: &str,
) -> Result<Option<TaskPolicy>, StoreError> {
    let statement = format!("SELECT {POLICY} FROM task_policy WHERE owner = $1 AND task = $2");
    sql.query_one(&statement, &[owner.into(), task.into()])?.as_ref().map(TaskPolicy::read).transpose()
}

/// The policies of some tasks of an owner, by their ids.
pub(super) fn policies_of(
    sql: &mut Sql<'_>,
    owner: &str,
    tasks: &[&str],
) -> Result<BTreeMap<String, TaskPolicy>, StoreError> {
    let statement =
        format!("SELECT {POLICY} FROM task_policy WHERE owner = $1 AND task IN ({})", places(tasks));
    let rows = sql.query(&statement, &values_of(owner, tasks))?;
    rows.iter().map(|row| Ok((row.text(1)?.to_owned(), TaskPolicy::read(row)?))).collect()
}

/// A set of manifests by its digest, held against its own.
pub(super) fn set(sql: &mut Sql<'_>, name: &str) -> Result<Option<ManifestSet>, StoreError> {
    let statement = "SELECT content, content_digest FROM manifest_set WHERE digest = $1";
    let Some(row) = sql.query_one(statement, &[name.into()])? else { return Ok(None) };
    let content = row.text(0)?;
    if row.text(1)? != digest(&[name, content]) {
        return Err(altered_set(name));
    }
    Ok(Some(ManifestSet { digest: name.to_owned(), content: content.to_owned() }))
}

/// Takes the sets away that no task is under. If a task comes under one at this moment, the database refuses, and the set
/// is looked at again when the next task leaves one.
pub(super) fn forget_sets(sql: &mut Sql<'_>) -> Result<u64, StoreError> {
    sql.execute(
        "DELETE FROM manifest_set WHERE NOT EXISTS \
         (SELECT 1 FROM task_policy WHERE task_policy.manifests = manifest_set.digest)",
        &[],
    )
}

fn altered_set(name: &str) -> StoreError {
    StoreError::Corrupt(messages::altered_manifests(name))
}
