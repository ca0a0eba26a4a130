//! The compiled-expression cache: one for an engine, bounded by weight, shared by all threads.
//!
//! Keyed by scope and text, so equal texts of different scopes are different programs. What does not compile is
//! remembered too. A reader never waits for a compilation: two that miss the same text at once both compile it, and
//! either result serves. Expressions without end only push each other out; those in use stay (the cache resists scans).

use super::env::{Env, EnvId};
use super::issue::Issue;
use super::program::Program;
use crate::limits::EvalLimits;
use quick_cache::sync::Cache as Store;
use quick_cache::{DefaultHashBuilder, Equivalent, Lifecycle, OptionsBuilder, Weighter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of compiling a text: the program, or the issues of the text.
pub type Compiled = Result<Arc<Program>, Arc<[Issue]>>;

/// A bounded store of compiled expressions.
///
/// ```
/// use celador_cel::{Cache, Env, EvalLimits, Type};
///
/// let limits = EvalLimits { max_cache_bytes: 1_000_000, ..EvalLimits::default() };
/// let cache = Cache::new(&limits);
/// let env = Env::builder().variable("name", Type::String).build();
/// for _ in 0..3 {
///     cache.compile(&env, "has(name)").expect("it compiles");
/// }
/// assert_eq!((cache.stats().misses, cache.stats().hits), (1, 2));
/// ```
#[derive(Debug)]
pub struct Cache {
    store: Store<Key, Compiled, Weigh, DefaultHashBuilder, CountEvictions>,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: CountEvictions,
}

/// Counters of a cache: how often it was used, and how much it holds.
///
/// ```
/// use celador_cel::{Cache, CacheStats, Compiled, Env, EvalLimits, Type};
///
/// let limits = EvalLimits { max_cache_bytes: 1_000_000, ..EvalLimits::default() };
/// let cache = Cache::new(&limits);
/// let env = Env::builder().variable("name", Type::String).build();
///
/// // a text that does not compile is remembered with its issues, so that it is not compiled again either
/// for _ in 0..2 {
///     let compiled: Compiled = cache.compile(&env, "has(nmae)");
///     let issues = compiled.err().ok_or("the name is misspelt")?;
///     assert_eq!(issues[0].code, "undeclared_name");
/// }
/// let CacheStats { hits, misses, entries, weight, .. } = cache.stats();
/// assert_eq!((hits, misses, entries), (1, 1, 1));
/// assert!(weight > 0 && weight <= limits.max_cache_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Texts found.
    pub hits: u64,
    /// Texts compiled.
    pub misses: u64,
    /// Texts dropped to stay within the bound.
    pub evictions: u64,
    /// Texts held.
    pub entries: usize,
    /// Bytes held, estimated.
    pub weight: u64,
}

impl Cache {
    /// An empty cache that holds no more than `max_cache_bytes`.
    #[must_use]
    pub fn new(limits: &EvalLimits) -> Self {
        let evictions = CountEvictions::default();
        let items = usize::try_from(limits.max_cache_bytes / TYPICAL_BYTES).unwrap_or(usize::MAX);
        let (items, bytes, hashes) = (items.max(1), limits.max_cache_bytes, DefaultHashBuilder::default());
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(items).weight_capacity(bytes);
        let store = match options.build() {
            Ok(options) => Store::with_options(options, Weigh, hashes, evictions.clone()),
            // nothing is left out of the options
            Err(_) => Store::with(items, bytes, Weigh, hashes, evictions.clone()),
        };
        Self { store, hits: AtomicU64::new(0), misses: AtomicU64::new(0), evictions }
    }

    /// The program of a text in a scope, compiled now or before.
    ///
    /// # Errors
    /// The issues that [`Program::compile`] found.
    ///
    /// # Cost
    /// A hash of the text if it is known; else that of compiling it.
    pub fn compile(&self, env: &Env, text: &str) -> Compiled {
        if let Some(known) = self.store.get(&Probe(env.id(), text)) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return known;
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let compiled: Compiled = match Program::compile(env, text) {
            Ok(program) => Ok(Arc::new(program)),
            Err(issues) => Err(issues.into()),
        };
        if text.len() <= env.limits().max_source_bytes {
            self.store.insert(Key(env.id(), text.into()), compiled.clone());
        }
        compiled
    }

    /// The counters of this cache.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.0.load(Ordering::Relaxed),
            entries: self.store.len(),
            weight: self.store.weight(),
        }
    }
}

/// The parts of a cache, each with a lock and a share of the bytes, in which an expression has to fit: what is kept is so the same on all
/// machines, and nobody has to ask how many processors there are.
const SHARDS: usize = 16;

/// What a compiled expression usually weighs; only sizes the table at first.
const TYPICAL_BYTES: u64 = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Key(EnvId, Box<str>);

/// A key that need not be owned to be looked up.
struct Probe<'t>(EnvId, &'t str);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0, &*self.1).hash(state);
    }
}

impl Hash for Probe<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0, self.1).hash(state);
    }
}

impl Equivalent<Key> for Probe<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}

#[derive(Clone, Debug)]
struct Weigh;

impl Weighter<Key, Compiled> for Weigh {
    fn weight(&self, key: &Key, compiled: &Compiled) -> u64 {
        let held = match compiled {
            Ok(program) => program.heap_bytes(),
            Err(issues) => {
                issues.iter().map(|issue| size_of::<Issue>().saturating_add(issue.message.len())).sum()
            }
        };
        (key.1.len().saturating_add(held) as u64).saturating_add(size_of::<Key>() as u64)
    }
}

#[derive(Clone, Debug, Default)]
struct CountEvictions(Arc<AtomicU64>);

impl Lifecycle<Key, Compiled> for CountEvictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut Self::RequestState, _key: Key, _compiled: Compiled) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
