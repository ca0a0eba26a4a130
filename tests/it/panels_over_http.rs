//! Reviews by several people over HTTP: who sees them, whose answer counts, and two servers over one store.

use crate::review_fixture::{BOARD, REVIEWER, asks_board, policies};
use crate::server_reviews::Events;
use crate::servers::PostgresServer;
use crate::serving::Serving;
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::sync::Barrier;
use std::thread;

fn serve(database: Database) -> Serving {
    Serving::over(database, |settings, folder| {
        policies(settings, folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    })
}

/// The token of somebody, which both servers know.
fn token_of(servers: &[Serving; 2], name: &str, scopes: &[&str], more: &Value) -> String {
    let [token, _] = servers.each_ref().map(|server| server.token_of(name, scopes, more));
    token
}

/// Asks for a payment for this user; the task, and the path of the review.
fn ask(serving: &Serving, runtime: &str, user: &str) -> (String, String) {
    asks_board(serving, Some(runtime), user)
}

fn answer(serving: &Serving, token: &str, review: &str, answer: &str) -> (u16, Value) {
    let reply = serving.post_as(token, review, &json!({ "answer": answer }));
    (reply.status, reply.json())
}

#[test]
fn two_people_approve_over_two_servers_and_nobody_twice() {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let servers = [serve(database.clone()), serve(database)];
    let token = |name: &str, scopes: &[&str], more: Value| token_of(&servers, name, scopes, &more);
    let runtime = token("desk", &["tasks:read", "tasks:write", "reviews:read"], json!({}));
    let ann = token("ann", &REVIEWER, json!({"groups": ["payments", "leads"]}));
    let kim = token("kim", &REVIEWER, json!({"groups": ["leads"]}));
    let boss = token("b-1", &REVIEWER, json!({"email": "boss@example.com"}));
    let lee = token("lee", &REVIEWER, json!({"groups": ["Leads", "payment"]}));
    let [first, second] = &servers;

    let (task, review) = ask(first, &runtime, "u-1");
    let shown = first.get_as(&ann, &review).json();
    assert_eq!(shown["reviewer"], BOARD);
    assert_eq!(shown["progress"], json!({"approved": 0, "needed": 2}));
    assert_eq!(shown["panel"]["all_of"][0]["at_least"], 2);
    assert_eq!(shown["expires_at"], "2026-06-01T13:00:00Z", "its own time");
    for (token, seen) in [(&ann, 1), (&kim, 1), (&boss, 1), (&lee, 0)] {
        let listed = second.get_as(token, "/v1/reviews").json();
        assert_eq!(listed["reviews"].as_array().unwrap().len(), seen, "{listed}");
    }
    assert_eq!(
        second.get_as(&ann, "/v1/reviews?reviewer=group:leads").json()["reviews"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        second.get_as(&ann, "/v1/reviews?reviewer=group:lead").json()["reviews"].as_array().unwrap().len(),
        0
    );
    assert_eq!(answer(first, &lee, &review, "approve").0, 404);

    let (status, told) = answer(first, &ann, &review, "approve");
    assert_eq!(
        (status, &told["decision"], &told["review"]["state"]),
        (200, &json!("suspend"), &json!("open")),
        "{told}"
    );
    assert_eq!(told["review"]["approvals"][0]["addressed_as"], json!(["group:payments", "group:leads"]));
    assert_eq!((told.get("repeated"), &told["review"]["progress"]["approved"]), (None, &json!(1)));
    // again, and elsewhere: still one person
    for server in &servers {
        let (status, told) = answer(server, &ann, &review, "approve");
        assert_eq!((status, told["review"]["approvals"].as_array().unwrap().len()), (200, 1), "{told}");
        assert_eq!((&told["repeated"], &told["review"]["progress"]["approved"]), (&json!(true), &json!(1)));
    }
    let (status, told) = answer(second, &boss, &review, "approve");
    assert_eq!((status, &told["decision"]), (200, &json!("allow")), "{told}");
    let by: Vec<&str> = told["review"]["approvals"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["by"]["subject"].as_str())
        .collect();
    assert_eq!(by, ["ann", "b-1"]);
    assert_eq!(told["review"]["state"], "approved");
    // late and early answers that come again are told the same; another one is too late
    assert_eq!(answer(first, &ann, &review, "approve").0, 200);
    assert_eq!(answer(first, &kim, &review, "approve").0, 409);
    assert_eq!(first.get_as(&runtime, &format!("/v1/tasks/{task}")).json()["state"], "active");

    // one denial denies
    let (_, review) = ask(second, &runtime, "u-1");
    assert_eq!(answer(second, &ann, &review, "approve").0, 200);
    let (status, told) = answer(first, &kim, &review, "deny");
    assert_eq!(
        (status, &told["decision"], &told["review"]["state"]),
        (200, &json!("block"), &json!("denied"))
    );

    // the person for whom the task runs speaks for no group
    let (_, review) = ask(first, &runtime, "kim");
    let (status, told) = answer(first, &kim, &review, "approve");
    assert_eq!((status, &told["type"]), (403, &json!("urn:celador:problem:own-judge")));

    // a runtime that passes answers on is nobody of the panel, and cannot say that it is
    let (task, _) = ask(first, &runtime, "u-2");
    let path = format!("/v1/tasks/{task}/resume");
    assert_eq!(first.post_as(&runtime, &path, &json!({"answer": {"review": true}})).status, 403);
    let passed_on = json!({"answer": {"review": {"answer": "approve", "addressed_as": ["group:leads"]}}});
    assert_eq!(first.post_as(&runtime, &path, &passed_on).status, 400);

    // nobody else in time: denied
    first.set_now("2026-06-01T13:00:01Z");
    let seen = first.post_as(&runtime, &format!("/v1/tasks/{task}/limits"), &json!({"next": "other"}));
    assert_eq!(seen.status, 200);
    let expired = first.get_as(&runtime, "/v1/reviews?state=expired").json();
    assert_eq!(expired["reviews"].as_array().unwrap().len(), 1, "{expired}");
}

/// Two people on two servers over one Postgres answer at the same moment, again and again: exactly one of the two answers closes the review, and
/// each is on record once.
#[test]
fn two_people_on_two_servers_answer_at_the_same_moment_and_one_closes() {
    let location = Location::parse(&PostgresServer::shared().database());
    let open = || Database::open(&location, &StoreLimits::default()).unwrap();
    let servers = [serve(open()), serve(open())];
    let runtime = token_of(&servers, "desk", &["tasks:read", "tasks:write", "reviews:read"], &json!({}));
    let ann = token_of(&servers, "ann", &REVIEWER, &json!({"groups": ["payments"]}));
    let boss = token_of(&servers, "b-1", &REVIEWER, &json!({"email": "boss@example.com"}));
    let [here, there] = &servers;
    for round in 0..12 {
        let (task, review) = ask(here, &runtime, "u-1");
        let second = if round % 3 == 2 { "deny" } else { "approve" };
        let start = Barrier::new(2);
        let at_once = |serving: &Serving, token: &str, word: &str| {
            start.wait();
            answer(serving, token, &review, word)
        };
        let (first, other) = thread::scope(|scope| {
            let first = scope.spawn(|| at_once(here, &ann, "approve"));
            let other = scope.spawn(|| at_once(there, &boss, second));
            (first.join().unwrap(), other.join().unwrap())
        });
        let events = here.get_as(&runtime, &format!("/v1/tasks/{task}/events")).json();
        let closing = if second == "deny" { "block" } else { "allow" };
        let verdicts: Vec<&str> = events["events"]
            .as_array()
            .unwrap_or_else(|| panic!("{events}"))
            .iter()
            .filter(|event| event["operation"] == "review")
            .map(|event| event["decision"]["verdict"].as_str().unwrap())
            .collect();
        let stands = there.get_as(&ann, &review).json();
        assert_eq!(other.0, 200, "round {round}: {other:?}");
        if second == "deny" {
            // a denial that was first leaves nothing to approve
            let approved_first = verdicts == ["suspend", closing];
            assert!(approved_first || verdicts == [closing], "round {round}: {verdicts:?}");
            assert_eq!(stands["state"], "denied", "round {round}");
            assert!(first.0 == 200 && approved_first || first.0 == 409 && !approved_first, "{first:?}");
        } else {
            assert_eq!((first.0, &*verdicts), (200, &["suspend", closing][..]), "round {round}: {first:?}");
            assert_eq!((&stands["state"], &stands["progress"]["approved"]), (&json!("approved"), &json!(2)));
            assert_eq!(stands["approvals"].as_array().unwrap().len(), 2, "round {round}");
        }
        for server in &servers {
            assert_eq!(server.get_as(&runtime, &format!("/v1/tasks/{task}")).json()["state"], "active");
        }
    }
}

/// Streams tell those whom a panel asks of each approval, on whichever server it was given, and nobody else.
#[test]
fn a_stream_tells_of_each_approval() {
    let location = Location::parse(&PostgresServer::shared().database());
    let open = || Database::open(&location, &StoreLimits::default()).unwrap();
    let servers = [serve(open()), serve(open())];
    let runtime = token_of(&servers, "desk", &["tasks:read", "tasks:write", "reviews:read"], &json!({}));
    let ann = token_of(&servers, "ann", &REVIEWER, &json!({"groups": ["payments"]}));
    let kim = token_of(&servers, "kim", &REVIEWER, &json!({"groups": ["leads"]}));
    let lee = token_of(&servers, "lee", &REVIEWER, &json!({"groups": ["others"]}));
    let [here, there] = &servers;
    let mut heard = Events::open(here, Some(&kim), None).begun();
    let mut by_others = Events::open(here, Some(&lee), Some(0)).begun();
    let (_, review) = ask(there, &runtime, "u-1");
    let mut hears = |state: &str, approved: usize| {
        let (_, review) = heard.next().unwrap();
        let progress = json!({"approved": approved, "needed": 2});
        assert_eq!((&review["state"], &review["progress"]), (&json!(state), &progress));
    };
    hears("open", 0);
    assert_eq!(answer(there, &ann, &review, "approve").0, 200);
    hears("open", 1);
    assert_eq!(answer(here, &kim, &review, "approve").0, 200);
    hears("approved", 2);
    // whoever is not of the panel has heard of nothing when the servers stop
    drop(servers);
    assert_eq!(by_others.next(), None);
}
