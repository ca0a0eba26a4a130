//! The bounds of the server, one row each.

use celador::cel::bounds;
use celador_store::StoreLimits;

bounds! {
    /// The server's bounds. Start from [`ServerLimits::default`] and change what must differ.
    ServerLimits over
    /// Those of the store.
    store: StoreLimits;
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
    /// How long a request waits at its own wish (`wait_ms`) until what is pending is decided; it holds no place among these meanwhile.
    max_pending_ms: u64 = 30_000, "milliseconds";
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
    /// Streams of reviews at a time.
    max_review_streams: usize = 256, "streams";
    /// Streams of reviews of one caller at a time.
    max_caller_review_streams: usize = 16, "streams";
    /// The names of a switch together: whoever turns it off writes them into an address.
    max_switch_bytes: usize = 4_096, "bytes";
}
