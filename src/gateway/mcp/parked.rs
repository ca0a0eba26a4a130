//! Calls that are not over although their requests were answered.
//!
//! A call is found again by the call itself, where the model is told to make it again, or by the `requestState` of the answer. A state is a
//! random text of the guard. It is used once, for the same function with the same arguments; the server's own state stays here.

use super::guard::Asked;
use super::kinds::Layout;
use super::question::Question;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The most calls that are parked in a session. The oldest is taken back first.
const MAX_PARKED: usize = 1_024;
/// How long a call is parked.
const EXPIRY: Duration = Duration::from_secs(3_600);

/// A call that goes on with another request.
pub(super) struct Parked {
    pub(super) call: String,
    pub(super) function: String,
    /// The arguments of the request.
    pub(super) arguments: Value,
    pub(super) phase: Phase,
    /// The review that the user is asked in the answer to the request.
    pub(super) asked: Option<Asked>,
}

/// How far a parked call is.
pub(super) enum Phase {
    /// It has not run.
    Asked,
    /// The server wants something more of the client before it goes on.
    Continues(Continued),
    /// It has run, and its result is reviewed.
    Ran(Layout),
}

/// A call to which the server has asked for more.
pub(super) struct Continued {
    /// The arguments that were decided.
    pub(super) decided: Value,
    /// The server's state.
    pub(super) state: Option<String>,
    /// Its questions, by their names.
    pub(super) questions: BTreeMap<String, Question>,
}

/// The parked calls of a session.
#[derive(Default)]
pub(super) struct ParkedCalls {
    by_state: HashMap<String, (Instant, Parked)>,
    by_call: HashMap<String, (Instant, Parked)>,
}

impl ParkedCalls {
    /// Parks a call under a new state. The calls that are given up for it are returned.
    pub(super) fn park(&mut self, parked: Parked) -> (String, Vec<String>) {
        let state = Uuid::new_v4().to_string();
        let expired = make_room(&mut self.by_state);
        self.by_state.insert(state.clone(), (Instant::now(), parked));
        (state, expired)
    }

    /// Parks a call that goes on when it is made again.
    pub(super) fn park_same(&mut self, same: String, parked: Parked) -> Vec<String> {
        let expired = make_room(&mut self.by_call);
        self.by_call.insert(same, (Instant::now(), parked));
        expired
    }

    /// The call of a state, which is used up by that.
    pub(super) fn take(&mut self, state: &str) -> Option<Parked> {
        self.by_state.remove(state).map(|(_, parked)| parked)
    }

    /// The call that is made again.
    pub(super) fn take_same(&mut self, same: &str) -> Option<Parked> {
        self.by_call.remove(same).map(|(_, parked)| parked)
    }

    /// The ids of all parked calls in the task.
    pub(super) fn calls(&self) -> impl Iterator<Item = &String> {
        self.by_state.values().chain(self.by_call.values()).flat_map(|(_, parked)| {
            let questions = match &parked.phase {
                Phase::Continues(continued) => Some(continued.questions.values().map(|it| &it.call)),
                _ => None,
            };
            std::iter::once(&parked.call).chain(questions.into_iter().flatten())
        })
    }
}

/// Takes out what has expired, and the oldest if there are too many.
fn make_room(parked: &mut HashMap<String, (Instant, Parked)>) -> Vec<String> {
    let oldest = parked.iter().min_by_key(|(_, (since, _))| *since).map(|(key, _)| key.clone());
    let surplus = oldest.filter(|_| parked.len() >= MAX_PARKED);
    let expired = |(_, (since, _)): &(&String, &(Instant, Parked))| since.elapsed() > EXPIRY;
    let keys: Vec<String> =
        parked.iter().filter(expired).map(|(key, _)| key.clone()).chain(surplus).collect();
    keys.iter().filter_map(|key| parked.remove(key)).map(|(_, parked)| parked.call).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARKED, Parked, ParkedCalls, Phase};
    use serde_json::json;

    fn parked(call: usize) -> Parked {
        let (function, arguments) = ("f".to_owned(), json!({}));
        Parked { call: call.to_string(), function, arguments, phase: Phase::Asked, asked: None }
    }

    #[test]
    fn a_state_is_used_once_and_names_no_call() {
        let mut calls = ParkedCalls::default();
        let (state, _) = calls.park(parked(1));
        calls.park_same("f {}".to_owned(), parked(2));
        assert!(calls.take("f {}").is_none() && calls.take_same(&state).is_none());
        assert_eq!(calls.take(&state).map(|it| it.call).as_deref(), Some("1"));
        assert!(calls.take(&state).is_none());
        assert_eq!(calls.take_same("f {}").map(|it| it.call).as_deref(), Some("2"));
    }

    #[test]
    fn the_oldest_is_given_up_for_a_new_one() {
        let mut calls = ParkedCalls::default();
        for call in 0..MAX_PARKED {
            assert!(calls.park(parked(call)).1.is_empty());
        }
        assert_eq!(calls.park(parked(MAX_PARKED)).1, ["0"]);
        assert_eq!(calls.calls().count(), MAX_PARKED);
    }
}
