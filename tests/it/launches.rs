//! Schedules and triggers as a host uses them: when, as whom, and with which first input.

use celador::cel::{Json, Timestamp};
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::policy::FiringOutcome;
use celador::source::Source;
use celador::task::TaskError;
use proptest::prelude::*;
use serde_json::json;

const AGENT: &str = "
kind: commonagents.info/v1/agent
namespace: desk
name: clerk
description: Answers.
prompt: You answer.
parameters: {properties: {level: {type: number, default: 1}}}
";

const SCHEDULE: &str = "
kind: commonagents.info/v1/schedule
namespace: desk
name: nightly
agent: clerk
cron: 0 3 * * *
timezone: Asia/Kolkata
owner: user:ann@example.com
inputs: {message: Go., level: 2}
enabled: true
";

const TRIGGER: &str = "
kind: commonagents.info/v1beta2/trigger
namespace: desk
name: on-mail
agent: clerk
owner: user:ann@example.com
source: {type: email, before: [{assert: event.payload.size < 10}]}
message: '{event.payload.subject}'
inputs: {level: 2}
enabled: true
";

fn load(documents: &[&str]) -> (Catalog, Engine, Vec<&'static str>) {
    let limits = EngineLimits::default();
    let file = File { source: Source::new("test.yaml", documents.join("---")), origin: FileOrigin::Named };
    let (catalog, mut findings) = Catalog::parse(&[file], &limits);
    let (engine, compiled) = Engine::from_catalog(&catalog, limits);
    findings.extend(compiled);
    (catalog, engine, findings.iter().map(|finding| finding.code).collect())
}

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

#[test]
fn a_schedule_says_when_and_as_whom_and_with_what() {
    let (catalog, _, findings) = load(&[AGENT, SCHEDULE]);
    assert_eq!(findings, [""; 0]);
    let resolved = &catalog.schedules()[0];
    assert!(resolved.sound);
    let schedule = &resolved.document;
    let runs: Vec<String> = schedule.next_runs(now(), 2).iter().map(Timestamp::to_string).collect();
    assert_eq!(runs, ["2026-06-01T21:30:00Z", "2026-06-02T21:30:00Z"]);
    assert_eq!(&*schedule.launch.owner.text, "user:ann@example.com");
    assert_eq!(schedule.input(), json!({ "message": "Go.", "level": 2 }));
}

#[test]
fn a_schedule_that_is_not_enabled_never_runs() {
    let (catalog, _, _) = load(&[AGENT, &SCHEDULE.replace("enabled: true", "enabled: false")]);
    assert!(catalog.schedules()[0].document.next_runs(now(), 2).is_empty());
}

#[test]
fn an_input_of_another_type_makes_no_task() {
    let (catalog, engine, findings) = load(&[AGENT, &TRIGGER.replace("level: 2", "level: high")]);
    assert_eq!(findings, ["input_misfit"]);
    let launch = &catalog.triggers()[0].document.launch;
    let found = engine.trigger(&launch.namespace.text, &launch.name.text).unwrap_err();
    assert_eq!(found, TaskError::InvalidTrigger("on-mail".to_owned()));
    assert_eq!(engine.trigger("desk", "x").unwrap_err(), TaskError::UnknownTrigger("x".to_owned()));
}

#[test]
fn a_trigger_whose_agent_must_not_run_makes_no_task() {
    let broken = AGENT.replace("prompt: You", "guardrails: {before: [{assert: 1 +}]}\nprompt: You");
    let (_, engine, _) = load(&[&broken, TRIGGER]);
    assert!(engine.trigger("desk", "on-mail").is_err());
}

#[test]
fn a_trigger_judges_each_event() {
    let (_, engine, findings) = load(&[AGENT, TRIGGER]);
    assert_eq!(findings, [""; 0]);
    let trigger = engine.trigger("desk", "on-mail").unwrap();
    let fire = |payload: serde_json::Value| trigger.fire(&Json::from(payload), now());
    let created = fire(json!({ "size": 9, "subject": "Hi {event.payload.size}" }));
    let input = json!({ "message": "Hi {event.payload.size}", "level": 2 });
    assert_eq!(created.outcome, FiringOutcome::Create(Some(input.into())));
    assert_eq!(created.trace, [(0, true)]);
    for payload in [json!({ "size": 10 }), json!({}), json!(null), json!([1])] {
        let refused = fire(payload);
        assert!(matches!(refused.outcome, FiringOutcome::Refused { message: None, .. }));
        assert_eq!(refused.trace, [(0, false)]);
    }
}

#[test]
fn one_error_in_a_bundle_stops_all_of_it() {
    const DESCRIPTOR: &str = "\nkind: commonagents.info/v1/bundledescription\nname: Pack\n";
    let tool = "\nkind: commonagents.info/v1/tool\nnamespace: desk\n";
    let (catalog, engine, findings) = load(&[DESCRIPTOR, AGENT, SCHEDULE, TRIGGER, tool]);
    assert!(findings.contains(&"missing_key"));
    assert!(!catalog.agents()[0].sound && !catalog.schedules()[0].sound && !catalog.triggers()[0].sound);
    assert!(engine.policy("desk", "clerk").is_err() && engine.trigger("desk", "on-mail").is_err());
    let (catalog, _, _) = load(&[AGENT, SCHEDULE, TRIGGER, tool]);
    assert!(catalog.agents()[0].sound && catalog.schedules()[0].sound && catalog.triggers()[0].sound);
}

proptest! {
    /// Whatever stands in a cron line, it is read or refused, and its runs come in order.
    #[test]
    fn any_cron_line_is_read_or_refused(
        line in r"([0-9*]{1,2}|[0-9]{1,2}[-/,][0-9]{1,2}|\*/[0-9]{1,2}|[a-zA-Z]{3}|[*,/-]{1,3})( ([0-9*]{1,2}|[0-9]{1,2}[-/,][0-9]{1,2}|mon-fri|jan,dec)){3,5}",
        zone in "(UTC|Europe/Lisbon|Australia/Lord_Howe|America/New_York)",
    ) {
        let schedule = SCHEDULE.replace("0 3 * * *", &format!("'{line}'")).replace("Asia/Kolkata", &zone);
        let (catalog, _, _) = load(&[AGENT, &schedule]);
        let resolved = &catalog.schedules()[0];
        let runs = resolved.document.next_runs(now(), 5);
        prop_assert_eq!(runs.len(), if resolved.sound { 5 } else { 0 });
        prop_assert!(runs.iter().all(|run| *run > now()) && runs.is_sorted());
    }
}
