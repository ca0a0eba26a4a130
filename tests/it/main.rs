//! The one integration binary; a file a subject, data in `tests/data`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unreachable,
    reason = "a test that cannot go on should stop at once"
)]

#[cfg(feature = "server")]
mod agent_contexts;
mod agent_loop;
mod analysis;
mod analysis_z3;
mod architecture;
mod attacks;
mod before_first;
mod bindings;
mod bounds;
mod bounds_growth;
mod bounds_source;
mod brought_tools;
#[cfg(feature = "server")]
mod browser;
mod cache;
mod call_claims;
mod call_ids;
mod calls;
mod cases;
mod cel_interpreter;
mod check_rows;
mod check_syntax;
mod check_types;
mod claims;
#[cfg(feature = "server")]
mod claims_over_http;
mod cli;
mod codes;
mod conformance;
mod context;
mod context_expression;
mod context_scope;
#[cfg(feature = "store")]
mod conversation;
#[cfg(feature = "store")]
mod conversation_laws;
#[cfg(feature = "store")]
mod conversation_lists;
#[cfg(feature = "store")]
mod conversation_servers;
#[cfg(feature = "server")]
mod counter_operators;
mod counter_servers;
mod counters;
mod counting;
mod decision_log;
mod delegation_bound;
mod detect;
mod diff;
mod differential;
mod documents;
mod doors;
mod ends;
#[cfg(feature = "server")]
mod ends_over_http;
mod event;
mod evidence;
mod exceptions;
#[cfg(feature = "server")]
mod explain_over_http;
mod explain_stored;
mod fingerprints;
mod folds;
mod formatting;
mod forms;
mod from_cel_interpreter;
mod functions;
mod fuzz_bodies;
mod globs;
mod grammar;
mod growth;
mod guards;
#[cfg(feature = "server")]
mod guide;
mod hooks;
mod host_bounds;
mod host_functions;
mod imports;
mod key_order;
mod labels;
#[cfg(feature = "server")]
mod labels_over_http;
mod launches;
mod laws;
mod laws_expressions;
mod laws_records;
mod laws_values;
#[cfg(feature = "server")]
mod life;
#[cfg(feature = "server")]
mod live_tasks;
mod live_tasks_decisions;
mod live_tasks_kept;
#[cfg(feature = "server")]
mod log_promises;
#[cfg(feature = "server")]
mod log_store;
mod lost_work;
mod manifest;
mod manifest_files;
mod manifest_links;
mod manifest_scalars;
#[cfg(feature = "server")]
mod masking;
mod masking_schemas;
mod model_calls;
#[cfg(feature = "server")]
mod model_calls_over_http;
mod model_counters;
mod mutants;
mod named_expressions;
mod observing;
#[cfg(feature = "server")]
mod open_schemas;
mod openapi;
mod pages;
#[cfg(feature = "server")]
mod panels_over_http;
mod parallel_calls;
#[cfg(feature = "server")]
mod pending;
mod policies;
mod policy;
mod policy_counters;
mod policy_effects;
mod policy_library;
mod policy_messages;
mod programs;
mod prove;
mod prove_tasks;
mod prove_z3;
#[cfg(feature = "gateway")]
mod proxy_exchanges;
mod pseudonyms;
mod public_door;
mod public_examples;
mod re2;
#[cfg(feature = "server")]
mod readiness;
mod readme;
mod reads;
mod redaction;
mod remembered;
mod repl;
#[cfg(feature = "server")]
mod replay;
mod requirements;
#[cfg(feature = "server")]
mod retain;
mod retention;
#[cfg(feature = "store")]
mod retention_rules;
#[cfg(feature = "server")]
mod review_command;
#[cfg(feature = "server")]
mod review_fixture;
#[cfg(feature = "server")]
mod review_page;
#[cfg(feature = "server")]
mod review_page_shown;
mod review_page_states;
#[cfg(feature = "server")]
mod review_webhook;
mod reviews;
mod rules;
mod rules_people_write;
mod scenario_read;
mod schema_bounds;
mod schema_payloads;
mod schema_results;
mod schema_suite;
mod schema_values;
mod schemas;
mod secrets;
mod serial_order;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod server_bounds;
#[cfg(feature = "server")]
mod server_connections;
#[cfg(feature = "server")]
mod server_origins;
#[cfg(feature = "server")]
mod server_reviews;
#[cfg(feature = "server")]
mod server_rim;
#[cfg(feature = "server")]
mod server_shares;
#[cfg(feature = "server")]
mod server_size;
#[cfg(feature = "server")]
mod server_tokens;
#[cfg(feature = "store")]
mod servers;
#[cfg(feature = "server")]
mod serving;
mod shell;
mod shop_fixture;
mod side_by_side;
mod spending;
mod starter;
#[cfg(feature = "store")]
mod store_bounds;
#[cfg(feature = "server")]
mod store_commands;
#[cfg(feature = "store")]
mod store_counters;
#[cfg(feature = "store")]
mod store_crash;
#[cfg(feature = "store")]
mod store_damage;
#[cfg(feature = "store")]
mod store_database;
#[cfg(feature = "store")]
mod store_faults;
#[cfg(feature = "store")]
mod store_find;
mod store_fixture;
#[cfg(feature = "store")]
mod store_load;
#[cfg(feature = "store")]
#[cfg(feature = "server")]
mod store_servers;
#[cfg(feature = "store")]
mod store_tasks;
#[cfg(feature = "store")]
mod store_tls;
#[cfg(feature = "server")]
mod stretches;
mod suites;
mod switches;
mod task;
mod task_change;
mod task_fixture;
#[cfg(feature = "server")]
mod task_ids;
mod task_on_fail;
mod task_properties;
mod task_script;
mod task_size;
mod terminal;
mod totals;
#[cfg(feature = "otel")]
mod traces;
#[cfg(feature = "server")]
mod turns;
#[cfg(feature = "server")]
mod unjudged;
mod urls;
#[cfg(feature = "server")]
mod vectors;
mod versions;
mod waiting_inputs;
mod watching;
mod windows;
mod zones;
