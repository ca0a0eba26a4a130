//! A text whose personal data gets pseudonyms, and the way back.

use celador::cel::Json;
use celador::digest::Digest;
use celador::{Call, Engine, HashKey, StartTask, Task, User, VerdictKind};
use serde_json::json;
use std::sync::LazyLock;
use std::time::SystemTime;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let manifests = "kind: celador/v1/tools\nnamespace: demo\nname: texts\ntools:\n\
        - {name: hide, inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}}\n\
        - {name: show, inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}}\n\
        ---\nkind: commonagents.info/v1beta2/agent\nnamespace: demo\nname: clerk\ndescription: A clerk.\nprompt: Hi.\n\
        capabilities: {texts: \"*\"}\n---\nkind: celador/v1/policy\nnamespace: demo\nname: pseudonyms\ncapabilities:\n\
        \u{20} hide: {before: [{id: hide, set: {text: pii.tokenize(input.text)}}, {id: hidden, assert: \"!pii.has(input.text)\"}]}\n\
        \u{20} show: {before: [{id: show, set: {text: pii.detokenize(input.text)}}]}\n";
    Engine::parse("demo.yaml", manifests).expect("they are manifests")
});

/// The text that a call goes on with; nothing if it goes no further.
fn passed(task: &mut Task, function: &str, text: &str) -> Option<String> {
    let call = Call::new(function, json!({ "text": text }).into());
    let decision =
        task.before(&call, SystemTime::UNIX_EPOCH).expect("the task goes on").outcome().into_decision();
    if decision.verdict.kind() != VerdictKind::Allow {
        // of a text that costs too much, and of no other
        assert!(decision.findings.iter().all(|finding| finding.code == "budget_exceeded"), "{decision:?}");
        assert!(!decision.findings.is_empty(), "{decision:?}");
        return None;
    }
    let arguments: Json = decision.verdict.into_value().expect("it has arguments");
    Some(arguments.root().get("text")?.as_str()?.to_owned())
}

/// The digest of a text under a key, here the text itself once more, is its HMAC-SHA-256 as RFC 2104 builds it of the hash.
fn is_hmac(text: &str) {
    let Ok(key) = HashKey::new(text.as_bytes()) else { return };
    let mut block = [0_u8; 64];
    match text.as_bytes() {
        long if long.len() > 64 => block[..32].copy_from_slice(Digest::of(long).as_bytes()),
        short => block[..short.len()].copy_from_slice(short),
    }
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = Digest::of(&[&padded(0x36)[..], text.as_bytes()].concat());
    let outer = Digest::of(&[&padded(0x5c)[..], inner.as_bytes()].concat());
    assert_eq!(key.digest(text), outer.to_string()[..HashKey::DIGITS]);
}

/// Tokenises a text and puts the values back. Nothing that is found is left, what looked like a pseudonym leads nowhere, the same text is written twice, and a text without anything that looks like a pseudonym comes
/// back as it was.
pub fn pseudonyms(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    is_hmac(text);
    let start = StartTask::new("t-1", "demo", "clerk", User::default(), SystemTime::UNIX_EPOCH);
    let mut task = ENGINE.start(start).expect("a task begins");
    let Some(hidden) = passed(&mut task, "hide", text) else { return };
    assert_eq!(passed(&mut task, "hide", text).as_ref(), Some(&hidden));
    // the pseudonyms of a text lose their brackets when it is tokenised once more, so nothing comes back
    let Some(twice) = passed(&mut task, "hide", &hidden) else { return };
    assert_eq!(passed(&mut task, "show", &twice).as_ref(), Some(&twice));
    let Some(shown) = passed(&mut task, "show", &hidden) else { return };
    // an underscore is in each pseudonym, in letters of this alphabet or others
    if text.is_ascii() && !text.contains(['_', '%']) {
        assert_eq!(shown, text);
    }
    if shown == text {
        return;
    }
    // signs that nobody sees go with the brackets that they stand between
    let without =
        |text: &str| text.replace(|sign: char| "[]()".contains(sign) || !sign.is_ascii_graphic(), "");
    if text.is_ascii() && !text.contains('%') {
        assert_eq!(without(&shown), without(text));
    }
}
