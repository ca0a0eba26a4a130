//! Vectors of the Aletheia store: Redis behind the proxy, Postgres in the table of the agents' own guide, and what runs on
//! Postgres also on the embedded store; Redis and the embedded store also behind a server.

use super::format::{Options, PostgresRow, RedisValue, StoreOperation, StoreStep, Stored, Vector};
use super::proxy::Proxy;
use super::{Failures, wrong};
use crate::agent_contexts::OverHttp;
use crate::servers::{PostgresServer, RedisServer};
use celador_store::conversation::aletheia::{
    ContextStoreError, EmbeddedContextStore, PostgresContextStore, RedisContextStore, RedisOptions,
};
use celador_store::conversation::{ContextStore, StoredContext};
use celador_store::{Database, Location, StoreLimits};
use serde_json::Value;
use std::collections::BTreeMap;

/// A time to live may have run down by so much until it is looked at, in seconds.
const RUN_DOWN: i64 = 10;

/// The servers, started when the first vector needs them.
#[derive(Default)]
pub struct Runner {
    redis: Option<(RedisServer, Proxy)>,
    postgres: Option<String>,
}

impl Runner {
    pub fn redis(&mut self, vector: &Vector, stored: &Stored<BTreeMap<String, RedisValue>>) -> Failures {
        let (server, proxy) = self.redis.get_or_insert_with(|| {
            let server = RedisServer::start();
            let proxy = Proxy::start(server.port());
            (server, proxy)
        });
        let direct = on_redis(vector, stored, server, proxy, false);
        direct.into_iter().chain(on_redis(vector, stored, server, proxy, true)).collect()
    }

    pub fn postgres(&mut self, vector: &Vector, stored: &Stored<Vec<PostgresRow>>) -> Failures {
        let url = self.postgres.get_or_insert_with(|| {
            let url = PostgresServer::shared().database();
            let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
            client
                .batch_execute(
                    "CREATE TABLE context_store (key TEXT PRIMARY KEY, context_id TEXT, task_id TEXT,
                     updated_at TIMESTAMP DEFAULT now())",
                )
                .unwrap();
            url
        });
        let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
        client.batch_execute("DELETE FROM context_store").unwrap();
        for PostgresRow { key, context_id, task_id } in &stored.seed {
            let insert = "INSERT INTO context_store (key, context_id, task_id) VALUES ($1, $2, $3)";
            client.execute(insert, &[key, context_id, task_id]).unwrap();
        }
        let store = PostgresContextStore::open(url).unwrap();
        let mut failures = rows_vector(vector, "postgres", stored, &store, || {
            let rows = client.query("SELECT key, context_id, task_id FROM context_store", &[]).unwrap();
            rows.iter()
                .map(|row| PostgresRow { key: row.get(0), context_id: row.get(1), task_id: row.get(2) })
                .collect()
        });
        failures.extend(embedded(vector, stored, false));
        failures.extend(embedded(vector, stored, true));
        failures
    }
}

/// A vector on Redis, as what opens the store itself has it, or over HTTP.
fn on_redis(
    vector: &Vector,
    stored: &Stored<BTreeMap<String, RedisValue>>,
    server: &RedisServer,
    proxy: &Proxy,
    over_http: bool,
) -> Failures {
    let client = redis::Client::open(server.url()).unwrap();
    let mut direct = client.get_connection().unwrap();
    redis::cmd("FLUSHALL").exec(&mut direct).unwrap();
    for (key, RedisValue { value, ttl }) in &stored.seed {
        let mut seed = redis::cmd("SET");
        seed.arg(key).arg(value);
        if *ttl >= 0 {
            seed.arg("EX").arg(ttl);
        }
        seed.exec(&mut direct).unwrap();
    }
    let mut failures = Failures::new();
    for (number, step) in stored.steps.iter().enumerate() {
        let options = redis_options(step.options.as_ref().unwrap_or(&stored.options));
        let (place, store): (&str, Box<dyn ContextStore>) = if over_http {
            ("redis over HTTP", Box::new(OverHttp::memory(&proxy.url(), options)))
        } else {
            ("redis", Box::new(RedisContextStore::open(&proxy.url(), options).unwrap()))
        };
        proxy.take();
        failures.extend(carry_out(vector, place, number, step, &*store));
        let sent = proxy.take();
        if let Some(expected) = &step.redis
            && !is_sent(expected, &sent)
        {
            let sent: Vec<Vec<_>> = sent
                .iter()
                .map(|command| command.iter().map(|argument| String::from_utf8_lossy(argument)).collect())
                .collect();
            failures.push(wrong(vector, place, number, &format!("{expected:?}"), &format!("{sent:?}")));
        }
    }
    if let Some(last) = &stored.last {
        let found = redis_contents(&mut direct);
        let alike = found.len() == last.len()
            && last.iter().all(|(key, expected)| {
                found.get(key.as_bytes()).is_some_and(|(value, ttl)| {
                    let alive = match expected.ttl {
                        -1 => *ttl == -1,
                        expected => (expected - RUN_DOWN..=expected).contains(ttl),
                    };
                    alive && *value == expected.value.as_bytes()
                })
            });
        if !alike {
            failures.push(format!("{} finally: expected {last:?}, found {found:?}", vector.id));
        }
    }
    failures
}

