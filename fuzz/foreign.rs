//! Values of the `cel` crate as values of ours and back, through both forms in which that crate has them.

use cel::objects::{Key, Map, Opaque, OptionalValue};
use cel::{Context, Value as Theirs};
use celador_cel::cel_interpreter::SharedContext;
use celador_cel::{Env, ErrorCode, EvalLimits, Program, Stop, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// As many choices as a value is made of at most: dropping it recurses as deep as it is.
const CHOICES: usize = 600;

/// What no error may say.
const DATA: &str = "hunter2";

#[derive(Debug, PartialEq, Eq)]
struct Secret(&'static str);

impl Opaque for Secret {
    fn runtime_type_name(&self) -> &str {
        "host.Secret"
    }
}

/// Makes a value of the choices that the bytes are: of every kind, nested, with parts that are shared. Moved over it is
/// refused, for a reason without data, or the same when it is moved back, read from a context or given back by a function.
pub fn foreign(data: &[u8]) {
    let theirs = made(data);
    let limits = EvalLimits { max_json_bytes: 1 << 16, max_built_bytes: 1 << 20, ..EvalLimits::default() };
    let ours = match Value::try_from_cel(&theirs, &limits) {
        Ok(ours) => ours,
        Err(error) => {
            assert!(!error.to_string().contains(DATA), "{error}");
            return;
        }
    };
    let shown = format!("{ours:?}");
    let there = ours.try_to_cel(&limits).expect("what came over goes back");
    let back = Value::try_from_cel(&there, &limits).expect("and comes over again");
    assert_eq!(format!("{back:?}"), shown);
    let mut shared = SharedContext::new(Context::default());
    shared.context_mut().add_variable_from_value("x", theirs);
    shared.add_function("same", |value: Theirs| value).expect("no other function has the name");
    let env = shared.scope(Env::builder().limits(limits)).build();
    for text in ["x", "same(x)", "x.same()"] {
        let program = Program::compile(&env, text).expect("all its names are declared");
        let activation = shared.activation(&env, program.variables()).expect("the value came over");
        let value = program.run(&activation, Some(&mut shared.functions(&env)));
        if text == "x.same()" {
            // the receiver is none of the arguments, of which there is one too few
            let Err(Stop::Failed(error)) = value else { panic!("{text} gives a value") };
            assert_eq!(error.code, ErrorCode::NoMatchingOverload);
            continue;
        }
        assert_eq!(format!("{:?}", value.expect("the value is given back")), shown, "{text}");
    }
}

/// A value by a stack: most choices push one, some take what lies on top as their parts.
fn made(data: &[u8]) -> Theirs {
    let mut bytes = data.iter().copied();
    let mut stack: Vec<Theirs> = Vec::new();
    for _ in 0..CHOICES {
        let Some(choice) = bytes.next() else { break };
        let mut number = || bytes.by_ref().take(8).fold(0_u64, |all, byte| (all << 8) | u64::from(byte));
        let value = match choice % 18 {
            0 => Theirs::Null,
            1 => Theirs::Bool(choice > 127),
            2 => Theirs::Int(number().cast_signed()),
            3 => Theirs::UInt(number()),
            4 => Theirs::Float(f64::from_bits(number())),
            5 => Theirs::Int(i64::from(choice / 18)),
            6 => Theirs::String(Arc::new(format!("{DATA}{}", choice / 18))),
            7 => Theirs::Bytes(Arc::new(vec![choice; usize::from(choice)])),
            8 => {
                let seconds = number().cast_signed() >> (choice / 8);
                let time = chrono::DateTime::from_timestamp(seconds, u32::from(choice));
                time.map_or(Theirs::Null, |time| Theirs::Timestamp(time.fixed_offset()))
            }
            9 => {
                let seconds = number().cast_signed() >> (choice / 8);
                chrono::TimeDelta::new(seconds, u32::from(choice)).map_or(Theirs::Null, Theirs::Duration)
            }
            10 => Theirs::Opaque(Arc::new(OptionalValue::none())),
            11 => match stack.pop() {
                Some(value) => Theirs::Opaque(Arc::new(OptionalValue::of(value))),
                None => Theirs::Null,
            },
            12 | 13 => {
                let from = stack.len().saturating_sub(usize::from(choice / 18));
                Theirs::List(Arc::new(stack.split_off(from)))
            }
            14 | 15 => {
                let from = stack.len().saturating_sub(usize::from(choice / 18));
                let values = stack.split_off(from);
                let entries = values.into_iter().enumerate().map(|(place, value)| {
                    let key = match (&value, place % 4) {
                        (Theirs::String(text), _) => Key::String(text.clone()),
                        (Theirs::Int(number), _) => Key::Int(*number),
                        (Theirs::UInt(number), _) => Key::Uint(*number),
                        (_, 0) => Key::Bool(choice > 127),
                        (_, 1) => Key::Uint(place as u64),
                        _ => Key::Int(place as i64),
                    };
                    (key, value)
                });
                Theirs::Map(Map { map: Arc::new(entries.collect::<HashMap<_, _>>()) })
            }
            // the same part once more, shared
            16 => stack.last().cloned().unwrap_or(Theirs::Null),
            _ if choice < 18 => Theirs::Function(Arc::new(DATA.to_owned()), None),
            _ if choice < 36 => Theirs::Opaque(Arc::new(Secret(DATA))),
            _ => Theirs::List(Arc::new(stack.pop().into_iter().collect())),
        };
        stack.push(value);
    }
    match stack.len() {
        1 => stack.pop().unwrap_or(Theirs::Null),
        _ => Theirs::List(Arc::new(stack)),
    }
}
