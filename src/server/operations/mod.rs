//! What the routes do: one function for each operation, from a request that was let in to its answer.

pub(crate) mod agent_context_routes;
pub(crate) mod brought_tools;
pub(crate) mod counter_routes;
pub(crate) mod ending;
pub(crate) mod evaluate;
pub(crate) mod explain;
pub(crate) mod pending;
pub(crate) mod switch_routes;
pub(crate) mod switches;
pub(crate) mod task_lists;
pub(crate) mod task_policies;
pub(crate) mod task_steps;
pub(crate) mod unjudged_routes;
pub(crate) mod user_claims;
