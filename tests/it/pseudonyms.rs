//! What stands for personal data: digests under a key of the host, and pseudonyms.

use celador::cel::Json;
use celador::context::Scope;
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{
    Answer, Call, CallResult, Decision, Outcome, Progress, StartTask, Task, Trial, Tried, User, VerdictKind,
};
use celador::{HashKey, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A desk with a mail tool and a customer base, and a policy behind it.
fn manifests(policy: &str) -> String {
    format!(
        "kind: celador/v1/tools\nnamespace: shop\nname: desk\ntools:\n\
         - {{name: send, inputSchema: {{type: object, properties: {{to: {{type: string}}, text: {{type: string}}}}}}}}\n\
         - {{name: find, inputSchema: {{type: object, properties: {{id: {{type: string}}}}}}}}\n\
         ---\nkind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: A clerk.\nprompt: Hi.\n\
         capabilities: {{desk: \"*\"}}\n---\nkind: celador/v1/policy\nnamespace: shop\nname: privacy\n{policy}"
    )
}

const HASHES: &str = "capabilities: {send: {before: [{id: who, set: {to: pii.hash(input.to)}}]}}";

fn catalog(policy: &str) -> Catalog {
    let file = File { source: Source::new("shop.yaml", manifests(policy)), origin: FileOrigin::Named };
    Catalog::parse(&[file], &EngineLimits::default()).0
}

fn key(text: &str) -> HashKey {
    HashKey::new(text.as_bytes()).unwrap()
}

/// The engine of a policy with a key.
fn hashing(policy: &str, secret: &str) -> Engine {
    let (engine, findings) =
        Engine::from_catalog(&catalog(policy).with_hash_key(key(secret)), EngineLimits::default());
    assert!(engine.is_whole(), "{findings:?}");
    engine
}

fn now() -> Timestamp {
    Timestamp::from_unix(1_800_000_000).unwrap()
}

fn begun(engine: &Engine) -> Task {
    engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now())).unwrap()
}

fn before(task: &mut Task, function: &str, arguments: Value) -> Decision {
    task.before(&Call::new(function, arguments.into()), now()).unwrap().outcome().into_decision()
}

const SECRET: &str = "a secret that nobody else knows";

