//! Reviews over HTTP: who sees one, who answers it, the stream of events, two servers over one store, and deaths in between.
//!
//! The stories of `tests/data/http/reviews.json` are about servers without tokens.

use crate::review_fixture;
use crate::server_tokens::{Signer, claims, over_keys, with};
use crate::servers::PostgresServer;
use crate::serving::{Reply, SCOPES, Serving};
use celador_server::Settings;
use celador_store::{Database, FaultPlan, Location, StoreLimits, StoredTasks};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// An agent whose every refund asks whoever the model names: tests name whom they want.
const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: pay
name: refund
description: Pays money back.
actions:
  - name: pay
    description: Pays.
    parameters:
      properties:
        amount: {type: number, description: How much.}
        who: {type: string, description: Who is asked.}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
---
kind: commonagents.info/v1beta2/agent
namespace: pay
name: desk
description: Pays money back.
prompt: You pay money back.
capabilities:
  refund:
    before:
      - assert: review(input.who)
        error_message: "{input.amount} was not approved."
"#;

const READ_AND_WRITE: [&str; 2] = ["reviews:read", "reviews:write"];
const RUNTIME: [&str; 4] = ["tasks:read", "tasks:write", "reviews:read", "reviews:write"];

fn policies(settings: &mut Settings, folder: &Path) {
    let folder = folder.join("policies");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pay.yaml"), MANIFESTS).unwrap();
    settings.policies = vec![folder];
}

