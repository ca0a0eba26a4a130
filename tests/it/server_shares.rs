//! What is shared out between callers: places at work, waiting, evaluations, bytes of bodies.

use crate::serving::{Reply, SCOPES, Serving, new_task};
use celador_server::ServerLimits;
use celador_store::Location;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

fn serving(change: impl FnOnce(&mut ServerLimits)) -> Serving {
    Serving::with(&Location::Memory, |settings, folder| {
        settings.authentication.tokens = Some(folder.join("tokens.json"));
        settings.limits.store.engine.eval.max_cost = 100_000_000;
        change(&mut settings.limits);
    })
}

/// Runs something while no request gets at the store, then lets them.
fn with_a_busy_store<T>(serving: &Serving, run: impl FnOnce(&dyn Fn()) -> T) -> T {
    let (held, holding) = mpsc::channel();
    let (free, freed) = mpsc::channel::<()>();
    let database = serving.database.clone();
    let reader = thread::spawn(move || {
        // a store in memory has one connection, which is now taken
        let _ = database.read(|_| {
            held.send(()).unwrap();
            let _ = freed.recv_timeout(LONG);
            Ok(())
        });
    });
    holding.recv().unwrap();
    let done = run(&|| {
        // a reader whose time is over has gone
        let _ = free.send(());
    });
    reader.join().unwrap();
    done
}

/// How many requests are at work, without the one that asks.
fn at_work(serving: &Serving, token: &str) -> usize {
    let metrics = serving.get_as(token, "/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("celador_requests_in_flight ")).unwrap();
    line.parse::<usize>().unwrap() - 1
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < LONG, "{what}");
    }
}

/// How many of ten requests of one caller are at work while others ask too.
fn at_work_beside_others(max_caller_requests: usize) -> usize {
    let serving = serving(|limits| {
        limits.max_caller_requests = max_caller_requests;
        limits.max_wait_ms = u64::MAX;
    });
    let (ann, eve) = (serving.token("did:web:ann", &SCOPES), serving.token("did:web:eve", &SCOPES));
    let task = serving.new_task(Some(&ann));
    at_work(&serving, &eve);
    thread::scope(|scope| {
        with_a_busy_store(&serving, |free| {
            let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
            let (serving, task, ann) = (&serving, &task, &ann);
            let turns: Vec<_> = (0..10)
                .map(|_| {
                    let turn = turn.clone();
                    scope.spawn(move || serving.post_as(ann, &format!("{task}/model-turn"), &turn).status)
                })
                .collect();
            let expected = max_caller_requests.min(10);
            wait_for("they do not come in", || at_work(serving, &eve) >= expected);
            // no more come
            let most = (0..20).map(|_| at_work(serving, &eve)).max().unwrap();
            free();
            assert!(turns.into_iter().all(|turn| turn.join().unwrap() == 200), "each has its turn");
            most
        })
    })
}

#[test]
fn max_caller_requests() {
    assert_eq!(at_work_beside_others(1), 1);
    assert_eq!(at_work_beside_others(3), 3);
    assert_eq!(at_work_beside_others(usize::MAX), 10);
}

/// What is answered to requests that come while the only place is taken by another.
fn while_the_only_place_is_taken(change: impl FnOnce(&mut ServerLimits), others: usize) -> Vec<Reply> {
    let serving = serving(|limits| {
        limits.max_requests_in_flight = 1;
        change(limits);
    });
    let ann = serving.token("did:web:ann", &SCOPES);
    let task = serving.new_task(Some(&ann));
    thread::scope(|scope| {
        with_a_busy_store(&serving, |free| {
            let (serving, task, ann) = (&serving, &task, &ann);
            let ask = || scope.spawn(move || serving.get_as(ann, task));
            let first = ask();
            // the others are behind the first if they have asked after it, which nobody can see from here
            thread::sleep(Duration::from_millis(300));
            let others: Vec<_> = (0..others).map(|_| ask()).collect();
            thread::sleep(Duration::from_millis(300));
            free();
            assert_eq!(first.join().unwrap().status, 200);
            others.into_iter().map(|other| other.join().unwrap()).collect()
        })
    })
}

#[test]
fn max_wait_ms_and_max_requests_waiting() {
    let statuses = |replies: &[Reply]| replies.iter().map(|reply| reply.status).collect::<Vec<_>>();
    let patient = |limits: &mut ServerLimits| limits.max_wait_ms = 60_000;
    assert_eq!(statuses(&while_the_only_place_is_taken(patient, 3)), [200, 200, 200]);
    let off = |limits: &mut ServerLimits| {
        (limits.max_wait_ms, limits.max_requests_waiting) = (u64::MAX, usize::MAX);
    };
    assert_eq!(statuses(&while_the_only_place_is_taken(off, 3)), [200, 200, 200]);
    let impatient = |limits: &mut ServerLimits| limits.max_wait_ms = 50;
    let refused = while_the_only_place_is_taken(impatient, 1);
    assert_eq!((refused[0].status, refused[0].header("retry-after")), (503, Some("1")));
    assert_eq!(refused[0].json()["detail"], "`max_requests_in_flight` 1 reached");
    let one_waits = |limits: &mut ServerLimits| {
        (limits.max_wait_ms, limits.max_requests_waiting) = (60_000, 1);
    };
    let mut told = statuses(&while_the_only_place_is_taken(one_waits, 3));
    told.sort_unstable();
    assert_eq!(told, [200, 503, 503]);
    let nobody_waits = |limits: &mut ServerLimits| limits.max_requests_waiting = 0;
    assert_eq!(statuses(&while_the_only_place_is_taken(nobody_waits, 2)), [503, 503]);
}