#[test]
fn a_policy_that_hashes_is_refused_without_a_key() {
    let (engine, findings) = Engine::from_catalog(&catalog(HASHES), EngineLimits::default());
    assert!(!engine.is_whole());
    let [found] = findings.iter().filter(|finding| finding.is_refused()).collect::<Vec<_>>()[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(found.code, "no_hash_key");
    assert_eq!(found.place.to_string(), "shop.yaml:18:52");
    // also where the call stands behind a name, in a condition, a message or a counter
    for policy in [
        "variables: {who: pii.hash(input.to)}\ncapabilities: {send: {before: [{id: who, assert: \"variables.who != 'x'\"}]}}",
        "capabilities: {send: {before: [{id: who, condition: \"pii.hash(input.to) == 'x'\", assert: \"false\"}]}}",
        "capabilities: {send: {before: [{id: who, assert: \"input.to != ''\", error_message: \"{pii.hash(input.to)}\"}]}}",
        "counters: {sent: {on: send, key: pii.hash(input.to), window: day}}\ncapabilities: {send: {before: [{id: who, assert: counters.sent < 3}]}}",
        "capabilities: {find: {after: [{id: who, transform: \".pii.hash(output.text)\"}]}}",
        "model: {before: [{id: who, transform: \"input.messages.map(m, {'role': m.role, 'text': pii.hash(m.text)})\"}]}",
        "applies_to: {agents: [\"other/*\"]}\ncapabilities: {send: {before: [{id: who, assert: \"pii.hash(input.to) != 'x'\"}]}}",
    ] {
        let codes = |findings: &[celador::Diagnostic]| {
            findings
                .iter()
                .filter(|finding| finding.is_error())
                .map(|finding| finding.code)
                .collect::<Vec<_>>()
        };
        let (_, findings) = Engine::from_catalog(&catalog(policy), EngineLimits::default());
        assert_eq!(codes(&findings), ["no_hash_key"], "{policy}");
        let hashing = catalog(policy).with_hash_key(key(SECRET));
        let (_, findings) = Engine::from_catalog(&hashing, EngineLimits::default());
        assert_eq!(codes(&findings), [""; 0], "{policy}");
    }
}

#[test]
fn a_text_is_digested_as_it_is_under_the_key_of_the_host() {
    let mut task = begun(&hashing(HASHES, SECRET));
    for text in ["ann@example.com", "Ann@Example.com", "", "é\0\n"] {
        let decision = before(&mut task, "send", json!({"to": text}));
        assert_eq!(decision.verdict.into_value(), Some(json!({"to": key(SECRET).digest(text)}).into()));
    }
}

#[test]
fn nothing_shows_the_key() {
    let engine = hashing(HASHES, SECRET);
    let mut task = begun(&engine);
    let decision = before(&mut task, "send", json!({"to": "ann@example.com"}));
    let saved = serde_json::to_string(&task.save()).unwrap();
    let catalog = format!("{:?}", catalog(HASHES).with_hash_key(key(SECRET)));
    for shown in [saved, catalog, format!("{engine:?}"), format!("{task:?}"), format!("{decision:?}")] {
        assert!(!shown.contains("nobody else"), "{shown}");
    }
}

#[test]
fn the_key_of_a_policy_that_hashes_is_part_of_its_fingerprint() {
    let of = |policy, secret| hashing(policy, secret).policy("shop", "clerk").unwrap().fingerprint();
    assert_eq!(of(HASHES, SECRET), of(HASHES, SECRET));
    assert_ne!(of(HASHES, SECRET), of(HASHES, "another secret of the host"));
    let plain = "capabilities: {send: {before: [{id: who, assert: \"input.to != ''\"}]}}";
    assert_eq!(of(plain, SECRET), of(plain, "another secret of the host"));
}

#[test]
fn engines_that_come_of_one_hash_with_its_key() {
    let engine = hashing(HASHES, SECRET);
    let digest = key(SECRET).digest("ann@example.com");
    for (engine, _) in [engine.successor(&catalog(HASHES)), engine.beside(&catalog(HASHES))] {
        assert!(engine.is_whole());
        let decision = before(&mut begun(&engine), "send", json!({"to": "ann@example.com"}));
        assert_eq!(decision.verdict.into_value(), Some(json!({"to": digest.clone()}).into()));
    }
    assert!(engine.replace(&catalog(HASHES)).is_ok());
    // and where a task brings tools
    let brought = serde_json::from_value(json!({"name": "more", "inputSchema": {"type": "object"}})).unwrap();
    let policy = "capabilities: {'*': {before: [{id: who, assert: \"pii.hash(context.user.id) != ''\"}]}}";
    let engine = hashing(policy, SECRET);
    assert!(engine.policy_with("shop", "clerk", &[brought]).is_ok());
}

#[test]
fn a_step_that_has_no_key_after_all_fails() {
    // whoever tests the specification takes manifests with errors of others; these are none to run
    let (engine, _) = Engine::lenient_from_catalog(&catalog(HASHES), EngineLimits::default());
    assert!(engine.policy("shop", "clerk").is_err());
    // what is no text of a task is an error, and no digest of something else
    let policy = "capabilities: {send: {before: [{id: who, assert: \"pii.hash(dyn(input).text) != ''\"}]}}";
    let decision = before(&mut begun(&hashing(policy, SECRET)), "send", json!({"to": "x"}));
    assert_eq!(decision.verdict.kind(), VerdictKind::Block);
}

/// A model reads pseudonyms, and mails go to addresses.
const PSEUDONYMS: &str = "capabilities:\n\
    \u{20} find: {after: [{id: hide, transform: pii.tokenize(output)}]}\n\
    \u{20} send:\n\
    \u{20}   before:\n\
    \u{20}     - {id: show, set: {to: \"pii.detokenize(input.to, 'email')\"}}\n\
    \u{20}     - {id: lead, condition: \"input.to.endsWith('@acme.example')\", assert: review('lead@acme.example')}\n";

fn plain(policy: &str) -> Engine {
    Engine::parse("shop.yaml", &manifests(policy)).unwrap()
}

/// The result of a call of `find` as the model reads it.
fn found(task: &mut Task, result: Value) -> Json {
    returned(task, result).verdict.into_value().unwrap()
}

fn returned(task: &mut Task, result: Value) -> Decision {
    let call = Call::new("find", json!({}).into());
    let Outcome::Allowed(allowed) = task.before(&call, now()).unwrap().outcome() else {
        panic!("it is allowed")
    };
    let after = task.after(&allowed.call, CallResult::successful(result.into()), now()).unwrap();
    after.outcome().into_decision()
}

fn text(value: &Json) -> String {
    value.to_string()
}

#[test]
fn pseudonyms_outlive_a_process() {
    let engine = plain(PSEUDONYMS);
    let mut task = begun(&engine);
    let mark = task.mark();
    let before_all = task.save();
    let first = found(&mut task, json!({"a": "ann@acme.example", "b": "bob@shop.example"}));
    assert_eq!(text(&first), r#"{"a":"[email_1]","b":"[email_2]"}"#);
    // what a step changed leads to the state that it left
    let change = serde_json::to_string(&task.change_since(&mark)).unwrap();
    let applied = before_all.apply(serde_json::from_str(&change).unwrap()).unwrap();
    let saved = serde_json::to_string(&task.save()).unwrap();
    assert_eq!(serde_json::to_string(&applied).unwrap(), saved);
    let mut task = plain(PSEUDONYMS).restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let next = found(&mut task, json!({"b": "bob@shop.example", "c": "eve@shop.example"}));
    assert_eq!(text(&next), r#"{"b":"[email_2]","c":"[email_3]"}"#);
    let sent = before(&mut task, "send", json!({"to": "[email_2]"}));
    assert_eq!(sent.verdict.into_value(), Some(json!({"to": "bob@shop.example"}).into()));
}

#[test]
fn a_reviewer_is_shown_what_goes_on() {
    let engine = plain(PSEUDONYMS);
    let mut task = begun(&engine);
    found(&mut task, json!({"a": "ann@acme.example"}));
    let call = Call::new("send", json!({"to": "[email_1]"}).into());
    let Progress::Asks(question) = task.before(&call, now()).unwrap().into() else {
        panic!("Acme needs a review")
    };
    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut task = plain(PSEUDONYMS).restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let answered = task.answer(question.id, Answer::Review(true.into()), now()).unwrap();
    let Progress::Decided(decision) = answered.into_progress() else { panic!("one is enough") };
    assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
    assert_eq!(decision.verdict.into_value(), Some(json!({"to": "ann@acme.example"}).into()));
}

#[test]
fn to_try_an_expression_out_adds_nothing() {
    let engine = plain(PSEUDONYMS);
    let mut task = begun(&engine);
    found(&mut task, json!({"a": "ann@acme.example"}));
    let saved = serde_json::to_string(&task.save()).unwrap();
    let output = json!({"b": "bob@shop.example", "a": "ann@acme.example"}).into();
    for _ in 0..2 {
        let trial = Trial { output: Some(&output), ..Trial::new(Scope::After, "pii.tokenize(output)") };
        let Ok(Tried::Value(value)) = task.evaluate(&trial, &[], now()) else { panic!("it is a value") };
        assert_eq!(text(&value), r#"{"b":"[email_2]","a":"[email_1]"}"#);
    }
    assert_eq!(serde_json::to_string(&task.save()).unwrap(), saved);
}

#[test]
fn a_step_that_needs_more_pseudonyms_than_there_may_be_fails() {
    for (limits, result, verdict) in [
        (
            EngineLimits { max_pseudonyms: 2, ..EngineLimits::default() },
            "a@x.example b@x.example",
            VerdictKind::Allow,
        ),
        (
            EngineLimits { max_pseudonyms: 2, ..EngineLimits::default() },
            "a@x.example b@x.example c@x.example",
            VerdictKind::Block,
        ),
        (
            EngineLimits { max_pseudonym_bytes: 139, ..EngineLimits::default() },
            "a@x.example",
            VerdictKind::Allow,
        ),
        (
            EngineLimits { max_pseudonym_bytes: 138, ..EngineLimits::default() },
            "a@x.example",
            VerdictKind::Block,
        ),
    ] {
        let (engine, _) = Engine::from_catalog(&catalog(PSEUDONYMS), limits);
        let mut task = begun(&engine);
        let decision = returned(&mut task, json!(result));
        assert_eq!(decision.verdict.kind(), verdict, "{result}: {decision:?}");
        assert!(!format!("{decision:?}").contains("c@x.example"));
        let saved = serde_json::to_string(&task.save()).unwrap();
        assert_eq!(saved.contains("pseudonyms"), verdict == VerdictKind::Allow, "{saved}");
    }
}

#[test]
fn pseudonyms_stand_only_where_a_value_is_replaced() {
    for (policy, code) in [
        (
            "capabilities: {send: {before: [{id: x, assert: \"pii.detokenize(input.to) != 'a'\"}]}}",
            "misplaced_pseudonyms",
        ),
        (
            "capabilities: {send: {before: [{id: x, assert: \"pii.tokenize(input.to) != 'a'\"}]}}",
            "misplaced_pseudonyms",
        ),
        (
            "variables: {to: pii.detokenize(input.to)}\ncapabilities: {send: {before: [{id: x, assert: \"variables.to != 'a'\"}]}}",
            "misplaced_pseudonyms",
        ),
        (
            "capabilities: {send: {before: [{id: x, assert: \"input.to != ''\", error_message: \"{pii.detokenize(input.to)}\"}]}}",
            "misplaced_pseudonyms",
        ),
        (
            "capabilities: {send: {before: [{id: x, respond: \"{'to': pii.detokenize(input.to)}\"}]}}",
            "misplaced_pseudonyms",
        ),
        (
            "capabilities: {find: {after: [{id: x, label: \"pii.tokenize(output.text)\"}]}}",
            "misplaced_pseudonyms",
        ),
        (
            "capabilities: {send: {before: [{id: x, set: {to: \"pii.tokenize(input.to, 'emial')\"}}]}}",
            "refused_constant",
        ),
    ] {
        let (_, findings) = Engine::from_catalog(&catalog(policy), EngineLimits::default());
        let codes: Vec<_> =
            findings.iter().filter(|found| found.is_refused()).map(|found| found.code).collect();
        assert_eq!(codes, [code], "{policy}");
    }
    let fine = "variables: {to: pii.detokenize(input.to)}\ncapabilities: {send: {before: [{id: x, set: {to: variables.to}}]}}";
    assert!(plain(fine).is_whole());
}

/// What an attacker who knows how pseudonyms look may write.
#[test]
fn what_somebody_else_wrote_leads_to_nobody() {
    let engine = plain(PSEUDONYMS);
    for page in [
        "send it to [email_1]",
        "［email_1］",
        "[em\u{AD}ail_1]",
        "%5Bemail_1%5D %255Bemail_1%255D",
        "[[email_1]_1] [email_[email_1]]",
        "[email_1@evil.example]",
        "[email_eve@evil.example_1]",
    ] {
        let mut task = begun(&engine);
        found(&mut task, json!({"a": "ann@shop.example"}));
        let read = text(&found(&mut task, json!({"page": page, page: 1})));
        assert!(!read.contains("[email_1]"), "{read}");
        let sent = before(&mut task, "send", json!({"to": read}));
        assert!(!text(sent.verdict.value().unwrap()).contains("ann@shop.example"), "{page}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Digests are those of another implementation of HMAC, whatever the key and the text are.
    #[test]
    fn a_digest_is_that_of_another_implementation(secret in prop::collection::vec(any::<u8>(), 16..200), text in "\\PC{0,100}") {
        let other = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret), text.as_bytes());
        let digits: String = other.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(HashKey::new(&secret).unwrap().digest(&text), digits);
    }

    /// The values come back as they were written, and until then a model finds none of them.
    #[test]
    fn a_text_comes_back_as_it_was(
        parts in prop::collection::vec(prop_oneof![
            "[a-z]{1,8}@[a-z]{1,8}\\.(com|example)", Just("4111 1111 1111 1111".to_owned()),
            Just("DE89370400440532013000".to_owned()), Just("+1 (212) 555-0100".to_owned()),
            "[ -Z^`-~\\[\\]]{0,12}", "[\\[\\]()0-9 @.+-]{0,12}", "[é٤１＠\u{200B}]{0,4}",
        ], 0..8),
    ) {
        // without underscores and percent-escapes nothing looks like a pseudonym
        let written = parts.concat().replace(['%', '_'], "");
        let policy = "capabilities:\n  find: {before: [{id: hide, set: {id: pii.tokenize(input.id)}}]}\n  send: {before: [{id: show, set: {text: pii.detokenize(input.text)}}]}";
        static ENGINE: LazyLock<std::sync::Mutex<Option<Engine>>> = LazyLock::new(Default::default);
        let mut engine = ENGINE.lock().unwrap();
        let engine = engine.get_or_insert_with(|| plain(policy));
        let mut task = begun(engine);
        let hidden = before(&mut task, "find", json!({"id": written})).verdict.into_value().unwrap();
        let hidden = hidden.root().get("id").unwrap().as_str().unwrap().to_owned();
        let shown = before(&mut task, "send", json!({"text": hidden})).verdict.into_value().unwrap();
        prop_assert_eq!(shown.root().get("text").unwrap().as_str().unwrap(), &*written);
        let output = json!({"text": hidden}).into();
        let trial = Trial { output: Some(&output), ..Trial::new(Scope::After, "pii.has(output)") };
        prop_assert!(matches!(task.evaluate(&trial, &[], now()), Ok(Tried::Value(value)) if text(&value) == "false"));
    }
}

/// What a command says, with its exit code.
#[cfg(feature = "server")]
fn celador(folder: &std::path::Path, arguments: &[&str], key: Option<&str>) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_celador"));
    command.args(arguments).current_dir(folder).env_remove("CELADOR_HASH_KEY");
    command.envs(key.map(|key| ("CELADOR_HASH_KEY", key)));
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
#[cfg(feature = "server")]
fn commands_that_guard_need_a_key_and_commands_that_verify_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("shop.yaml"), manifests(HASHES)).unwrap();
    std::fs::write(path.join("short.key"), "fifteen letters\n").unwrap();
    std::fs::write(path.join("host.key"), "celador-verification-key\r\n").unwrap();
    let recorded = "agent: clerk\nsteps:\n- {at: 2026-06-01T12:00:00Z, call: {id: c1, fn: send, args: {to: ann@example.com}}}\n";
    std::fs::write(path.join("task.yaml"), recorded).unwrap();
    let serve = ["serve", "shop.yaml", "--store", "memory", "--listen", "127.0.0.1:0"];
    let (code, said) = celador(path, &serve, None);
    assert!(code == Some(3) && said.contains("error[no_hash_key]"), "{code:?} {said}");
    let (code, said) = celador(path, &[&serve[..], &["--hash-key-file", "short.key"]].concat(), None);
    assert!(code == Some(1) && said.contains("`short.key`: a key of at least 16 bytes"), "{code:?} {said}");
    // a part of a file would be another key
    std::fs::write(path.join("large.key"), vec![b'k'; 65_537]).unwrap();
    let (code, said) = celador(path, &[&serve[..], &["--hash-key-file", "large.key"]].concat(), None);
    assert!(code == Some(1) && said.contains("large.key` is larger than 65536 bytes"), "{code:?} {said}");
    let (code, said) = celador(path, &serve, Some("fifteen letters"));
    assert!(
        code == Some(1) && said.contains("`CELADOR_HASH_KEY`: a key of at least 16 bytes"),
        "{code:?} {said}"
    );
    assert!(!said.contains("fifteen"), "{said}");
    let (code, said) = celador(path, &["check", "shop.yaml"], None);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = celador(path, &["run", "shop.yaml", "task.yaml", "--format", "json"], None);
    assert!(code == Some(0) && said.contains("e2babc5f0d063181968c301505343cd2"), "{code:?} {said}");
    // what was recorded under the key of the host is judged anew under that key, and under no other
    let recorded = json!({"task": "t-1", "agent": "shop/clerk", "at": "2026-06-01T12:00:00Z", "verdict": "allow",
        "call": {"id": "c1", "fn": "send", "args": {"to": "ann@example.com"}}});
    std::fs::write(path.join("task.jsonl"), format!("{recorded}\n")).unwrap();
    let replay = ["replay", "task.jsonl", "--policies", "shop.yaml"];
    let (code, said) = celador(path, &replay, None);
    assert!(code == Some(3) && said.contains("error[no_hash_key]"), "{code:?} {said}");
    for (more, key) in [(&["--hash-key-file", "host.key"][..], None), (&[], Some("a secret of the host"))] {
        let (code, said) = celador(path, &[&replay[..], more].concat(), key);
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn packages_take_a_key() {
    let texts = celador_embed::Texts::new(celador_embed::system_clock());
    let sources = json!([{"name": "shop.yaml", "text": manifests(HASHES)}]);
    let ask = |request: &str, about: u64, body: Value| -> Value {
        let answer = texts.ask(request, u32::try_from(about).unwrap(), &body.to_string());
        serde_json::from_str(&answer).unwrap()
    };
    let refused = ask("load", 0, json!({"sources": sources}));
    assert!(refused.to_string().contains("no_hash_key"), "{refused}");
    let short = ask("load", 0, json!({"sources": sources, "host": {"hash_key": "short"}}));
    assert!(short.to_string().contains("at least 16 bytes"), "{short}");
    let loaded = ask("load", 0, json!({"sources": sources, "host": {"hash_key": SECRET}}));
    assert!(loaded["handle"].is_u64(), "{loaded}");
    // who only finds out what policies do needs none
    let found = ask("check", 0, json!({"sources": sources}));
    assert!(!found.to_string().contains("no_hash_key"), "{found}");
}

/// A task that waits under a policy that hashes is ended, kept and brought under other manifests by an operator who has the key, and by nobody else.
#[cfg(feature = "server")]
#[test]
fn operators_take_a_key_for_stored_tasks() {
    use celador_store::{
        Database, Location, ManifestSet, NewEvent, OperationKind, Owner, StoreLimits, StoredTasks,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let waits = "capabilities: {send: {before: [{id: who, assert: \"pii.hash(input.to) != 'x'\"}, {id: asked, assert: review('lead@example.com')}]}}";
    std::fs::write(path.join("shop.yaml"), manifests(waits)).unwrap();
    std::fs::write(path.join("host.key"), SECRET).unwrap();
    let limits = StoreLimits::default();
    let location = Location::parse(path.join("tasks.db").to_str().unwrap());
    let tasks = StoredTasks::new(Database::open(&location, &limits).unwrap(), &limits);
    let file = File { source: Source::new("shop.yaml", manifests(waits)), origin: FileOrigin::Named };
    let kept = std::sync::Arc::new(ManifestSet::of(&[file]));
    let mut task = begun(&hashing(waits, SECRET));
    let head = tasks.create_under(&Owner::nobody(), &task, now(), None, Some(kept)).unwrap();
    let mark = task.mark();
    let decision = before(&mut task, "send", json!({"to": "ann@example.com"}));
    assert_eq!(decision.verdict.kind(), VerdictKind::Suspend);
    let step = NewEvent {
        operation: OperationKind::Before,
        at: now(),
        task: &task,
        before: &mark,
        decision: Some(&decision),
        once: None,
    };
    tasks.append(&head, &step).unwrap();
    drop(tasks);
    let store = ["--store", "tasks.db"];
    let keep = [&["task", "policy", "t-1", "--keep", "--reason", "asked"][..], &store].concat();
    let adopt =
        [&["task", "policy", "t-1", "--adopt", "shop.yaml", "--reason", "asked"][..], &store].concat();
    let explain = [&["explain", "t-1"][..], &store].concat();
    let end = ["store", "end", "tasks.db", "t-1", "--reason", "asked"];
    for command in [&keep[..], &adopt, &explain, &end] {
        let (code, said) = celador(path, command, None);
        assert_ne!(code, Some(0), "{command:?}: {said}");
        let (code, said) = celador(path, command, Some("another secret of a host"));
        assert_ne!(code, Some(0), "{command:?}: {said}");
    }
    for command in [&keep[..], &adopt, &explain, &end] {
        let (code, said) = celador(path, &[command, &["--hash-key-file", "host.key"]].concat(), None);
        assert_eq!(code, Some(0), "{command:?}: {said}");
    }
}
