//! No value of `settings` or `auth` leaves the text that a tool's own template puts it into (INT-24, CTX-22).

use crate::task_fixture::{call, noon, task};
use celador::cel::Json;
use celador::task::{Given, Progress, TemplateKind};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

const AGENT: &str = "guardrails: {before: [{assert: 'true', error_message: 'No: {input}'}]}
exposes: {all: context}
capabilities:
  probe:
    before: [{assert: \"input.host != 'stop'\", error_message: 'Not {input.host} {context.settings.key} {input.settings.key}.'}]
    after: [{transform: \"output.put('settings', 'none')\"}]
";

/// Pieces of templates: those that name a secret, those that try to, and others.
const PIECES: [&str; 14] = [
    "{settings.key}",
    "{settings.a.b}",
    "{auth.hub}",
    "{auth.hub()}",
    "{settings}",
    "{auth}",
    "{settings.none}",
    "{context}",
    "{context.settings.key}",
    "{input.x}",
    "{parameters.x}",
    "{parameters.settings.key}",
    "{1 + 1}",
    "text ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_secret_is_nowhere_but_in_the_fields_of_a_tool(
        secret in "[A-Z]{16}",
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 1..5),
        host in prop::sample::select(&["stop", "{settings.key}", "{auth.hub}", "a"][..]),
    ) {
        let mut task = task(AGENT);
        let settings = BTreeMap::from([
            ("key".to_owned(), Json::string(&secret)),
            ("a.b".to_owned(), Json::from(json!({ "deep": secret.clone() }))),
        ]);
        let auth = BTreeMap::from([("hub".to_owned(), secret.clone())]);
        let parameters = Json::from(json!({ "x": host }));
        let given = Given {
            settings: Some(&settings),
            auth: Some(&auth),
            parameters: Some(&parameters),
            input: Some(&parameters),
            function: Some("probe"),
            ..Given::default()
        };
        let template = pieces.concat();
        let names_one = ["{settings", "{auth"].iter().any(|name| template.contains(name));
        for kind in [
            TemplateKind::Tool,
            TemplateKind::Session,
            TemplateKind::Prompt,
            TemplateKind::Event,
            TemplateKind::ErrorMessage,
        ] {
            match task.interpolate(kind, &template, &given, noon()) {
                Ok(text) if matches!(kind, TemplateKind::Tool | TemplateKind::Session) => {
                    prop_assert!(names_one || !text.contains(&secret), "{kind:?} {template}");
                }
                Ok(text) => prop_assert!(!text.contains(&secret), "{kind:?} {template}"),
                Err(error) => {
                    let told = format!("{error} {error:?}");
                    prop_assert!(!told.contains(&secret), "{kind:?} {template}");
                }
            }
        }
        let decide = |progress| match progress {
            Progress::Decided(decision) => format!("{decision:?}"),
            Progress::Asks(request) => format!("{request:?}"),
        };
        let mut said = decide(task.input(&json!({ "message": template }).into(), noon()).into_progress());
        said += &decide(task.invoke(&call("probe", json!({ "host": host })), noon()).unwrap().into_progress());
        said += &decide(task.output(&json!({ "message": template }).into(), noon()).into_progress());
        said += &task.context_json().map(|json| json.to_string()).unwrap_or_default();
        said += &serde_json::to_string(&task.save()).unwrap();
        prop_assert!(!said.contains(&secret));
    }
}
