//! What tools of a host have that those of the specification lack: patterns of names, and hints of their servers.
//!
//! Data, and what can be read off it. It knows no document.

use crate::source::Embedded;

/// What a document of tools says beyond what a tool of the specification has.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Patterns of the names of tools that a task may bring, such as `mcp__github__*`.
    pub patterns: Vec<Embedded>,
    /// Tags of all of its tools, also of those that tasks bring.
    pub tags: Vec<Embedded>,
    /// Whether the calls of all of its tools together have a record, under the name of the document: it may have several.
    pub has_record: bool,
    /// Patterns of the names of tools that a task brings whose hints are believed.
    pub believed: Vec<Embedded>,
}

/// What the server of a tool says of its calls: hints, in the words of MCP.
///
/// ```
/// use celador::manifest::listing::Annotations;
///
/// let said = Annotations { destructive: Some(false), ..Annotations::default() };
/// assert!(!said.is_destructive());
/// // where nothing is said, the worst is to be expected
/// assert!(Annotations::default().is_destructive());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// `readOnlyHint`: whether it changes nothing.
    pub read_only: Option<bool>,
    /// `destructiveHint`: whether it may destroy something, where it changes things.
    pub destructive: Option<bool>,
    /// `idempotentHint`: whether the same call again changes nothing more.
    pub idempotent: Option<bool>,
    /// `openWorldHint`: whether it reaches beyond what its server holds.
    pub open_world: Option<bool>,
    /// Whether a task has brought them: then the operator has never seen them, and they are not believed.
    pub untrusted: bool,
}

impl Annotations {
    /// Whether a call may destroy something, as far as anybody can be believed.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.untrusted || !(self.read_only == Some(true) || self.destructive == Some(false))
    }
}

/// Whether a name is like a pattern, in which `*` stands for any characters. Linear in the name times the pattern at worst.
///
/// ```
/// use celador::manifest::listing::is_like;
/// assert!(is_like("mcp__github__create_issue", "mcp__github__*"));
/// assert!(is_like("search", "search"));
/// assert!(!is_like("research", "search*"));
/// ```
#[must_use]
pub fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        // the first place that fits leaves the most for what follows
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    true
}
