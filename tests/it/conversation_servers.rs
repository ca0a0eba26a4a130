//! Conversations where several write at once, and the context stores of Aletheia on servers that stop and start again.

use crate::conversation::{counted, message, now};
use crate::servers::{PostgresServer, RedisServer, Stop};
use celador_store::conversation::aletheia::{
    ContextStoreError, EmbeddedContextStore, PostgresContextStore, RedisContextStore, RedisOptions,
};
use celador_store::conversation::{
    ContextStore, ConversationError, Conversations, HistoryOrder, Incoming, ListQuery, MAX_ID_BYTES,
    StoredContext, Window,
};
use celador_store::{Database, Location, StoreError, StoreLimits};
use std::collections::BTreeSet;
use std::thread;

const WRITERS: usize = 8;
const EACH: usize = 25;

/// Two servers over one store; half of the writers speak to each.
fn servers(location: &Location) -> [Conversations; 2] {
    [0, 1 << 32].map(|first| {
        let database = Database::open(location, &StoreLimits::default()).unwrap();
        Conversations::new(database, counted(first))
    })
}

/// Each writer sends to a context of all and to a task of all, and makes a task of its own with each message.
fn concurrent_sends(location: &Location) {
    let servers = servers(location);
    let made: Vec<bool> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let server = &servers[writer % 2];
                scope.spawn(move || {
                    let mut made = Vec::new();
                    for number in 0..EACH {
                        let id = format!("{writer}-{number}");
                        let said = message(&id);
                        for task in ["shared", &id] {
                            let incoming = Incoming {
                                context_id: Some("all"),
                                task_id: Some(task),
                                message: Some(&said),
                            };
                            made.push(server.send(Some("a"), &incoming, now()).unwrap().new_context);
                        }
                    }
                    made
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|new| **new).count(), 1, "the context was made once");
    let [server, _] = &servers;
    let page = server.list(Some("a"), &ListQuery::default()).unwrap();
    let [(context, tasks)] = page.items.as_slice() else { panic!("{} contexts", page.items.len()) };
    assert_eq!(context.id, "all");
    assert_eq!(tasks.len(), WRITERS * EACH + 1);
    assert_eq!(tasks.iter().collect::<BTreeSet<_>>().len(), tasks.len());
    let all = server.get_context(Some("a"), "all", Window::default(), HistoryOrder::OldestFirst).unwrap();
    assert_eq!(all.history.len(), 2 * WRITERS * EACH);
    let texts: BTreeSet<_> = all.history.iter().map(|message| message.json().get().to_owned()).collect();
    assert_eq!(texts.len(), WRITERS * EACH, "each message is there");
    // of one writer the messages stay in its order
    let shared = Window {
        offset: tasks.iter().rev().position(|task| task == "shared").unwrap() as u128,
        length: Some(1),
    };
    let shared = server.get_context(Some("a"), "all", shared, HistoryOrder::OldestFirst).unwrap();
    assert_eq!(shared.history.len(), WRITERS * EACH);
    for writer in 0..WRITERS {
        let own: Vec<_> = shared
            .history
            .iter()
            .filter_map(|message| {
                let value: serde_json::Value = serde_json::from_str(message.json().get()).unwrap();
                let (by, number) = value["messageId"].as_str().unwrap().split_once('-').unwrap();
                (by == writer.to_string()).then(|| number.parse::<usize>().unwrap())
            })
            .collect();
        assert_eq!(own, (0..EACH).collect::<Vec<_>>());
    }
}

