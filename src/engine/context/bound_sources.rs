//! The bindings of the call at hand that a value came from: what `sources` answers beside results and inputs.
//!
//! In: the value, the call and its arguments. Out: each argument that the agent's manifest binds and that the value repeats, with the name of its
//! parameter. A bound argument is neither the model's word nor a result's, and no record has it before the call is decided. What is
//! compared is paid for.

use super::call_at_hand::BOUND_SLOT;
use super::sources::{Extent, texts};
use super::task_context::TaskContext;
use crate::cel::{Entries, ErrorCode, Fault, Json, Key, Map, Meter, Text, Value, View};
use crate::copies::{Repeated, is_whole_in, text_bytes};

impl TaskContext {
    /// `asked` is a list of the value, the call at hand and its arguments.
    pub(super) fn answer_bindings(
        &self,
        asked: &Value<'_>,
        extent: Extent,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        let Value::List(asked) = asked else { return Err(ErrorCode::Unbound.into()) };
        let (Some(about), Some(Value::Map(Map::Live { of, at })), Some(Value::Map(arguments))) =
            (asked.get(0), asked.get(1), asked.get(2))
        else {
            return Err(ErrorCode::Unbound.into());
        };
        let Some(View::List { of: bound, at: list }) = of.field(at, BOUND_SLOT) else {
            return Ok(Value::list(Vec::new()));
        };
        if bound.len(list) == 0 {
            return Ok(Value::list(Vec::new()));
        }
        let function = of.field(at, 0).and_then(|function| function.as_str()).unwrap_or_default();
        let texts = texts(&about, extent, meter)?;
        let mut found = Vec::new();
        for name in (0..bound.len(list)).filter_map(|index| bound.item(list, index)?.as_str()) {
            let Some(value) = arguments.get(&key(name)) else { continue };
            let value = Json::from_value_within(&value, meter.limits())?;
            meter.charge_built(value.heap_bytes())?;
            let bytes = text_bytes(value.root());
            let mut is_from = false;
            for text in &texts {
                meter.charge_text(bytes)?;
                is_from = match extent {
                    Extent::Part => Repeated::new(text, self.least_copy()).is_from(value.root()),
                    Extent::Whole => is_whole_in(text, value.root()),
                };
                // a part is enough, and the whole needs every text
                if is_from == (extent == Extent::Part) {
                    break;
                }
            }
            if is_from {
                found.push(shown(function, name));
            }
        }
        Ok(Value::list(found))
    }
}

fn key(name: &str) -> Key<'_> {
    Key::String(Text::Borrowed(name))
}

/// A bound argument as expressions see it.
fn shown(function: &str, name: &str) -> Value<'static> {
    let text = |text: &str| Value::owned_text(text);
    let entries = [
        ("kind", Value::text("binding")),
        ("fn", text(function)),
        ("seq", Value::Null),
        ("labels", Value::list(Vec::new())),
        ("name", text(name)),
    ];
    Value::map(entries.into_iter().map(|(name, value)| (key(name), value)).collect::<Entries<'static>>())
}
