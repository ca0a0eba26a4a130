//! `contexts/list` as a database answers it is the list as the rule has it: [`ListQuery::page`] over all that the caller
//! may see, whichever part of it the database did.

use crate::conversation::{counted, opened};
use crate::servers::PostgresServer;
use celador::Timestamp;
use celador_store::conversation::{
    Context, ContextStatus, Conversations, Details, ListQuery, SortBy, SortOrder,
};
use celador_store::{Database, Location, StoreLimits};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

const CALLERS: [Option<&str>; 3] = [None, Some("did:a"), Some("did:b")];

/// Few, so that many are equal; with fractions whose texts are of different lengths; the first and the last that there are.
fn time() -> impl Strategy<Value = Timestamp> {
    let second = prop::sample::select(vec![-62_135_596_800, 1_780_000_000, 1_780_000_001, 253_402_300_799]);
    let nanos = prop::sample::select(vec![0, 5, 50_000_000, 123_456_789, 500_000_000, 999_999_999]);
    (second, nanos).prop_map(|(second, nanos)| Timestamp::from_nanos(second * 1_000_000_000 + nanos).unwrap())
}

fn status() -> impl Strategy<Value = ContextStatus> {
    prop::sample::select(ContextStatus::ALL.to_vec())
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "B", "é", "assistant"]).prop_map(str::to_owned)
}

fn contexts(most: usize) -> impl Strategy<Value = Vec<Context>> {
    let details = (prop::option::of(word()), prop::option::of(word()), prop::collection::vec(word(), 0..3));
    let context = (prop::sample::select(CALLERS.to_vec()), time(), time(), status(), details);
    prop::collection::vec(context, 0..most).prop_map(|contexts| {
        let context = |(number, (owner, created_at, updated_at, status, (role, name, tags)))| {
            let details = Details { role, name, tags: Some(tags), ..Details::default() };
            // not in the order in which they are kept
            let id = format!("{}-{number}", number * 7 % 10);
            Context { updated_at, status, details, ..Context::implicit(&id, owner, created_at) }
        };
        contexts.into_iter().enumerate().map(context).collect()
    })
}

fn query() -> impl Strategy<Value = ListQuery> {
    let filters = (
        prop::option::of(status()),
        prop::option::weighted(0.2, word()),
        prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(word(), 1..3)],
        prop::option::weighted(0.3, time()),
        prop::option::weighted(0.3, time()),
    );
    let order = (
        prop::sample::select(vec![SortBy::CreatedAt, SortBy::UpdatedAt, SortBy::Name]),
        prop::sample::select(vec![SortOrder::Ascending, SortOrder::Descending]),
    );
    let window = (
        prop_oneof![0..9_u128, Just(u128::MAX)],
        prop::option::of(prop_oneof![1..9_u128, Just(u128::MAX - 1)]),
    );
    (filters, order, window).prop_map(|(filters, (sort_by, sort_order), (offset, limit))| {
        let (status, role, tags, created_after, created_before) = filters;
        ListQuery { status, role, tags, created_after, created_before, sort_by, sort_order, offset, limit }
    })
}

/// What each caller is answered, and what the rule says.
fn agree(kept: &Conversations, contexts: &[Context], query: &ListQuery) {
    for caller in CALLERS {
        let seen = contexts.iter().filter(|context| caller.is_none() || context.owner.as_deref() == caller);
        let ruled = query.page(seen.cloned().collect());
        let ruled_ids: Vec<&str> = ruled.items.iter().map(|context| context.id.as_str()).collect();
        let listed = kept.list(caller, query).unwrap();
        let listed_ids: Vec<&str> = listed.items.iter().map(|(context, _)| context.id.as_str()).collect();
        assert_eq!(listed_ids, ruled_ids, "{query:?}");
        assert_eq!(
            (listed.total, listed.page, listed.page_size),
            (ruled.total, ruled.page, ruled.page_size),
            "{query:?}"
        );
    }
}

proptest! {
    #[test]
    fn the_list_of_sqlite_is_the_list(contexts in contexts(12), queries in prop::collection::vec(query(), 1..8)) {
        let (kept, _) = opened();
        kept.import(&contexts, &[]).unwrap();
        for query in &queries {
            agree(&kept, &contexts, query);
        }
    }
}

#[test]
fn the_list_of_postgres_is_the_list() {
    let mut chance = TestRunner::deterministic();
    let contexts = contexts(80).prop_filter("many", |contexts| contexts.len() > 60);
    let contexts = contexts.new_tree(&mut chance).unwrap().current();
    let location = Location::Postgres(PostgresServer::shared().database());
    let kept = Conversations::new(Database::open(&location, &StoreLimits::default()).unwrap(), counted(0));
    kept.import(&contexts, &[]).unwrap();
    for _ in 0..300 {
        agree(&kept, &contexts, &query().new_tree(&mut chance).unwrap().current());
    }
}
