//! Each bound of the language exactly at its value, one over it, and switched off; its name and value in the message.
//!
//! A row that stands in no list below fails the test: whoever adds a bound says where it is tested.

use celador::cel::{Activation, Cache, Env, EnvBuilder, Json, Program, STANDARD, Stop, Type, Value};
use celador::limits::{EngineLimits, EvalLimits};
use celador::parsers::PARSERS;
use celador_store::StoreLimits;

/// Tested here.
const OF_THE_LANGUAGE: [&str; 12] = [
    "max_source_bytes",
    "max_tokens",
    "max_depth",
    "max_plan_nodes",
    "max_cost",
    "max_built_bytes",
    "max_regex_bytes",
    "max_patterns_bytes",
    "max_json_depth",
    "max_json_bytes",
    "max_parsed_bytes",
    "max_cache_bytes",
];

/// Tested with the manifests.
const OF_MANIFESTS: [&str; 8] = [
    "max_manifest_bytes",
    "max_uploaded_bundle_bytes",
    "max_fetched_bundle_bytes",
    "max_bundle_documents",
    "max_document_bytes",
    "max_yaml_depth",
    "max_yaml_nodes",
    "max_diagnostics",
];

/// Tested with the schemas, the depth in `tests/data/manifest/tool-schema-words.yaml`, the number here,
/// what all of them weigh in `schema_bounds.rs`.
const OF_SCHEMAS: [&str; 3] = ["max_schema_nodes", "max_schema_depth", "max_schema_bytes"];

/// Tested in `tests/data/manifest/policy-many.yaml`, and with what steps do in `policy_effects.rs`.
const OF_POLICIES: [&str; 4] = ["max_rule_matches", "max_claims_bytes", "max_delay_ms", "max_terms_bytes"];

/// Tested in `brought_tools.rs`.
const OF_BROUGHT_TOOLS: [&str; 3] = ["max_brought_tools", "max_brought_bytes", "max_brought_sets"];

/// Tested with the operations of a task.
const OF_TASKS: [&str; 19] = [
    "max_folds",
    "max_index_bytes",
    "max_deliveries",
    "max_questions",
    "max_task_bytes",
    "max_kept_value_bytes",
    "max_queued_calls",
    "max_queued_inputs",
    "max_queued_input_bytes",
    "max_label_bytes",
    "max_labels",
    "max_queued_ms",
    "max_claim_ms",
    "max_review_ms",
    "max_id_bytes",
    "max_known_calls",
    "max_metadata_entries",
    "max_metadata_key_bytes",
    "max_metadata_value_bytes",
];

/// Tested in `pseudonyms.rs`.
const OF_PSEUDONYMS: [&str; 2] = ["max_pseudonyms", "max_pseudonym_bytes"];

/// Tested with the stores.
const OF_STORES: [&str; 10] = [
    "max_connections",
    "max_connection_wait",
    "max_checked_file_bytes",
    "max_events_to_replay",
    "max_commit_batch",
    "max_counter_wait_ms",
    "max_kept_manifests_bytes",
    "max_page",
    "max_page_bytes",
    "max_reason_bytes",
];

#[test]
fn every_bound_is_tested_and_has_a_value_by_name() {
    let limits = StoreLimits::default();
    for row in [EvalLimits::ROWS, EngineLimits::ROWS, StoreLimits::ROWS].concat() {
        let tested = [
            &OF_THE_LANGUAGE[..],
            &OF_MANIFESTS,
            &OF_SCHEMAS,
            &OF_POLICIES,
            &OF_BROUGHT_TOOLS,
            &OF_TASKS,
            &OF_PSEUDONYMS,
            &OF_STORES,
        ]
        .concat();
        assert!(tested.contains(&row.name), "{}", row.name);
        assert_eq!(limits.get(row.name), Some(row.default));
    }
    assert_eq!(limits.get("max_patience"), None);
}

#[test]
fn max_schema_nodes() {
    let refused = |choices: usize| {
        let choice = |length| format!("{{minLength: {length}}}");
        let choices: Vec<_> = (0..choices).map(choice).collect();
        let text = format!(
            "kind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: many\ndescription: Looks.\nactions:\n\
             - name: check\n  description: Checks.\n  parameters:\n    properties:\n      host: {{anyOf: [{}]}}\n  \
             execute: {{stateless_http: {{method: POST, url: \"https://svc.example.com/run\"}}}}\n",
            choices.join(", ")
        );
        let (_, findings) = crate::task_fixture::parse("many.yaml", &text);
        findings
            .iter()
            .any(|finding| finding.is_error() && finding.message.contains("`max_schema_nodes` 2048"))
    };
    let most = EngineLimits::default().max_schema_nodes;
    assert!(!refused(most - 10));
    assert!(refused(most + 10));
}

