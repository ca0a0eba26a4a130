//! Which function of an agent is meant: a position, as the agent was linked.

/// A function of an agent: positions in [`ResolvedAgent::capabilities`](super::catalog::ResolvedAgent::capabilities) and [`CapabilityEntry::functions`](super::catalog::CapabilityEntry::functions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionRef {
    /// The capability.
    pub capability: usize,
    /// The function in it.
    pub function: usize,
}
