//! The compiled-expression cache: what it remembers, what it forgets, and what it tells of itself.

use celador::cel::{Cache, Env, EnvBuilder, STANDARD, Type};
use celador::limits::{EngineLimits, EvalLimits};
use std::sync::Arc;

fn scope(name: &str) -> Env {
    let builder = Env::builder().variable(name, Type::Int);
    STANDARD.iter().copied().fold(builder, EnvBuilder::library).build()
}

#[test]
fn a_text_is_compiled_once_for_each_scope() {
    let cache = Cache::new(&EvalLimits::default());
    let (env, other) = (scope("a"), scope("a"));
    let first = cache.compile(&env, "a > 1").unwrap();
    let again = cache.compile(&env, "a > 1").unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let elsewhere = cache.compile(&other, "a > 1").unwrap();
    assert!(!Arc::ptr_eq(&first, &elsewhere));
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.evictions, stats.entries), (1, 2, 0, 2));
}

#[test]
fn what_does_not_compile_is_remembered() {
    let cache = Cache::new(&EvalLimits::default());
    let env = scope("a");
    let first = cache.compile(&env, "b > 1").unwrap_err();
    let again = cache.compile(&env, "b > 1").unwrap_err();
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(first[0].code, "undeclared_name");
    assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));
}

#[test]
fn expressions_without_end_stay_within_the_bound() {
    let limits = EngineLimits {
        eval: EvalLimits { max_cache_bytes: 200_000, ..EvalLimits::default() },
        ..EngineLimits::default()
    };
    let cache = Cache::new(&limits.eval);
    let env = scope("a");
    for n in 0..3_000 {
        cache.compile(&env, &format!("a > {n} && a < {n} + 10")).unwrap();
        assert!(cache.stats().weight <= limits.eval.max_cache_bytes);
    }
    let stats = cache.stats();
    assert_eq!(stats.misses, 3_000);
    assert!(stats.evictions > 0 && stats.evictions + stats.entries as u64 == 3_000, "{stats:?}");
}

#[test]
fn what_is_in_use_stays_while_others_pass() {
    let limits = EngineLimits {
        eval: EvalLimits { max_cache_bytes: 400_000, ..EvalLimits::default() },
        ..EngineLimits::default()
    };
    let cache = Cache::new(&limits.eval);
    let env = scope("a");
    let used = ["a > 1", "a > 2", "a > 3"];
    for n in 0..3_000 {
        for text in used {
            cache.compile(&env, text).unwrap();
        }
        cache.compile(&env, &format!("a == {n}")).unwrap();
    }
    let stats = cache.stats();
    assert!(stats.misses < 3_100, "the three in use were compiled again and again: {stats:?}");
}

#[test]
fn a_text_that_is_too_long_is_not_kept() {
    let cache = Cache::new(&EvalLimits::default());
    let env = scope("a");
    let long = format!("a > {}", " ".repeat(1_000_000));
    assert_eq!(cache.compile(&env, &long).unwrap_err()[0].code, "max_source_bytes");
    assert_eq!(cache.stats().entries, 0);
}

#[test]
fn threads_share_it() {
    let cache = Cache::new(&EvalLimits::default());
    let env = scope("a");
    std::thread::scope(|threads| {
        for offset in 0..4 {
            let (cache, env) = (&cache, &env);
            threads.spawn(move || {
                for n in 0..200 {
                    let text = format!("a > {}", (n + offset * 7) % 50);
                    assert_eq!(cache.compile(env, &text).unwrap().source(), text);
                }
            });
        }
    });
    let stats = cache.stats();
    assert_eq!(stats.hits + stats.misses, 800);
    assert_eq!(stats.entries, 50);
}
