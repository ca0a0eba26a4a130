//! Every bound of the engine, one row each: name, default, unit, what it protects.
//!
//! A bound is named in its message (`max_depth` 64 exceeded), so the row is where a reader looks first. These are the
//! bounds of the engine and of the server; the limits of a task (`max_turns`, …) belong to its manifest. All are on by
//! default.

macro_rules! limits {
    (#[doc = $about:literal] $limits:ident
     $($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $default:literal, $unit:literal;)+) => {
        #[doc = $about]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $limits {
            $($(#[doc = $doc])+ #[doc = concat!("\n\nDefault ", stringify!($default), " ", $unit, ".")] pub $name: $kind,)+
        }

        impl Default for $limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl $limits {
            /// The rows: name, default, unit, and what the bound protects.
            pub const ROWS: &'static [LimitRow] = &[
                $(LimitRow {
                    name: stringify!($name),
                    default: $default as u64,
                    unit: $unit,
                    protects: concat!($($doc),+),
                },)+
            ];

            /// Changes a bound by its name. False if there is none of this name, or it cannot have this value.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => match value.try_into() {
                        Ok(value) => {
                            self.$name = value;
                            true
                        }
                        // `u64` in `u64` cannot fail, and what is larger than the machine is no bound
                        Err(_) => false,
                    },)+
                    _ => false,
                }
            }

            /// The value of a bound by its name.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => u64::try_from(self.$name).ok(),)+
                    _ => None,
                }
            }
        }
    };
}

impl EvalLimits {
    /// The bounds of what a model writes itself: these, with a fraction of the length, the work and the growth. Each of its
    /// calls has the script evaluated anew, so that the work of all is bounded by `max_questions` times `max_cost`.
    #[must_use]
    pub fn of_scripts(self) -> Self {
        Self {
            max_source_bytes: self.max_source_bytes.min(16_384),
            max_cost: self.max_cost.min(100_000),
            max_built_bytes: self.max_built_bytes.min(1_048_576),
            ..self
        }
    }
}

/// One bound as documentation shows it.
#[derive(Clone, Copy, Debug)]
pub struct LimitRow {
    /// The field's name.
    pub name: &'static str,
    /// The default.
    pub default: u64,
    /// What is counted.
    pub unit: &'static str,
    /// What the bound protects.
    pub protects: &'static str,
}

limits! {
    /// The engine's bounds. Start from [`EvalLimits::default`] and change what must differ.
    EvalLimits
    /// Length of one expression or template, before anything reads it.
    max_source_bytes: usize = 32_768, "bytes";
    /// Words and signs in one expression: what the parser works on.
    max_tokens: usize = 4_096, "tokens";
    /// Nesting of one expression, operators of a chain included: what every walk over it recurses on.
    max_depth: usize = 96, "levels";
    /// Steps of one compiled expression.
    max_plan_nodes: usize = 8_192, "nodes";
    /// Work of one evaluation; a step costs one or more, a loop its elements, text its length.
    max_cost: u64 = 1_000_000, "cost units";
    /// What one evaluation may build: strings, lists and maps.
    max_built_bytes: u64 = 16_777_216, "bytes";
    /// Loops over the history of one task of which it is kept what they came to.
    max_folds: usize = 64, "loops";
    /// Names of deliveries of signed webhooks that one task keeps, to know those that come again; the oldest make room.
    max_deliveries: usize = 1_024, "names";
    /// Questions of one expression to its host: reviews, files.
    max_questions: usize = 256, "questions";
    /// Size of one compiled regular expression.
    max_regex_bytes: usize = 262_144, "bytes";
    /// The compiled regular expressions of one expression together.
    max_patterns_bytes: usize = 4_194_304, "bytes";
    /// Nesting of a value that comes in as JSON.
    max_json_depth: usize = 100, "levels";
    /// One JSON value that comes in: arguments, a result, a message.
    max_json_bytes: usize = 33_554_432, "bytes";
    /// One manifest file.
    max_manifest_bytes: usize = 2_097_152, "bytes";
    /// A bundle that somebody hands over.
    max_uploaded_bundle_bytes: usize = 2_097_152, "bytes";
    /// A bundle that is fetched from an address.
    max_fetched_bundle_bytes: usize = 10_485_760, "bytes";
    /// Documents of one bundle that are not empty.
    max_bundle_documents: usize = 200, "documents";
    /// One document of a bundle.
    max_document_bytes: usize = 524_288, "bytes";
    /// Nesting of a YAML document.
    max_yaml_depth: usize = 64, "levels";
    /// Nodes of a YAML file once its aliases are written out.
    max_yaml_nodes: usize = 100_000, "nodes";
    /// Schemas that one value is held to, references written out, and definitions that one schema refers to.
    max_schema_nodes: usize = 2_048, "schemas";
    /// How deep the schemas that one value is held to stand in one another.
    max_schema_depth: usize = 16, "levels";
    /// What the schemas of one document weigh together, references written out and patterns compiled.
    max_schema_bytes: usize = 33_554_432, "bytes";
    /// What the compiled-expression cache may hold.
    max_cache_bytes: u64 = 33_554_432, "bytes";
    /// Diagnostics reported for one file; the rest are counted.
    max_diagnostics: usize = 100, "diagnostics";
    /// What a task keeps in memory: messages, arguments, results, and what an operation holds that waits. A step that would
    /// exceed it ends the task.
    max_task_bytes: u64 = 268_435_456, "bytes";
    /// One result that a task keeps whole; of a larger one it keeps the digest.
    max_kept_value_bytes: usize = 16_777_216, "bytes";
    /// Connections of one store, those that read and those that write.
    max_connections: usize = 8, "connections";
    /// How long a request to a store waits for a connection.
    max_connection_wait: u64 = 30, "seconds";
    /// The file of a store that is checked whole when it is opened; a larger one is only when somebody asks for it.
    max_checked_file_bytes: u64 = 268_435_456, "bytes";
    /// Events of a stored task after its last snapshot: what opening it replays.
    max_events_to_replay: u64 = 256, "events";
    /// Writes that wait for one commit of a store.
    max_commit_batch: usize = 256, "writes";
    /// Manifests that a store keeps for the tasks under them, those that are served together; a task under more of them cannot go on under them after a restart.
    max_kept_manifests_bytes: usize = 16_777_216, "bytes";
    /// One page of a list that is read from a store.
    max_page: usize = 1_000, "rows";
    /// The texts of one page: of a task's events, or of its context over HTTP. One entry stands in it at least.
    max_page_bytes: usize = 8_388_608, "bytes";
    /// Why somebody ended or purged a task or turned a switch, in their own words.
    max_reason_bytes: usize = 1_000, "bytes";
}