/// The same on the embedded store, directly or over HTTP.
fn embedded(vector: &Vector, stored: &Stored<Vec<PostgresRow>>, over_http: bool) -> Failures {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let (place, store): (&str, Box<dyn ContextStore>) = if over_http {
        let http = OverHttp::new(database.clone(), "embedded", RedisOptions::default());
        ("embedded over HTTP", Box::new(http))
    } else {
        ("embedded", Box::new(EmbeddedContextStore::new(database.clone())))
    };
    for PostgresRow { key, context_id, task_id } in &stored.seed {
        let data = StoredContext { context_id: context_id.clone(), task_id: task_id.clone() };
        store.set(key, &data).unwrap();
    }
    rows_vector(vector, place, stored, &*store, || {
        let read = "SELECT key, context_id, task_id FROM aletheia_context";
        let rows = database.read(|sql| sql.query(read, &[])).unwrap();
        let text = |row: &celador_store::Row, column| row.optional_text(column).unwrap().map(str::to_owned);
        rows.iter()
            .map(|row| PostgresRow {
                key: text(row, 0).unwrap(),
                context_id: text(row, 1),
                task_id: text(row, 2),
            })
            .collect()
    })
}

fn rows_vector(
    vector: &Vector,
    place: &str,
    stored: &Stored<Vec<PostgresRow>>,
    store: &dyn ContextStore,
    contents: impl FnOnce() -> Vec<PostgresRow>,
) -> Failures {
    let mut failures = Failures::new();
    for (number, step) in stored.steps.iter().enumerate() {
        failures.extend(carry_out(vector, place, number, step, store));
    }
    if let Some(last) = &stored.last {
        let (mut expected, mut found) = (last.clone(), contents());
        expected.sort();
        found.sort();
        if expected != found {
            failures
                .push(format!("{} on {place}, finally: expected {expected:?}, found {found:?}", vector.id));
        }
    }
    failures
}

/// Carries a step out; what is wrong with its answer.
fn carry_out(
    vector: &Vector,
    place: &str,
    number: usize,
    step: &StoreStep,
    store: &dyn ContextStore,
) -> Option<String> {
    let failed = |expected: &dyn ToString, error: ContextStoreError| {
        Some(wrong(vector, place, number, expected, &error))
    };
    match (step.store, &step.data) {
        (StoreOperation::Get, None) => match store.get(&step.key) {
            Err(error) => failed(&"an answer", error),
            Ok(found) => {
                let found = found.map(|found| serde_json::from_str::<Value>(&found.to_json()).unwrap());
                let expected = step.returns.as_ref()?;
                (*expected != found)
                    .then(|| wrong(vector, place, number, &format!("{expected:?}"), &format!("{found:?}")))
            }
        },
        (StoreOperation::Set, Some(data)) => match StoredContext::from_json(&data.to_string()) {
            Some(data) => store.set(&step.key, &data).err().and_then(|error| failed(&"a set", error)),
            None => Some(wrong(vector, place, number, &"an object", data)),
        },
        (StoreOperation::Delete, None) => {
            store.delete(&step.key).err().and_then(|error| failed(&"a delete", error))
        }
        _ => Some(wrong(vector, place, number, &"data with set alone", &format!("{:?}", step.store))),
    }
}

fn redis_options(options: &Options) -> RedisOptions {
    let default = RedisOptions::default();
    RedisOptions {
        prefix: options.prefix.clone().unwrap_or(default.prefix),
        ttl_seconds: options.ttl_seconds.unwrap_or(default.ttl_seconds),
    }
}

/// Whether these commands went out: their names in any case, all else byte for byte.
fn is_sent(expected: &[Vec<String>], sent: &[Vec<Vec<u8>>]) -> bool {
    expected.len() == sent.len()
        && expected.iter().zip(sent).all(|(expected, sent)| {
            expected.len() == sent.len()
                && expected.iter().zip(sent).enumerate().all(|(place, (expected, sent))| match place {
                    0 => expected.as_bytes().eq_ignore_ascii_case(sent),
                    _ => expected.as_bytes() == sent,
                })
        })
}

/// Every key with its value and its time to live.
fn redis_contents(direct: &mut redis::Connection) -> BTreeMap<Vec<u8>, (Vec<u8>, i64)> {
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(direct).unwrap();
    keys.into_iter()
        .map(|key| {
            let value = redis::cmd("GET").arg(&key).query(direct).unwrap();
            let ttl = redis::cmd("TTL").arg(&key).query(direct).unwrap();
            (key, (value, ttl))
        })
        .collect()
}