/// Sends and clears of one context at once: each is whole, and the store is sound after.
fn concurrent_clears(location: &Location) {
    let servers = servers(location);
    thread::scope(|scope| {
        for writer in 0..4 {
            let server = &servers[writer % 2];
            scope.spawn(move || {
                for number in 0..EACH {
                    let said = message(&format!("{writer}-{number}"));
                    let incoming =
                        Incoming { context_id: Some("busy"), message: Some(&said), ..Incoming::default() };
                    server.send(None, &incoming, now()).unwrap();
                    if number % 5 == writer {
                        // somebody else may have been first
                        let cleared = server.clear(None, "busy");
                        assert!(
                            cleared.as_ref().err().is_none_or(|error| error.refusal().is_some()),
                            "{cleared:?}"
                        );
                    }
                }
            });
        }
    });
    let [server, _] = &servers;
    let window = Window::default();
    let left = server.get_context(None, "busy", window, HistoryOrder::OldestFirst).unwrap().history.len();
    let listed = server.list(None, &ListQuery::default()).unwrap();
    assert_eq!(listed.items.iter().map(|(_, tasks)| tasks.len()).sum::<usize>(), left);
}

#[test]
fn concurrent_messages_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    concurrent_sends(&Location::File(folder.path().join("sends")));
    concurrent_clears(&Location::File(folder.path().join("clears")));
}

#[test]
fn concurrent_messages_on_postgres() {
    let location = || Location::Postgres(PostgresServer::shared().database());
    concurrent_sends(&location());
    concurrent_clears(&location());
}

/// Characters that no database can compress.
pub fn noise(bytes: usize) -> String {
    let mut random = 1_u64;
    let letter = |_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (random >> 33) as u8 % 94)
    };
    (0..bytes).map(letter).collect()
}

/// An index of Postgres has room for the two longest ids; an owner that is longer than it takes is told so.
#[test]
fn the_longest_ids_fit_into_postgres() {
    let location = Location::Postgres(PostgresServer::shared().database());
    let [server, _] = servers(&location);
    let longest = noise(MAX_ID_BYTES);
    let (context_id, task_id) = (Some(&*longest), Some(&*longest));
    let said = message("m");
    let incoming = Incoming { context_id, task_id, message: Some(&said) };
    assert!(server.send(Some("a"), &incoming, now()).unwrap().new_context);
    let owner = noise(5_000);
    let refused = server.send(Some(&owner), &Incoming::default(), now());
    assert!(
        matches!(refused, Err(ConversationError::Store(StoreError::NotStorable(_)))),
        "an owner of 5,000 bytes: {refused:?}"
    );
    assert!(!server.send(Some("a"), &incoming, now()).unwrap().new_task);
}

fn stored(context: &str) -> StoredContext {
    StoredContext { context_id: Some(context.to_owned()), task_id: None }
}

#[test]
fn redis_comes_back_and_its_errors_are_passed_on() {
    let server = RedisServer::start();
    let options = RedisOptions { prefix: String::new(), ttl_seconds: 0 };
    let store = RedisContextStore::open(&server.url(), options).unwrap();
    store.set("", &stored("empty key")).unwrap();
    assert_eq!(store.get("").unwrap(), Some(stored("empty key")));
    for how in [Stop::Fast, Stop::Kill] {
        let kept = stored(&format!("{how:?}"));
        store.set("k", &kept).unwrap();
        server.stop(how);
        assert!(matches!(store.get("k"), Err(ContextStoreError::Unavailable(_))), "it is down");
        assert!(store.set("k", &stored("lost")).is_err());
        server.start_again();
        assert_eq!(store.get("k").unwrap(), Some(kept));
        // stopped and started while nobody asked
        server.stop(how);
        server.start_again();
        store.set("k", &stored("again")).unwrap();
        assert_eq!(store.get("k").unwrap(), Some(stored("again")));
    }
    let client = redis::Client::open(server.url()).unwrap();
    redis::cmd("LPUSH").arg("list").arg("x").exec(&mut client.get_connection().unwrap()).unwrap();
    assert_eq!(store.get("list"), Err(ContextStoreError::Refused("WRONGTYPE".to_owned())));
    assert_eq!(store.get("k").unwrap(), Some(stored("again")), "the connection goes on");
}

