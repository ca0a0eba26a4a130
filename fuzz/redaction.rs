//! Values of named keys in a text that may be JSON.

use celador::cel::{
    Activation, Env, EnvBuilder, ErrorCode, EvalLimits, LANGUAGE, Program, Stop, Type, Value,
};
use celador::detect::DETECTION;
use std::sync::LazyLock;

static REDACT: LazyLock<(Env, Program)> = LazyLock::new(|| {
    let limits = EvalLimits { max_cost: 1_000_000, max_built_bytes: 1 << 22, ..EvalLimits::default() };
    let scope = Env::builder().variable("text", Type::String).variable("key", Type::String).limits(limits);
    let env = LANGUAGE.iter().copied().fold(scope, EnvBuilder::library).library(DETECTION).build();
    let program = Program::compile(&env, "redact(text, [key])").expect("it compiles");
    (env, program)
});

/// Takes the values of a key, the first line, out of the text behind it: what was JSON still is and has none of them, and there is nothing to take out
/// of what is left.
pub fn redaction(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (key, text) = text.split_once('\n').unwrap_or(("ssn", text));
    let Some(redacted) = redact(text, key) else { return };
    if let Some(again) = redact(&redacted, key) {
        assert_eq!(again, redacted);
    }
    let plain = |key: &str| key.to_lowercase();
    if !key.bytes().all(|byte| byte.is_ascii_alphanumeric())
        || serde_json::from_str::<serde_json::Value>(text).is_err()
    {
        return;
    }
    let left: serde_json::Value = serde_json::from_str(&redacted).expect("it was JSON");
    let mut open = vec![&left];
    while let Some(value) = open.pop() {
        if let Some(object) = value.as_object() {
            let kept =
                object.iter().find(|(name, value)| plain(name) == plain(key) && *value != "[redacted]");
            assert_eq!(kept, None);
            open.extend(object.values());
        }
        open.extend(value.as_array().into_iter().flatten());
    }
}

fn redact(text: &str, key: &str) -> Option<String> {
    let (env, program) = &*REDACT;
    let activation =
        Activation::new(env).with(env, "text", Value::text(text)).with(env, "key", Value::text(key));
    match program.run(&activation, None) {
        Ok(value) => Some(value.as_str().expect("a text stays a text").to_owned()),
        Err(Stop::Failed(error)) => {
            let is_known = matches!(error.code, ErrorCode::BudgetExceeded | ErrorCode::InvalidArgument);
            assert!(is_known, "{error:?}");
            None
        }
        Err(Stop::Asked) => panic!("nothing is asked"),
    }
}
