//! A turn of three calls beside the same calls one by one, on one connection: what a runtime saves that sends what the model
//! asked for as it came.
//!
//! Each round takes all of it once, so that whatever else the machine does meets each alike; the times are medians.

use crate::client::Client;
use crate::start;
use celador_store::Location;
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 2_000;
/// A task's calls are bounded, and a long history is no part of what is compared.
const ROUNDS_OF_A_TASK: usize = 100;

pub fn rows(name: &str, location: &Location, policies: &Path) {
    let server = start(location, policies);
    let mut client = Client::new(server.address());
    let mut task = String::new();
    let (mut turns, mut results, mut befores, mut afters) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        if round % ROUNDS_OF_A_TASK == 0 {
            task = client.new_task();
        }
        let id = |call: usize| format!("call_{round}_{call}");
        let mut timed = |times: &mut Vec<Duration>, step: &str, body: &str, allowed: usize| {
            let path = format!("{task}/{step}");
            let begun = Instant::now();
            let answer = client.post(&path, body);
            times.push(begun.elapsed());
            assert_eq!(answer.matches(r#""verdict":"allow""#).count(), allowed, "{answer}");
        };
        let each = |of: &dyn Fn(usize) -> String| (0..3).map(of).collect::<Vec<_>>().join(",");
        // no decision about a quote reads what another quote may change, so no call waits for another
        let call = |n| format!(r#"{{"id":"{}","function":"quote","arguments":{{"amount":250}}}}"#, id(n));
        let result = |n| {
            format!(r#"{{"call":"{}","result":{{"status":"successful","output":{{"paid":true}}}}}}"#, id(n))
        };
        let usage = r#"{"prompt_tokens":100,"completion_tokens":10}"#;
        // the limits have a verdict too
        timed(&mut turns, "turn", &format!(r#"{{"usage":{usage},"calls":[{}]}}"#, each(&call)), 4);
        timed(&mut results, "results", &format!(r#"{{"results":[{}]}}"#, each(&result)), 3);
        for n in 3..5 {
            timed(&mut befores, "before", &call(n), 1);
            timed(&mut afters, "after", &result(n), 1);
        }
    }
    let [turn, results, before, after] = [turns, results, befores, afters].map(median);
    println!(
        "{name:10} turn of three {turn:7.1} us, before {before:7.1} us: {:.2} of two single steps; their results {results:7.1} us, \
         after {after:7.1} us: {:.2} of two",
        turn / (2.0 * before),
        results / (2.0 * after)
    );
    server.stop();
}

/// In microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
