//! The same state for every engine that has to be given one: what expressions see, as JSON.
//!
//! It is written by Celador from its own task, so that no engine answers about another state.

use crate::celador;
use serde_json::{Map, Value};

/// The names of the variables, in the order in which they are bound.
pub const NAMES: [&str; 3] = ["context", "input", "output"];

/// The variables as one object: `context`, `input` and `output`.
pub struct Roots(pub Value);

impl Roots {
    /// What expressions see of this task.
    pub fn of(state: &celador::State) -> Self {
        let context = state.context.to_json().expect("the context is JSON");
        let values = [&context, &state.input, &state.output];
        let json = |value| serde_json::to_value(value).expect("JSON is JSON");
        let roots = NAMES.iter().zip(values).map(|(name, value)| ((*name).to_owned(), json(value)));
        Self(Value::Object(roots.collect::<Map<_, _>>()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        NAMES.iter().map(|name| (*name, &self.0[*name]))
    }
}

/// The text of an expression for engines that know a variable by one name: `c` is Celador's short `context`.
pub fn spelt_out(text: &str) -> String {
    format!(" {text}").replace(" c.", " context.").replace("!c.", "!context.").split_off(1)
}