#[test]
fn postgres_comes_back_and_a_table_is_used_as_it_is() {
    let server = PostgresServer::start();
    let tables = [
        "key TEXT PRIMARY KEY, context_id TEXT, task_id TEXT, updated_at TIMESTAMP DEFAULT now()",
        "key VARCHAR(200) PRIMARY KEY, note TEXT, task_id VARCHAR, context_id VARCHAR, updated_at TIMESTAMPTZ NOT NULL",
    ];
    for columns in tables {
        let url = server.database();
        let store = PostgresContextStore::open(&url).unwrap();
        assert_eq!(store.get("k"), Err(ContextStoreError::Refused("42P01".to_owned())), "no table is made");
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        client.batch_execute(&format!("CREATE TABLE context_store ({columns})")).unwrap();
        drop(client);
        for how in [Stop::Fast, Stop::Kill] {
            let kept = stored(&format!("{how:?}"));
            store.set("k", &kept).unwrap();
            server.stop(how);
            assert!(matches!(store.get("k"), Err(ContextStoreError::Unavailable(_))), "it is down");
            server.start_again();
            assert_eq!(store.get("k").unwrap(), Some(kept));
            server.stop(how);
            server.start_again();
            store.set("k", &stored("again")).unwrap();
            store.set("k", &StoredContext::default()).unwrap();
            assert_eq!(store.get("k").unwrap(), Some(StoredContext::default()), "nothing is a value");
            store.delete("k").unwrap();
            assert_eq!(store.get("k").unwrap(), None);
        }
    }
}

#[test]
fn the_embedded_store_keeps_contexts_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("store"));
    let open = || EmbeddedContextStore::new(Database::open(&location, &StoreLimits::default()).unwrap());
    let store = open();
    store.set("did:did:web:x", &stored("c")).unwrap();
    store.set("gone", &stored("c")).unwrap();
    store.delete("gone").unwrap();
    store.delete("gone").unwrap();
    drop(store);
    assert_eq!(open().get("did:did:web:x").unwrap(), Some(stored("c")));
    assert_eq!(open().get("gone").unwrap(), None);
    assert!(matches!(open().get("a\0b"), Err(ContextStoreError::Refused(_))));
}

/// What is written and what is read of a value (S2, S4, S5).
#[test]
fn each_stored_value() {
    let both = |context: Option<&str>, task: Option<&str>| StoredContext {
        context_id: context.map(str::to_owned),
        task_id: task.map(str::to_owned),
    };
    let written = [
        (both(None, None), "{}"),
        (both(Some("é\u{2028}/<\u{7f}"), None), "{\"contextId\":\"é\u{2028}/<\u{7f}\"}"),
        (both(None, Some("\"\\\n\u{1f}\u{0}\u{8}")), r#"{"taskId":"\"\\\n\u001f\u0000\b"}"#),
        (both(Some(""), Some("")), r#"{"contextId":"","taskId":""}"#),
    ];
    for (data, text) in written {
        assert_eq!(data.to_json(), text);
        assert_eq!(StoredContext::from_json(text), Some(data));
    }
    let read = [
        ("", None),
        (" ", None),
        ("{", None),
        ("[]", None),
        ("null", None),
        ("42", None),
        ("\"x\"", None),
        ("{} x", None),
        ("{'contextId': 1}", None),
        ("\n{\t}\r\n", Some(both(None, None))),
        (r#"{"contextId": null, "taskId": 5}"#, Some(both(None, None))),
        (r#"{"contextId": ["x"], "taskId": "t"}"#, Some(both(None, Some("t")))),
        (
            r#"{"v": 1e999, "taskId": "t", "contextId": "c", "x": {"contextId": 1}}"#,
            Some(both(Some("c"), Some("t"))),
        ),
        (r#"{"contextId": "a", "contextId": "b"}"#, Some(both(Some("b"), None))),
        (r#"{"context_id": "a", "ContextId": "b"}"#, Some(both(None, None))),
    ];
    for (text, expected) in read {
        assert_eq!(StoredContext::from_json(text), expected, "{text}");
    }
}