/// A server for callers with tokens.
fn with_tokens(location: &Location, change: impl FnOnce(&mut Settings)) -> Serving {
    Serving::with(location, |settings, folder| {
        policies(settings, folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
        change(settings);
    })
}

/// A server for anybody.
fn for_anybody(location: &Location, change: impl FnOnce(&mut Settings)) -> Serving {
    Serving::with(location, |settings, folder| {
        policies(settings, folder);
        change(settings);
    })
}

fn new_task() -> Value {
    json!({"namespace": "pay", "agent": "desk", "user": {"id": "u-7", "email": "kim@example.com"}})
}

fn refund(who: &str) -> Value {
    json!({"function": "refund", "arguments": {"amount": 20, "who": who}})
}

/// A task of a runtime that asks somebody: its path, and the path of the review.
fn asks(serving: &Serving, runtime: Option<&str>, who: &str) -> (String, String) {
    let post = |path: &str, body: &Value| match runtime {
        Some(token) => serving.post_as(token, path, body),
        None => serving.post(path, body),
    };
    let task = format!("/v1/tasks/{}", post("/v1/tasks", &new_task()).json()["task"].as_str().unwrap());
    let asked = post(&format!("{task}/before"), &refund(who)).json();
    assert_eq!(asked["asks"]["review"]["reviewer"], who, "{asked}");
    let reviews = match runtime {
        Some(token) => serving.get_as(token, "/v1/reviews?state=open"),
        None => serving.get("/v1/reviews?state=open"),
    };
    let id = task.rsplit('/').next().unwrap();
    let reviews = reviews.json();
    let review = reviews["reviews"].as_array().unwrap().iter().find(|review| review["task"] == id);
    let review = review.unwrap_or_else(|| panic!("{reviews}"))["id"].as_str().unwrap();
    (task.clone(), format!("/v1/reviews/{review}"))
}

fn kind(reply: &Reply) -> String {
    let kind = reply.json()["type"].as_str().map(str::to_owned);
    kind.map_or_else(String::new, |kind| kind.replace("urn:celador:problem:", ""))
}

/// Who is asked; who may answer; who else sees it, and what they are told when they try.
type Row = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

#[test]
fn a_review_is_seen_and_answered_by_those_whom_it_is_for() {
    let serving = with_tokens(&Location::Memory, |_| {});
    let runtime = serving.token("desk", &RUNTIME);
    let groups = json!({"groups": ["leads"]});
    let people = [
        ("lead", serving.token("lead", &READ_AND_WRITE)),
        ("mail", serving.token_of("pat", &READ_AND_WRITE, &json!({"email": "Lead@example.com"}))),
        ("member", serving.token_of("max", &READ_AND_WRITE, &groups)),
        ("user", serving.token_of("u-7", &READ_AND_WRITE, &groups)),
        (
            "user by mail",
            serving.token_of(
                "kim",
                &READ_AND_WRITE,
                &json!({"email": "kim@Example.com", "groups": ["leads"]}),
            ),
        ),
        ("operator", serving.token("root", &["reviews:read", "reviews:write", "tasks:admin"])),
        ("stranger", serving.token("eve", &READ_AND_WRITE)),
        ("other runtime", serving.token("shop", &RUNTIME)),
        ("runtime", runtime.clone()),
    ];
    let seen = "seen";
    let rows: [Row; 8] = [
        ("lead", &["lead"], &[]),
        ("Lead", &[], &[]),
        ("LEAD@example.COM", &["mail"], &[]),
        ("group:leads", &["member"], &[("user", "own-judge"), ("user by mail", "own-judge")]),
        ("leads", &["member"], &[("user", "own-judge"), ("user by mail", "own-judge")]),
        ("u-7", &["user"], &[]),
        ("kim@example.com", &["user by mail"], &[]),
        ("desk", &["runtime"], &[]),
    ];
    for (reviewer, answering, others) in rows {
        for (name, token) in &people {
            let (task, review) = asks(&serving, Some(&runtime), reviewer);
            let expected = match others.iter().find(|(other, _)| other == name) {
                _ if answering.contains(name) => "approved",
                Some((_, kind)) => kind,
                None if ["runtime", "operator"].contains(name) => seen,
                None => "unknown-review",
            };
            let about = format!("{reviewer} is asked, {name} comes");
            let read = serving.get_as(token, &review);
            let id = review.rsplit('/').next().unwrap();
            let list = serving.get_as(token, "/v1/reviews?state=all").json();
            let mut pages = list["reviews"].as_array().unwrap().clone();
            let mut next = list["next"].as_u64();
            while let Some(after) = next {
                let page = serving.get_as(token, &format!("/v1/reviews?state=all&after={after}")).json();
                pages.extend(page["reviews"].as_array().unwrap().clone());
                next = page["next"].as_u64();
            }
            let is_listed = pages.iter().any(|review| review["id"] == id);
            assert_eq!(
                (read.status == 200, is_listed),
                (expected != "unknown-review", expected != "unknown-review"),
                "{about}"
            );
            let answered = serving.post_as(token, &review, &json!({"answer": "approve"}));
            let found = match answered.status {
                200 => answered.json()["review"]["state"].as_str().unwrap().to_owned(),
                _ => kind(&answered),
            };
            let found = if found == "not-addressed" { seen } else { &found };
            assert_eq!(found, expected, "{about}");
            // nothing has happened to the task unless it was answered
            let version = serving.get_as(&runtime, &task).json()["version"].as_u64();
            assert_eq!(version, Some(if expected == "approved" { 3 } else { 2 }), "{about}");
            if expected == "own-judge" {
                let denied = serving.post_as(token, &review, &json!({"answer": "deny"}));
                assert_eq!(
                    denied.json()["review"]["state"],
                    "denied",
                    "nobody has to want what is done for them"
                );
            }
        }
    }
}

#[test]
fn scopes_and_the_record_of_who_answered() {
    let serving = with_tokens(&Location::Memory, |_| {});
    let runtime = serving.token("desk", &RUNTIME);
    let (task, review) = asks(&serving, Some(&runtime), "lead");
    let [reads, writes] = READ_AND_WRITE.map(|scope| serving.token("lead", &[scope]));
    assert_eq!((serving.get_as(&reads, &review).status, serving.get_as(&writes, &review).status), (200, 403));
    let approve = json!({"answer": "approve", "note": "The customer is right."});
    assert_eq!(kind(&serving.post_as(&reads, &review, &approve)), "forbidden");
    let answered = serving.post_as(&writes, &review, &approve).json();
    let by = json!({"issuer": null, "subject": "lead", "email": null});
    assert_eq!((&answered["decision"], &answered["review"]["answered"]["by"]), (&json!("allow"), &by));

    // the runtime learns of it where it looks, and the event says who it was
    let call = answered["review"]["call"].as_str().unwrap();
    let standing = serving.get_as(&runtime, &format!("{task}/calls/{call}")).json();
    assert_eq!(standing["decided"]["verdict"], "allow");
    let events = serving.get_as(&runtime, &format!("{task}/events?after=2")).json();
    assert_eq!(events["events"][0]["reviews"][0]["answered"]["by"], by, "{events}");

    // another who is addressed as well comes second; the same person may send the answer again
    assert_eq!(serving.post_as(&writes, &review, &approve).status, 200);
    assert_eq!(kind(&serving.post_as(&writes, &review, &json!({"answer": "deny"}))), "review-closed");
    assert_eq!(serving.get_as(&runtime, &task).json()["version"], 3, "it counted once");

    // what the runtime passes on is its own word
    let (task, _) = asks(&serving, Some(&runtime), "lead");
    let resumed = serving.post_as(&runtime, &format!("{task}/resume"), &json!({"answer": {"review": true}}));
    assert_eq!(resumed.json()["decided"]["verdict"], "allow");
    let events = serving.get_as(&runtime, &format!("{task}/events?after=2")).json();
    let by = json!({"issuer": null, "subject": "desk", "email": null});
    let answered = &events["events"][0]["reviews"][0]["answered"];
    assert_eq!((&answered["by"], &answered["passed_on"]), (&by, &json!(true)));
}

#[test]
fn an_issuer_vouches_for_names_addresses_and_groups() {
    let signer = Signer::new("k", "EdDSA");
    let serving = over_keys(&Location::Memory, std::slice::from_ref(&signer.jwk), |settings| {
        let folder = settings.authentication.jwt.as_ref().unwrap().jwks.parent().unwrap().to_owned();
        policies(settings, &folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("desk", &RUNTIME);
    let token = |subject: &str, more: Value| {
        let claims =
            with(with(claims(), "scope", json!("reviews:read reviews:write")), "sub", json!(subject));
        let claims = more
            .as_object()
            .unwrap()
            .iter()
            .fold(claims, |claims, (name, value)| with(claims, name, value.clone()));
        signer.sign(&signer.header(), &claims)
    };
    let mail = |verified: Value| json!({"email": "lead@example.com", "email_verified": verified});
    let rows = [
        ("lead", token("lead", json!({})), 200),
        ("jwt:https://issuer.example|lead", token("lead", json!({})), 200),
        ("lead@example.com", token("a", mail(json!(true))), 200),
        ("Lead@Example.com", token("b", mail(json!(true))), 200),
        ("lead@example.com", token("c", mail(json!("true"))), 404),
        ("lead@example.com", token("d", mail(json!(false))), 404),
        ("lead@example.com", token("e", json!({"email": "lead@example.com"})), 404),
        ("lead@example.com", token("lead@example.com", json!({})), 404),
        ("lead@example.com", token("f", json!({"groups": ["lead@example.com"]})), 404),
        ("group:leads", token("g", json!({"groups": ["staff", "leads"]})), 200),
        ("leads", token("h", json!({"groups": "leads"})), 200),
        ("group:leads", token("i", json!({"roles": ["leads"]})), 404),
        ("group:leads", token("leads", json!({})), 404),
        // the file has a `lead`, too: with an issuer who may mean somebody else, its names address nobody
        ("lead", serving.token("lead", &READ_AND_WRITE), 404),
        (
            "lead@example.com",
            serving.token_of("pat", &READ_AND_WRITE, &json!({"email": "lead@example.com"})),
            200,
        ),
    ];
    for (at, (reviewer, token, status)) in rows.iter().enumerate() {
        let (_, review) = asks(&serving, Some(&runtime), reviewer);
        assert_eq!(serving.get_as(token, &review).status, *status, "row {at}");
        assert_eq!(serving.post_as(token, &review, &json!({"answer": "deny"})).status, *status, "row {at}");
    }
    let (_, review) = asks(&serving, Some(&runtime), "lead@example.com");
    let answered = serving.post_as(&rows[2].1, &review, &json!({"answer": "approve"})).json();
    let by = json!({"issuer": "https://issuer.example", "subject": "a", "email": "lead@example.com"});
    assert_eq!(answered["review"]["answered"]["by"], by);
    // the user of the task is known by an address that nobody verified, too: that is no way to approve for oneself
    let (_, review) = asks(&serving, Some(&runtime), "group:leads");
    let own = token("j", json!({"email": "kim@example.com", "groups": ["leads"]}));
    assert_eq!(kind(&serving.post_as(&own, &review, &json!({"answer": "approve"}))), "own-judge");
}

/// A stream of events that is read line by line.
pub struct Events(BufReader<TcpStream>);

impl Events {
    pub fn open(serving: &Serving, token: Option<&str>, last: Option<u64>) -> Self {
        let mut stream = TcpStream::connect(serving.server.as_ref().unwrap().address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        write!(stream, "GET /v1/reviews/stream HTTP/1.1\r\nHost: localhost\r\n{token}{last}\r\n").unwrap();
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).unwrap_or_else(|error| panic!("{error}"));
        (read > 0).then(|| line.trim_end().to_owned())
    }

    fn status(&mut self) -> u16 {
        self.line().unwrap().split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The headers, and the beginning of the stream.
    pub fn begun(mut self) -> Self {
        assert_eq!(self.status(), 200);
        let mut media_type = String::new();
        loop {
            let line = self.line().unwrap();
            if let Some(found) = line.strip_prefix("content-type: ") {
                media_type = found.to_owned();
            }
            if line == "retry: 2000" {
                break;
            }
        }
        assert_eq!(media_type, "text/event-stream");
        self
    }

    /// The next event: its number and the review. Nothing at the end of the stream.
    pub fn next(&mut self) -> Option<(u64, Value)> {
        let mut id = None;
        loop {
            let line = self.line()?;
            if let Some(number) = line.strip_prefix("id: ") {
                id = Some(number.parse().unwrap());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((id.take().unwrap(), serde_json::from_str(data).unwrap()));
            }
        }
    }
}

#[test]
fn a_stream_tells_of_reviews_to_those_who_see_them() {
    let serving = with_tokens(&Location::Memory, |_| {});
    let runtime = serving.token("desk", &RUNTIME);
    let (lead, other) = (serving.token("lead", &READ_AND_WRITE), serving.token("other", &READ_AND_WRITE));
    let none = serving.token("none", &["tasks:read"]);
    assert_eq!(Events::open(&serving, Some(&none), None).status(), 403);
    assert_eq!(Events::open(&serving, None, None).status(), 401);
    asks(&serving, Some(&runtime), "lead");
    let (mut hers, mut his) = (
        Events::open(&serving, Some(&lead), None).begun(),
        Events::open(&serving, Some(&other), None).begun(),
    );

    let (_, for_lead) = asks(&serving, Some(&runtime), "lead");
    let (asked, review) = hers.next().unwrap();
    assert_eq!(
        (review["state"].as_str(), format!("/v1/reviews/{}", review["id"].as_str().unwrap())),
        (Some("open"), for_lead.clone())
    );
    serving.post_as(&lead, &for_lead, &json!({"answer": "deny"}));
    let (answered, review) = hers.next().unwrap();
    assert_eq!((review["state"].as_str(), answered > asked), (Some("denied"), true));

    // he hears of his own and of nothing else
    let (_, for_other) = asks(&serving, Some(&runtime), "other");
    let (_, review) = his.next().unwrap();
    assert_eq!(format!("/v1/reviews/{}", review["id"].as_str().unwrap()), for_other);

    // who was away hears what they missed, each review as it is now
    let mut again = Events::open(&serving, Some(&lead), Some(0)).begun();
    let states: Vec<Value> = [(); 2].map(|()| again.next().unwrap().1["state"].clone()).into();
    assert_eq!(states, ["open", "denied"]);
    let mut late = Events::open(&serving, Some(&lead), Some(asked)).begun();
    assert_eq!(late.next().unwrap().0, answered);

    // a token that is withdrawn hears nothing more
    serving.withdraw_tokens("lead");
    asks(&serving, Some(&runtime), "lead");
    assert_eq!(hers.next(), None);

    // a server that stops waits for no stream
    let begun = Instant::now();
    drop(serving);
    assert_eq!(his.next(), None);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn max_review_streams_and_max_caller_review_streams() {
    let serving = with_tokens(&Location::Memory, |settings| {
        // streams hold none of the places of steps
        settings.limits.max_requests_in_flight = 1;
        settings.limits.max_review_streams = 3;
        settings.limits.max_caller_review_streams = 2;
    });
    let runtime = serving.token("desk", &RUNTIME);
    let [ann, bob] = ["ann", "bob"].map(|name| serving.token(name, &READ_AND_WRITE));
    let open = |token: &str| Events::open(&serving, Some(token), None);
    let mut first = open(&ann).begun();
    let second = open(&ann).begun();
    assert_eq!(open(&ann).status(), 503, "two of one caller");
    let third = open(&bob).begun();
    assert_eq!(open(&bob).status(), 503, "three in all");
    asks(&serving, Some(&runtime), "ann");
    assert_eq!(first.next().unwrap().1["reviewer"], "ann");
    drop((second, third));
    // the server notices that a client has gone when it has something to tell them, or at once
    let begun = Instant::now();
    while open(&bob).status() != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn two_servers_over_one_postgres_have_the_same_reviews() {
    let location = Location::parse(&PostgresServer::shared().database());
    let (here, there) = (for_anybody(&location, |_| {}), for_anybody(&location, |_| {}));
    let mut heard = Events::open(&here, None, None).begun();
    let (task, review) = asks(&here, None, "lead");
    assert_eq!(heard.next().unwrap().1["state"], "open");
    assert_eq!(there.get("/v1/reviews").json()["reviews"][0]["reviewer"], "lead");
    // the other server answers, and this one has the task in memory as it was before
    let answered = there.post(&review, &json!({"answer": "approve"})).json();
    assert_eq!(answered["decision"], "allow");
    assert_eq!(heard.next().unwrap().1["state"], "approved");
    let call = answered["review"]["call"].as_str().unwrap();
    assert_eq!(here.get(&format!("{task}/calls/{call}")).json()["decided"]["verdict"], "allow");
    assert_eq!(here.get(&review).json()["state"], "approved");

    // many answer at once, on both: one answer counts
    let (task, review) = asks(&here, None, "lead");
    let replies: Vec<(&str, Reply)> = thread::scope(|scope| {
        let answering = (0..16).map(|at| {
            let (serving, review) = (if at % 2 == 0 { &here } else { &there }, &review);
            let answer = if at % 4 < 2 { "approve" } else { "deny" };
            scope.spawn(move || (answer, serving.post(review, &json!({"answer": answer}))))
        });
        let answering: Vec<_> = answering.collect();
        answering.into_iter().map(|answering| answering.join().unwrap()).collect()
    });
    let stands = here.get(&review).json()["answered"]["answer"].as_str().unwrap().to_owned();
    for (answer, reply) in &replies {
        match reply.status {
            200 => assert_eq!(*answer, stands),
            _ => assert_eq!((kind(reply), *answer == stands), ("review-closed".to_owned(), false)),
        }
    }
    assert_eq!(here.get(&task).json()["version"], 3);
    let store = StoredTasks::new(
        Database::open(&location, &StoreLimits::default()).unwrap(),
        &StoreLimits::default(),
    );
    assert_eq!(store.verify().map(|found| found.reviews), Ok(2));
}

#[test]
fn many_tasks_ask_at_once_and_no_change_is_missed() {
    let location = Location::parse(&PostgresServer::shared().database());
    let servers = [for_anybody(&location, |_| {}), for_anybody(&location, |_| {})];
    let mut heard = Events::open(&servers[0], None, None).begun();
    let each = 12;
    thread::scope(|scope| {
        for serving in servers.iter().chain(&servers) {
            scope.spawn(move || {
                for _ in 0..each {
                    let task =
                        serving.post("/v1/tasks", &new_task()).json()["task"].as_str().unwrap().to_owned();
                    serving.post(&format!("/v1/tasks/{task}/before"), &refund("lead"));
                    let passed = json!({"answer": {"review": true}});
                    let resumed = serving.post(&format!("/v1/tasks/{task}/resume"), &passed).json();
                    assert_eq!(resumed["decided"]["verdict"], "allow");
                }
            });
        }
    });
    // each is heard of in its last state at least, in the order of changes
    let (mut last, mut approved) = (0, 0);
    while approved < 4 * each {
        let (number, review) = heard.next().unwrap();
        assert!(number > last, "{number} after {last}");
        (last, approved) = (number, approved + usize::from(review["state"] == "approved"));
    }
    assert_eq!(last, 2 * 4 * each as u64, "every review was asked and answered");
}

#[test]
fn a_death_in_between_leaves_event_and_review_together_or_neither() {
    let serving = for_anybody(&Location::Memory, |_| {});
    let (faults, mut failed) = (serving.database.faults(), 0);
    let mut plan = 0;
    loop {
        plan += 1;
        let (task, review) = asks(&serving, None, "lead");
        let place = if plan == 1 { FaultPlan::CommitAnswer(1) } else { FaultPlan::Access(plan - 1) };
        faults.plan(place);
        let status = serving.post(&review, &json!({"answer": "approve"})).status;
        let accesses = faults.accesses();
        faults.plan(FaultPlan::Nothing);
        failed += usize::from(status != 200);
        let (event, state) =
            (serving.get(&task).json()["version"].clone(), serving.get(&review).json()["state"].clone());
        assert!(
            [(json!(2), json!("open")), (json!(3), json!("approved"))]
                .contains(&(event.clone(), state.clone())),
            "{place:?}: {event} {state}"
        );
        // whoever heard nothing sends the answer again, and it counts once
        let again = serving.post(&review, &json!({"answer": "approve"}));
        assert_eq!((again.status, &serving.get(&task).json()["version"]), (200, &json!(3)), "{place:?}");
        if plan > accesses + 1 {
            break;
        }
    }
    assert!(failed > 5, "only {failed} faults were met");
    let store = StoredTasks::new(serving.database.clone(), &StoreLimits::default());
    assert_eq!(store.verify().map(|found| found.reviews), Ok(plan));
}

#[test]
fn what_nobody_answers_in_time_is_denied_and_nobody_asks_for_the_task() {
    let locations = [Location::Memory, Location::parse(&PostgresServer::shared().database())];
    for location in locations {
        let change = |settings: &mut Settings| settings.limits.store.engine.max_review_ms = 90_500;
        let servers = [for_anybody(&location, change), for_anybody(&location, change)];
        let serving = &servers[0];
        let mut heard = Events::open(serving, None, None).begun();
        let (task, review) = asks(serving, None, "lead");
        let (_, later) = {
            serving.set_now("2026-06-01T12:01:00Z");
            asks(serving, None, "lead")
        };
        let sweep = |now: &str| {
            for serving in &servers[..if location == Location::Memory { 1 } else { 2 }] {
                serving.set_now(now);
                serving.server.as_ref().unwrap().sweep();
            }
        };
        sweep("2026-06-01T12:01:30.4Z");
        assert_eq!(serving.get(&review).json()["state"], "open");
        sweep("2026-06-01T12:01:30.5Z");
        sweep("2026-06-01T12:01:31Z");
        let expired = serving.get(&review).json();
        assert_eq!((&expired["state"], &expired["answered"]), (&json!("expired"), &Value::Null));
        assert_eq!(serving.get(&later).json()["state"], "open");
        let events = serving.get(&format!("{task}/events?after=2")).json();
        assert_eq!(events["events"].as_array().unwrap().len(), 1, "it happened once: {events}");
        assert_eq!(
            (&events["events"][0]["operation"], &events["events"][0]["reviews"][0]["state"]),
            (&json!("expire"), &json!("expired"))
        );
        let call = expired["call"].as_str().unwrap();
        assert_eq!(serving.get(&format!("{task}/calls/{call}")).json()["decided"]["verdict"], "block");
        let states: Vec<Value> = [(); 3].map(|()| heard.next().unwrap().1["state"].clone()).into();
        assert_eq!(states, ["open", "open", "expired"]);
    }
}

#[test]
fn a_review_that_was_altered_is_not_told() {
    let alterations = [
        "owner = 'eve'",
        "task = 'other'",
        "question = 7",
        "state = 'denied'",
        "reviewer = 'eve'",
        "namespace = 'other'",
        "agent = 'other'",
        "user_id = 'u-8'",
        "asked_at = '2026-06-01T11:00:00Z'",
        "expires_at = NULL",
        "version = 1",
        "content = content || ' '",
        "digest = ''",
    ];
    for alteration in alterations {
        let serving = for_anybody(&Location::Memory, |_| {});
        let (_, review) = asks(&serving, None, "lead");
        // the parent of the row must be there for a key to be changed at all
        let written = serving.database.write(|sql| {
            sql.execute(
                "INSERT INTO task (owner, id, namespace, agent, state, started_at, changed_at, version, chain, digest) \
                 SELECT 'eve', id, namespace, agent, state, started_at, changed_at, version, chain, digest FROM task",
                &[],
            )?;
            sql.execute(
                "INSERT INTO task (owner, id, namespace, agent, state, started_at, changed_at, version, chain, digest) \
                 SELECT '', 'other', namespace, agent, state, started_at, changed_at, version, chain, digest FROM task WHERE owner = ''",
                &[],
            )?;
            sql.execute(&format!("UPDATE review SET {alteration}"), &[])
        });
        assert_eq!(written, Ok(1), "{alteration}");
        let reply = serving.get(&review);
        assert_eq!((reply.status, kind(&reply)), (500, "not-restorable".to_owned()), "{alteration}");
    }
    let serving = for_anybody(&Location::Memory, |_| {});
    let (_, review) = asks(&serving, None, "lead");
    let store = StoredTasks::new(serving.database.clone(), &StoreLimits::default());
    let alter = |set: &str| {
        serving.database.write(|sql| sql.execute(&format!("UPDATE review SET {set}"), &[])).unwrap();
    };
    alter("reviewer = 'eve'");
    let found = store.verify().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(found.contains("the review `rv_"), "{found}");
    alter("reviewer = 'lead'");
    assert!(store.verify().is_ok());
    assert_eq!(serving.get(&review).status, 200);
}

#[test]
fn every_scope_is_a_scope_of_tokens() {
    let serving = Serving::with_tokens();
    let all = serving.token("all", &SCOPES);
    assert_eq!(serving.get_as(&all, "/v1/reviews").json(), json!({"reviews": [], "next": null}));
}

/// What an answer brings is compared as it was given, and told as views show it.
#[test]
fn an_edit_of_a_secret_counts_once_and_another_secret_is_another_answer() {
    let serving = Serving::with(&Location::Memory, review_fixture::policies);
    let review = review_fixture::asks_to(&serving, None, "u", ("card", r#"{"amount": 9, "card": "4111"}"#));
    let edit = |card: &str| json!({"answer": "edit", "arguments": {"amount": 8, "card": card}});
    for (card, status) in [("5500", 200), ("5500", 200), ("5501", 409), ("***", 409)] {
        let reply = serving.post(&review, &edit(card));
        assert_eq!(reply.status, status, "{card}: {}", reply.text());
        assert!(!reply.text().contains("5500"), "{}", reply.text());
    }
    // `***` leaves the secret as it is, and so it is the same answer as the secret itself
    let review = review_fixture::asks_to(&serving, None, "u", ("card", r#"{"amount": 9, "card": "4111"}"#));
    for (card, status) in [("***", 200), ("***", 200), ("4111", 200), ("5500", 409)] {
        assert_eq!(serving.post(&review, &edit(card)).status, status, "{card}");
    }
}