/// An expression that takes some time, cubic in the number.
fn slow(elements: usize) -> Value {
    let list = (0..elements).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let expression = format!("[{list}].all(a, [{list}].all(b, [{list}].all(c, a + b + c >= 0)))");
    json!({"scope": "before", "expression": expression})
}

#[test]
fn max_evaluations() {
    let serving = serving(|limits| {
        limits.max_evaluations = 1;
        limits.max_wait_ms = 0;
    });
    let (ann, eve) = (serving.token("did:web:ann", &SCOPES), serving.token("did:web:eve", &SCOPES));
    thread::scope(|scope| {
        let long = scope.spawn(|| serving.post_as(&ann, "/v1/evaluate", &slow(90)).status);
        wait_for("it does not come in", || at_work(&serving, &eve) == 1);
        let refused = serving.post_as(&eve, "/v1/evaluate", &slow(1));
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
        assert_eq!(refused.json()["detail"], "`max_evaluations` 1 reached");
        assert_eq!(serving.post_as(&eve, "/v1/tasks", &new_task()).status, 201, "steps go on");
        assert_eq!(long.join().unwrap(), 200);
    });
    assert_eq!(serving.post_as(&eve, "/v1/evaluate", &slow(1)).status, 200);
}

/// Many long evaluations of one caller: another's steps and evaluations do not wait for them, and none fails.
#[test]
fn long_evaluations_of_one_caller_leave_room_for_others() {
    let serving = serving(|limits| limits.max_wait_ms = 60_000);
    let (ann, bob) = (serving.token("did:web:ann", &SCOPES), serving.token("did:web:bob", &SCOPES));
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                assert_eq!(serving.post_as(&ann, "/v1/evaluate", &slow(50)).status, 200);
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        wait_for("none comes in", || at_work(&serving, &bob) > 0);
        for _ in 0..10 {
            let task = serving.new_task(Some(&bob));
            let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
            assert_eq!(serving.post_as(&bob, &format!("{task}/model-turn"), &turn).status, 200);
            assert_eq!(serving.post_as(&bob, "/v1/evaluate", &slow(1)).status, 200);
        }
        assert!(done.load(Ordering::Relaxed) < 24, "they were served after all of the others");
    });
    assert_eq!(done.load(Ordering::Relaxed), 24);
}

/// Begins a body of so many bytes that does not come to its end.
fn begin(serving: &Serving, token: &str, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(serving.server.as_ref().unwrap().address()).unwrap();
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // the server says so when it begins to read
    let mut go_on = [0; 25];
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&go_on));
    stream
}

/// The answer to a body of so many bytes, which is no check: 400 if it was read.
fn check(serving: &Serving, token: &str, length: usize) -> Reply {
    let body = json!({"x": "x".repeat(length - 8)});
    assert_eq!(body.to_string().len(), length);
    serving.post_as(token, "/v1/check", &body)
}

#[test]
fn max_bodies_bytes() {
    let start = |bytes: usize| {
        serving(|limits| {
            limits.max_bodies_bytes = bytes;
            limits.max_wait_ms = 50;
        })
    };
    let one = start(400_000);
    let (ann, bob) = (one.token("did:web:ann", &SCOPES), one.token("did:web:bob", &SCOPES));
    // half of it is for one who is alone, and no more
    let [first, second] = [(); 2].map(|()| begin(&one, &ann, 100_000));
    let over = check(&one, &ann, 66_000);
    assert_eq!((over.status, over.header("retry-after")), (503, Some("1")));
    assert_eq!(over.json()["detail"], "`max_bodies_bytes` 400000 reached");
    // short ones need none of it, and others have theirs
    assert_eq!(check(&one, &ann, 65_000).status, 400);
    assert_eq!(check(&one, &bob, 100_000).status, 400);
    // who gives back may have again
    drop((first, second));
    wait_for("it is not given back", || check(&one, &ann, 100_000).status == 400);
    // a body as large as all there is passes, one at a time
    assert_eq!(check(&one, &bob, 500_000).status, 400);
    let off = start(usize::MAX);
    let ann = off.token("did:web:ann", &SCOPES);
    let _many: Vec<_> = (0..20).map(|_| begin(&off, &ann, 8_000_000)).collect();
    assert_eq!(check(&off, &ann, 1_000_000).status, 400);
}