/// The defaults with one bound changed.
fn with(change: impl FnOnce(&mut EvalLimits)) -> EvalLimits {
    let mut limits = EvalLimits::default();
    change(&mut limits);
    limits
}

/// A scope with a text `s` and an int `n`.
fn scope(limits: EvalLimits) -> Env {
    let scope = Env::builder().variable("s", Type::String).variable("n", Type::Int).limits(limits);
    STANDARD.iter().copied().chain([PARSERS]).fold(scope, EnvBuilder::library).build()
}

/// What is wrong with a text: one issue, with the name of the bound as its code.
fn refused(text: &str, limits: EvalLimits) -> Result<Program, String> {
    Program::compile(&scope(limits), text).map_err(|issues| {
        assert_eq!(issues.len(), 1, "{issues:?}");
        let issue = &issues[0];
        assert!(issue.message.contains(&format!("`{}`", issue.code)), "{issue:?}");
        issue.message.clone()
    })
}

/// What an expression over a text of a thousand characters costs, or why it fails.
fn run(text: &str, limits: EvalLimits) -> Result<u64, String> {
    run_over(&"x".repeat(1_000), text, limits)
}

/// The same over this text.
fn run_over(s: &str, text: &str, limits: EvalLimits) -> Result<u64, String> {
    let env = scope(limits);
    let program = Program::compile(&env, text).unwrap();
    let activation = Activation::new(&env).with(&env, "s", Value::text(s)).with(&env, "n", Value::Int(1));
    match program.run_metered(&activation, None) {
        (Ok(_), cost) => Ok(cost),
        (Err(Stop::Failed(error)), _) => Err(error.to_string()),
        (Err(Stop::Asked), _) => unreachable!("no host"),
    }
}

/// The least value of a bound with which something holds.
fn least(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut under, mut at) = (0, most);
    while at - under > 1 {
        let middle = under.midpoint(at);
        if holds(middle) { at = middle } else { under = middle }
    }
    at
}

#[test]
fn max_source_bytes() {
    let text = format!("'{}'", "é".repeat(49));
    assert_eq!(text.len(), 100);
    let limited = |bytes| refused(&text, with(|limits| limits.max_source_bytes = bytes)).map(drop);
    assert_eq!(limited(100), Ok(()));
    assert_eq!(limited(99), Err("`max_source_bytes` 99 exceeded".to_owned()));
    let long = format!("'{}'", "x".repeat(1_000_000));
    assert!(refused(&long, EvalLimits::default()).is_err());
    assert!(refused(&long, with(|limits| limits.max_source_bytes = usize::MAX)).is_ok());
}

#[test]
fn max_tokens() {
    let limited = |tokens| refused("[n, n]", with(|limits| limits.max_tokens = tokens)).map(drop);
    assert_eq!(limited(5), Ok(()));
    assert_eq!(limited(4), Err("`max_tokens` 4 exceeded".to_owned()));
    let long = format!("[{}1]", "1,".repeat(4_000));
    assert!(refused(&long, EvalLimits::default()).is_err());
    assert!(refused(&long, with(|limits| limits.max_tokens = usize::MAX)).is_ok());
}

#[test]
fn max_depth() {
    let limited = |depth| refused("[[[n]]]", with(|limits| limits.max_depth = depth)).map(drop);
    assert_eq!(limited(4), Ok(()));
    assert_eq!(limited(3), Err("`max_depth` 3 exceeded".to_owned()));
    let deep = format!("{}n{}", "[".repeat(150), "]".repeat(150));
    assert!(refused(&deep, EvalLimits::default()).is_err());
    assert!(refused(&deep, with(|limits| limits.max_depth = usize::MAX)).is_ok());
}

#[test]
fn max_plan_nodes() {
    let limited = |nodes| refused("n + n + n", with(|limits| limits.max_plan_nodes = nodes)).map(drop);
    assert_eq!(limited(5), Ok(()));
    assert_eq!(limited(4), Err("`max_plan_nodes` 4 exceeded".to_owned()));
    assert_eq!(limited(usize::MAX), Ok(()));
}

