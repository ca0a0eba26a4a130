//! Where `secret` may stand in a schema, and what of a value it masks.

use crate::task_fixture::engine;
use celador::context::MASK;
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{Call, CallResult, CallStatus, ReviewRecord, StartTask, User};
use serde_json::{Value, json};

/// A schema of a result, a result, and what is shown of it; `S` is what must not be.
const ROWS: [(&str, &str, &str); 34] = [
    ("{secret: true}", r#"{"a":["S"]}"#, r#""***""#),
    ("{secret: false}", r#""a""#, r#""a""#),
    ("{type: string}", r#""a""#, r#""a""#),
    // parts
    (
        "{properties: {a: {secret: true}}}",
        r#"{"z":1,"a":"S","b":[2.5,null]}"#,
        r#"{"z":1,"a":"***","b":[2.5,null]}"#,
    ),
    ("{properties: {a: {secret: true}}}", r#"{"a":null}"#, r#"{"a":"***"}"#),
    (
        "{properties: {a: {properties: {b: {secret: true}}}}}",
        r#"{"a":{"b":{"c":"S"},"d":"a"}}"#,
        r#"{"a":{"b":"***","d":"a"}}"#,
    ),
    ("{items: {secret: true}}", r#"["S",["S"]]"#, r#"["***","***"]"#),
    ("{items: {properties: {a: {secret: true}}}}", r#"[{"a":"S"},{"b":1}]"#, r#"[{"a":"***"},{"b":1}]"#),
    ("{prefixItems: [{secret: true}, {}]}", r#"["S",1,2]"#, r#"["***",1,2]"#),
    ("{prefixItems: [{}], items: {secret: true}}", r#"[1,"S","S"]"#, r#"[1,"***","***"]"#),
    (
        "{items: [{}, {secret: true}], additionalItems: {secret: true}}",
        r#"[1,"S","S"]"#,
        r#"[1,"***","***"]"#,
    ),
    (
        "{properties: {a: {}}, additionalProperties: {secret: true}}",
        r#"{"a":1,"b":"S"}"#,
        r#"{"a":1,"b":"***"}"#,
    ),
    ("{patternProperties: {'^x-': {secret: true}}}", r#"{"x-a":"S"}"#, r#"{"x-a":"***"}"#),
    ("{contains: {secret: true}}", r#"["S"]"#, r#"["***"]"#),
    ("{propertyNames: {secret: true}}", r#"{"S":1}"#, r#""***""#),
    ("{unevaluatedProperties: {secret: true}}", r#"{"a":"S"}"#, r#"{"a":"***"}"#),
    // branches, whether they hold or not
    ("{allOf: [{}, {properties: {a: {secret: true}}}]}", r#"{"a":"S","b":1}"#, r#"{"a":"***","b":1}"#),
    ("{anyOf: [{type: string, secret: true}, {type: number}]}", "7", r#""***""#),
    ("{oneOf: [{type: string, secret: true}, {type: number}]}", r#""S""#, r#""***""#),
    ("{not: {type: 'null', secret: true}}", r#""S""#, r#""***""#),
    ("{if: {secret: true}, then: {}}", r#""S""#, r#""***""#),
    ("{if: {type: string}, else: {secret: true}}", r#""S""#, r#""***""#),
    ("{dependentSchemas: {a: {properties: {b: {secret: true}}}}}", r#"{"b":"S"}"#, r#"{"b":"***"}"#),
    ("{dependencies: {a: {properties: {b: {secret: true}}}}}", r#"{"a":1,"b":"S"}"#, r#"{"a":1,"b":"***"}"#),
    // references
    ("{$ref: '#/$defs/k', $defs: {k: {secret: true}}}", r#""S""#, r#""***""#),
    (
        "{properties: {a: {$ref: '#/$defs/k'}, b: {}}, $defs: {k: {secret: true}}}",
        r#"{"a":"S","b":1}"#,
        r#"{"a":"***","b":1}"#,
    ),
    (
        "{$ref: '#/$defs/tree', $defs: {tree: {properties: {key: {secret: true}, below: {items: {$ref: '#/$defs/tree'}}}}}}",
        r#"{"key":"S","below":[{"key":"S","id":1,"below":[{"key":"S"}]}]}"#,
        r#"{"key":"***","below":[{"key":"***","id":1,"below":[{"key":"***"}]}]}"#,
    ),
    ("{properties: {a: {type: string}}, $defs: {k: {secret: true}}}", r#"{"a":"a"}"#, r#"{"a":"a"}"#),
    // a value that is none of those that the schema is about may be the secret itself
    ("{properties: {a: {secret: true}}}", r#""S""#, r#""***""#),
    ("{properties: {a: {secret: true}}}", r#"["S"]"#, r#""***""#),
    ("{items: {secret: true}}", r#"{"a":"S"}"#, r#""***""#),
    ("{properties: {a: {secret: true}}}", "null", "null"),
    ("{properties: {a: {secret: true}}, additionalProperties: false}", r#"{"aa":"S"}"#, r#""***""#),
    ("{properties: {a: {}}, additionalProperties: false}", r#"{"b":"a"}"#, r#"{"b":"a"}"#),
];

const TOOL: &str = "
kind: commonagents.info/v1beta2/tool
namespace: demo
name: vault
description: Keeps.
actions:
- name: get
  description: Gets.
";
const EXECUTE: &str = "  execute: {stateless_http: {method: POST, url: 'https://svc.example.com/run'}}\n";
const AGENT: &str = "---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Test agent.
prompt: You are a careful clerk.
capabilities: {vault: '*'}
";

/// An engine with these lines about the action, and the codes of what was found.
fn with_action(lines: &str) -> (Engine, Vec<String>) {
    let limits = EngineLimits::default();
    let source = Source::new("test.yaml", format!("{TOOL}{lines}{EXECUTE}{AGENT}"));
    let (catalog, mut findings) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    let (engine, compiled) = Engine::lenient_from_catalog(&catalog, limits);
    findings.extend(compiled);
    let errors = findings.iter().filter(|finding| finding.is_error());
    let codes = errors.map(|finding| finding.code.to_string()).collect();
    (engine, codes)
}

#[test]
fn a_mark_holds_wherever_a_schema_can_have_it() {
    for (schema, value, shown) in ROWS {
        let (engine, errors) = with_action(&format!("  output: {schema}\n"));
        assert!(errors.is_empty(), "{schema}: {errors:?}");
        let policy = engine.policy("demo", "clerk").unwrap();
        let value = serde_json::from_str::<Value>(value).unwrap().into();
        let masked = policy.masked_result("vault", CallStatus::Successful, &value);
        assert_eq!(masked.to_string(), shown, "{schema} {value}");
        let is_marked = !policy.secrets().is_empty();
        let error = policy.masked_result("vault", CallStatus::Errored, &value);
        assert_eq!(
            error.to_string() == format!("{MASK:?}"),
            is_marked,
            "{schema}: an error may hold it anywhere"
        );
    }
}

/// A review behind a call shows its arguments and its result with what is secret masked, wherever the task is kept.
#[test]
fn a_review_shows_no_secret() {
    let steps = "capabilities: {vault: {after: [{assert: \"review('lead')\"}]}}\n";
    let lines = "  parameters: {properties: {pin: {type: string, secret: true}}}\n  output: {properties: {key: {secret: true}, id: {}}}\n";
    let agent = AGENT.replace("capabilities: {vault: '*'}\n", steps);
    let engine = Engine::parse("test.yaml", &format!("{TOOL}{lines}{EXECUTE}{agent}")).unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH;
    let mut task = engine.start(StartTask::new("t-1", "demo", "clerk", User::default(), now)).unwrap();
    let call = Call::new("vault", serde_json::json!({"pin": "S"}).into()).with_id("c-1");
    assert!(task.before(&call, now).unwrap().outcome().is_allowed());
    let result = CallResult::successful(serde_json::json!({"key": "S", "id": 1}).into());
    assert!(!task.after(&"c-1".into(), result, now).unwrap().outcome().is_allowed());
    let review = ReviewRecord::of(&task, task.reviews().next().unwrap(), "r-1".into());
    let shown = [review.arguments, review.result].map(|shown| shown.unwrap().to_string());
    assert_eq!(shown, [r#"{"pin":"***"}"#, r#"{"key":"***","id":1}"#]);
}

#[test]
fn a_mark_is_true_or_false_and_stands_where_it_masks_something() {
    let rows = [
        ("  output: {secret: 'true'}\n", "bad_keyword"),
        ("  output: {secret: 1}\n", "bad_keyword"),
        ("  output: {properties: {a: {secret: }}}\n", "bad_keyword"),
        ("  output: {secrets: true}\n", "unknown_keyword"),
        ("  parameters: {properties: {a: {type: string, secret: yes}}}\n", "bad_keyword"),
        ("  parameters: {properties: {a: {type: object, properties: {b: {secret: []}}}}}\n", "bad_keyword"),
        ("  parameters: {secret: true, properties: {a: {type: string}}}\n", "secret_of_all"),
    ];
    for (lines, code) in rows {
        assert_eq!(with_action(lines).1, [code], "{lines}");
    }
    for event in [
        "  parameters: {type: object, properties: {a: {type: string, secret: true}}}\n",
        "  payload: {properties: {a: {secret: true}}}\n",
    ] {
        let event =
            format!("events:\n- name: came\n  message: It came.\n{event}  receive: {{webhook: {{}}}}\n");
        let file = File {
            source: Source::new("test.yaml", format!("{TOOL}{EXECUTE}{event}")),
            origin: FileOrigin::Named,
        };
        let (_, findings) = Catalog::parse(&[file], &EngineLimits::default());
        let errors: Vec<_> =
            findings.iter().filter(|it| it.is_error()).map(|it| it.code.to_string()).collect();
        assert_eq!(errors, ["secret_of_event"], "{event}");
    }
}

#[test]
fn the_model_is_offered_a_schema_without_the_word() {
    let parameters = "  parameters:\n    properties: {a: {$ref: '#/$defs/k'}, secret: {type: object, secret: true, properties: {b: {type: string, secret: false}}}}\n    $defs: {k: {type: string, secret: true}}\n";
    let (engine, errors) = with_action(parameters);
    assert!(errors.is_empty(), "{errors:?}");
    let policy = engine.policy("demo", "clerk").unwrap();
    let schema = policy.functions()[0].schema();
    assert_eq!(
        schema["properties"]["secret"],
        json!({ "type": "object", "properties": { "b": { "type": "string" } } })
    );
    assert_eq!(
        schema.to_string().matches("secret").count(),
        2,
        "the parameter's name, and in the list of what is required: {schema}"
    );
}

#[test]
fn a_policy_that_marks_more_is_another_policy() {
    let of = |schema: &str| {
        let (engine, errors) = with_action(&format!("  parameters: {{properties: {{a: {schema}}}}}\n"));
        assert!(errors.is_empty(), "{errors:?}");
        engine.policy("demo", "clerk").unwrap().fingerprint()
    };
    assert_eq!(of("{type: string, secret: false}"), of("{type: string}"));
    assert_ne!(of("{type: string, secret: true}"), of("{type: string}"));
}

/// A text of a manifest is masked where a placeholder of it leads to a secret, on whichever way.
#[test]
fn a_message_shows_what_is_no_secret() {
    let rows = [
        ("{input.host}", "***"),
        ("{input.depth} of {input.host}", "1 of ***"),
        ("{input['host']}", "***"),
        ("{input}", "***"),
        ("{context.capabilities.probe.inputs[0].host}", "***"),
        ("{context.capabilities.probe.inputs[0].depth}", "1"),
        ("{context.cap.probe.inputs}", "***"),
        ("{context.capabilities.probe}", "***"),
        ("{context.capabilities}", "***"),
        ("{context}", "***"),
        ("{context.capabilities.probe.count_restricted}", "1"),
        ("{context.capabilities.ledger_lookup.inputs}", "[]"),
        ("{context.user.id}", "u-1"),
    ];
    for (template, shown) in rows {
        let limits = EngineLimits::default();
        let agent = format!(
            "capabilities:\n  ledger: '*'\n  probe:\n    before: [{{assert: \"input.host != 'S'\", error_message: \"{template}\"}}]\n"
        );
        let manifests = crate::task_fixture::manifests(&agent)
            .replace("host: {type: string, default: a}", "host: {type: string, default: a, secret: true}");
        let source = Source::new("test.yaml", manifests);
        let (catalog, _) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
        let (engine, _) = Engine::lenient_from_catalog(&catalog, limits);
        let mut task = crate::task_fixture::start(&engine);
        let stop = crate::task_fixture::call("probe", json!({ "host": "S" }));
        for _ in 0..2 {
            let progress = task.before(&stop, crate::task_fixture::noon()).unwrap();
            let decision = crate::task_fixture::decided(progress);
            assert!(shown != "***" || decision.verdict.message() != Some("***"), "{template} is real");
            if task.context().invocations().len() == 2 {
                assert_eq!(decision.masked().verdict.message(), Some(shown), "{template}");
            }
        }
    }
    // without a mark nothing is hidden, and nothing is said of it
    let engine =
        engine("capabilities:\n  probe:\n    before: [{assert: 'false', error_message: '{input}'}]\n");
    let mut task = crate::task_fixture::start(&engine);
    let progress =
        task.before(&crate::task_fixture::call("probe", json!({})), crate::task_fixture::noon()).unwrap();
    let decision = crate::task_fixture::decided(progress);
    assert_eq!((decision.secret.clone(), decision.clone().masked()), (None, decision));
}