#[cfg(feature = "server")]
limits! {
    /// The server's bounds. Start from [`ServerLimits::default`] and change what must differ.
    ServerLimits
    /// The body of one request.
    max_body_bytes: usize = 8_388_608, "bytes";
    /// The header of one request, as HTTP/1.1 writes it.
    max_header_bytes: usize = 65_536, "bytes";
    /// Connections at a time; for one more, the one that can spare its place best is ended.
    max_client_connections: usize = 1_024, "connections";
    /// Requests at a time that the engine and the store work for; what is beyond waits for its turn.
    max_requests_in_flight: usize = 256, "requests";
    /// Requests of one caller among these while others ask too.
    max_caller_requests: usize = 8, "requests";
    /// Requests that wait for their turn; for one more, the last of the caller with most of them is sent away.
    max_requests_waiting: usize = 1_024, "requests";
    /// How long a request waits for its turn.
    max_wait_ms: u64 = 1_000, "milliseconds";
    /// Expressions and templates at a time that are tried out, contexts that are read, and requests of more than 65,536 bytes; of one caller at most half, a quarter while others ask too.
    max_evaluations: usize = 4, "requests";
    /// Bodies of requests at a time, from their first byte to the answer; of one caller at most half, a quarter while others ask too.
    max_bodies_bytes: usize = 67_108_864, "bytes";
    /// Time from a request's header to its answer.
    max_request_ms: u64 = 30_000, "milliseconds";
    /// Time to send a request's whole header: the first from when the connection is accepted, TLS included; the next from the end of the answer before.
    max_header_ms: u64 = 10_000, "milliseconds";
    /// Time that a client takes to read one answer.
    max_answer_ms: u64 = 30_000, "milliseconds";
    /// Time that a server takes to finish what was begun when it is stopped.
    max_shutdown_ms: u64 = 20_000, "milliseconds";
    /// Tasks kept in memory; those that were not used lately are opened from the store again.
    max_live_tasks: usize = 10_000, "tasks";
    /// Sets of manifests of before that are compiled for the tasks under them; those that were not used lately are compiled again.
    max_former_manifests: usize = 16, "sets";
    /// Decisions of one step that are taken anew because another process was first.
    max_conflicts: usize = 8, "tries";
    /// Entries of one page of a list.
    max_page_entries: usize = 100, "entries";
    /// An `Idempotency-Key`.
    max_idempotency_key_bytes: usize = 255, "bytes";
    /// The names of a switch together: whoever turns it off writes them into an address.
    max_switch_bytes: usize = 4_096, "bytes";
}