#[test]
fn max_cost() {
    for text in ["n", "n + 1 == 2 && s.contains('y') == false", "[n, n].map(x, x + 1)", "s.matches('^x+$')"] {
        let limited = |cost| run(text, with(|limits| limits.max_cost = cost));
        let cost = limited(u64::MAX).unwrap();
        assert_eq!(limited(cost), Ok(cost), "{text}");
        let over = format!("evaluation budget `max_cost` {} exceeded", cost - 1);
        assert_eq!(limited(cost - 1), Err(over), "{text}");
    }
}

#[test]
fn max_built_bytes() {
    let limited = |bytes| run("s + s", with(|limits| limits.max_built_bytes = bytes));
    assert!(limited(2_000).is_ok());
    assert_eq!(limited(1_999), Err("evaluation budget `max_built_bytes` 1999 exceeded".to_owned()));
    assert!(limited(u64::MAX).is_ok());
}

/// Lists, maps, and what loops keep: the sum of what is built is what is bounded.
#[test]
fn max_built_bytes_counts_what_is_built() {
    for text in [
        "[n, n, n]",
        "{n: n}",
        "[n].map(x, x)",
        "[n].filter(x, true)",
        "[n].transformMap(i, x, x)",
        "[n].transformMapEntry(i, x, {x: i})",
        "[n] + [n]",
        "bytes(s + 'a')",
        "string(b'' + bytes(s))",
    ] {
        let bounded = |bytes: usize| run(text, with(|limits| limits.max_built_bytes = bytes as u64));
        let bytes = least(100_000, |bytes| bounded(bytes).is_ok());
        assert!(bytes >= 64, "{text} builds {bytes} bytes");
        let over = format!("evaluation budget `max_built_bytes` {} exceeded", bytes - 1);
        assert_eq!(bounded(bytes - 1), Err(over), "{text}");
        assert!(bounded(usize::MAX).is_ok());
    }
}

#[test]
fn max_regex_bytes() {
    let pattern = "s.matches('x{500}y?')";
    let limited = |bytes| run(pattern, with(|limits| limits.max_regex_bytes = bytes));
    let bytes = least(1 << 18, |bytes| limited(bytes).is_ok());
    assert!(bytes > 500);
    let over = format!("evaluation budget `max_regex_bytes` {} exceeded", bytes - 1);
    assert_eq!(limited(bytes - 1), Err(over));
    // the same where the pattern is known only when it runs
    for large in [r"s.matches('\\pL{100}')", r"s.matches('\\pL{100}' + string(n))"] {
        let message = run(large, EvalLimits::default()).unwrap_err();
        assert_eq!(message, "evaluation budget `max_regex_bytes` 262144 exceeded");
    }
    let large = r"s.matches('\\pL{100}')";
    let off = with(|limits| (limits.max_regex_bytes, limits.max_patterns_bytes) = (usize::MAX, usize::MAX));
    assert!(run(large, off).is_ok());
}

#[test]
fn max_patterns_bytes() {
    let text = "s.matches('a[0-9]') || s.matches('b[0-9]')";
    let limited = |bytes| refused(text, with(|limits| limits.max_patterns_bytes = bytes)).map(drop);
    let bytes = least(1 << 20, |bytes| limited(bytes).is_ok());
    assert_eq!(limited(bytes - 1), Err(format!("`max_patterns_bytes` {} exceeded", bytes - 1)));
    let one = "s.matches('a[0-9]')";
    assert!(refused(one, with(|limits| limits.max_patterns_bytes = bytes - 1)).is_ok());
    let many = format!("[{}]", vec!["s.matches('a')"; 300].join(", "));
    assert!(refused(&many, EvalLimits::default()).is_err());
    assert!(refused(&many, with(|limits| limits.max_patterns_bytes = usize::MAX)).is_ok());
}

#[test]
fn max_json_depth() {
    let parsed = |text: &str, depth| Json::parse(text, &with(|limits| limits.max_json_depth = depth));
    for text in ["[[1]]", r#"{"a": {"b": 1}}"#, r#"[{"a": null}]"#, "[[]]"] {
        assert!(parsed(text, 2).is_ok());
        let message = parsed(text, 1).unwrap_err().to_string();
        assert!(message.starts_with("`max_json_depth` 1 exceeded at line 1 column "), "{message}");
    }
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    assert!(parsed(&deep, 100).is_err());
    assert!(parsed(&deep, usize::MAX).is_ok());
    // past what the reader's stack is made for, its own bound holds
    let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parsed(&deeper, usize::MAX).is_err());
}

