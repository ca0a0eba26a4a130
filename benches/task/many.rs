//! Many tasks at once: decisions over one engine on one thread and on two, and expressions that are tried out in one cache.

use crate::counting::counted;
use crate::desk;
use crate::held;
use celador::cel::{CacheStats, Json};
use celador::context::Scope;
use celador::engine::Engine;
use celador::task::{CallResult, Task, Trial, Tried};
use std::time::{Duration, Instant};

const TASKS: usize = 10_000;
const PERIOD: Duration = Duration::from_secs(2);

pub fn measure() {
    let engine = desk::engine();
    let (mut tasks, allocated) = counted(|| (0..TASKS).map(|_| desk::task(&engine, 3)).collect::<Vec<_>>());
    println!("  {TASKS} tasks of 3 steps: {} bytes each", held(allocated) / TASKS as u64);
    for threads in [1, 2] {
        let rate = rate(&mut tasks, threads, decide);
        println!("  before and after on {threads} threads: {rate:.0} decisions a second");
    }
    let known = |task: &mut Task, n: usize| {
        evaluate(task, &format!("context.llm.tokens.total > {}", n % 1_000));
        1
    };
    for threads in [1, 2] {
        let rate = rate(&mut tasks, threads, known);
        println!("  a thousand texts that are tried out, on {threads} threads: {rate:.0} a second");
    }
    tell(&engine, CacheStats::default());
    let before = engine.cache_stats();
    let unique = |task: &mut Task, n: usize| {
        // the task's own address keeps the texts of the threads apart
        let own = std::ptr::from_ref(task).addr();
        evaluate(task, &format!("context.llm.tokens.total > {n} + {own}"));
        1
    };
    let rate = rate(&mut tasks, 2, unique);
    println!("  texts without end, on 2 threads: {rate:.0} a second");
    tell(&engine, before);
}

fn tell(engine: &Engine, before: CacheStats) {
    let stats = engine.cache_stats();
    println!(
        "  the cache: {} hits, {} misses, {} evictions since; holds {} texts of {} bytes",
        stats.hits - before.hits,
        stats.misses - before.misses,
        stats.evictions - before.evictions,
        stats.entries,
        stats.weight
    );
}

/// One call that is let through and comes back: two decisions.
fn decide(task: &mut Task, n: usize) -> u64 {
    let call = desk::call(100 + i64::try_from(n % 200).expect("it is small"));
    let open = desk::decided(task.before(&call, desk::now()).expect("the id is its own"))
        .call
        .expect("it is allowed");
    let result = CallResult::successful(Json::null());
    assert!(desk::decided(task.after(&open, result, desk::now()).expect("it is open")).is_allowed());
    2
}

fn evaluate(task: &Task, text: &str) {
    match task.evaluate(&Trial::new(Scope::Before, text), &[], desk::now()) {
        Ok(Tried::Value(_)) => {}
        other => panic!("{text}: {other:?}"),
    }
}

/// What is done in a second by so many threads, each with its share of the tasks.
fn rate(tasks: &mut [Task], threads: usize, work: fn(&mut Task, usize) -> u64) -> f64 {
    let share = tasks.len() / threads;
    let start = Instant::now();
    let done: u64 = std::thread::scope(|scope| {
        let run = |tasks: &mut [Task]| {
            let mut done = 0;
            for n in 0.. {
                done += work(&mut tasks[n % share], n);
                if n % 64 == 0 && start.elapsed() > PERIOD {
                    break;
                }
            }
            done
        };
        let workers: Vec<_> = tasks.chunks_mut(share).map(|tasks| scope.spawn(move || run(tasks))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker stops by itself")).sum()
    });
    done as f64 / start.elapsed().as_secs_f64()
}
