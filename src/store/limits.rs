//! The bounds of stores, one row each.

use celador::cel::bounds;
use celador::limits::EngineLimits;

bounds! {
    /// The bounds of a store. Start from [`StoreLimits::default`] and change what must differ.
    StoreLimits over
    /// Those of the engine: tasks that wait are ended under the manifests that the store keeps.
    engine: EngineLimits;
    /// Connections of one store, those that read and those that write. A store in a file has one more, which writes; with 1 it reads and writes over a single one.
    max_connections: usize = 8, "connections";
    /// How long a request to a store waits for a connection.
    max_connection_wait: u64 = 30, "seconds";
    /// The file of a store that is checked whole when it is opened; a larger one is only when somebody asks for it.
    max_checked_file_bytes: u64 = 268_435_456, "bytes";
    /// Events of a stored task after its last snapshot: what opening it replays.
    max_events_to_replay: u64 = 256, "events";
    /// Writes that wait for one commit of a store.
    max_commit_batch: usize = 256, "writes";
    /// How long a step waits for its turn at a counter that another step of the same process has read; then it goes on, and may have to be decided anew.
    max_counter_wait_ms: u64 = 5_000, "milliseconds";
    /// Manifests that a store keeps for the tasks under them, those that are served together; a task under more of them cannot go on under them after a restart.
    max_kept_manifests_bytes: usize = 16_777_216, "bytes";
    /// One page of a list that is read from a store.
    max_page: usize = 1_000, "rows";
    /// The texts of one page: of a task's events, or of its context over HTTP. One entry stands in it at least.
    max_page_bytes: usize = 8_388_608, "bytes";
}