#[test]
fn max_json_bytes() {
    let parsed = |bytes| Json::parse("[1, 2]", &with(|limits| limits.max_json_bytes = bytes));
    assert!(parsed(6).is_ok());
    assert_eq!(parsed(5).unwrap_err().to_string(), "`max_json_bytes` 5 exceeded");
    assert!(parsed(usize::MAX).is_ok());
}

#[test]
fn max_parsed_bytes() {
    for (function, text) in [
        ("sql.parse(s)", "select 1 from orders"),
        ("sql.parse(s, 'postgres')", "select 'é' from orders"),
        ("html.urls(s)", "See https://example.com/é"),
        ("mail.addresses(s)", "ann@example.com"),
        ("mail.domain(s)", "ann@example.com"),
    ] {
        let limited = |text: &str, bytes| {
            run_over(text, function, with(|limits| limits.max_parsed_bytes = bytes)).map(drop)
        };
        assert_eq!(limited(text, text.len()), Ok(()), "{function}");
        let over = |bytes: usize| Err(format!("evaluation budget `max_parsed_bytes` {bytes} exceeded"));
        assert_eq!(limited(text, text.len() - 1), over(text.len() - 1), "{function}");
        let long = format!("{text}{}", " ".repeat(70_000));
        assert_eq!(limited(&long, EvalLimits::default().max_parsed_bytes), over(65_536), "{function}");
        assert_eq!(limited(&long, usize::MAX), Ok(()), "{function}");
    }
}

/// What goes out is bounded as what comes in is: a result can be stored, and read again.
#[test]
fn results_are_bounded_as_json() {
    let limits = EvalLimits::default();
    let nested = |depth: usize| (1..depth).fold(Value::list(vec![]), |inner, _| Value::list(vec![inner]));
    let stored = |value: &Value<'_>| Json::from_value_within(value, &limits);
    let deepest = stored(&nested(limits.max_json_depth)).unwrap();
    assert!(Json::parse(&deepest.to_string(), &limits).is_ok());
    let fault = stored(&nested(limits.max_json_depth + 1)).unwrap_err();
    assert_eq!(fault.to_string(), "evaluation budget exceeded: `max_json_depth`");

    let text = Value::owned_text("x".repeat(limits.max_json_bytes / 32));
    let several = |count: usize| Json::from_value(&Value::list(vec![text.clone(); count]), &limits);
    assert!(several(31).is_ok());
    assert_eq!(several(32).unwrap_err().to_string(), "evaluation budget exceeded: `max_json_bytes`");
    // one list a trillion times over
    let doubled =
        (0..40).fold(Value::list(vec![text]), |inner, _| Value::list(vec![inner.clone(), inner.clone()]));
    assert_eq!(
        Json::from_value(&doubled, &limits).unwrap_err().to_string(),
        "evaluation budget exceeded: `max_json_bytes`"
    );
    let as_key = Value::map([(celador::cel::Key::from_value(&Value::text("k")).unwrap(), doubled)].into());
    assert!(Json::from_value(&as_key, &limits).is_err());
}

#[test]
fn max_cache_bytes() {
    let weight = |limits: EvalLimits, texts: &[String]| {
        let (cache, env) = (Cache::new(&limits), scope(limits));
        for text in texts {
            cache.compile(&env, text).unwrap();
        }
        cache.stats()
    };
    let texts: Vec<String> = (0..50).map(|number| format!("n + {number} > 1")).collect();
    let all = weight(with(|limits| limits.max_cache_bytes = u64::MAX), &texts);
    assert_eq!((all.entries, all.evictions), (50, 0));
    let bounded = weight(with(|limits| limits.max_cache_bytes = all.weight / 2), &texts);
    assert!(bounded.weight <= all.weight / 2 && bounded.evictions > 0, "{bounded:?}");
    assert_eq!(weight(with(|limits| limits.max_cache_bytes = 0), &texts).entries, 0);
}

/// What a compiled expression holds is counted with its constants and its patterns, however short its text is.
#[test]
fn a_compiled_expression_weighs_what_it_holds() {
    let weight = |text: &str| refused(text, EvalLimits::default()).unwrap().heap_bytes();
    let plain = weight("n");
    assert!(plain < 2_000, "{plain}");
    let elements = weight(&format!("[{}]", vec!["1"; 1_000].join(",")));
    assert!(elements > 1_000 * size_of::<Value<'_>>(), "{elements}");
    assert!(weight("'a' + 'b' == s") < 4_000);
    assert!(weight(&format!("'{}' == s", "a".repeat(30_000))) > 60_000);
    assert!(weight("s.matches('a')") > 16_000);
    assert!(weight(r"s.matches('\\pL{4}')") > 150_000);
}
