//! Which warnings keep manifests from being used, and what an author may allow.
//!
//! A warning leaves a manifest valid: the specification says so of a `match` that names no action, of an unknown key, of a
//! field that no value has. But a rule that hangs on such a name never runs, and nobody sees it. So each warning has a
//! [`Class`], in one [table](WARNINGS): what may lose a rule is refused where manifests are opened to be used (`serve`,
//! `run`, `test`, [`Engine::open`](crate::Engine::open)); what is advice is only told. An author who means it writes a
//! comment at the place, with a reason: `# celador: allow(unknown_match) the action comes with the next release`.
//!
//! In: findings and the comments of their files. Out: the same findings, each with its
//! [`Standing`](crate::diagnostic::Standing), and errors about comments that allow nothing.

mod allow;
mod messages;
mod table;

#[cfg(not(feature = "analysis"))]
pub(crate) use messages::not_analysed;

pub use allow::{Allowances, Comment, Comments};
pub use table::{Class, Found, WARNINGS, Warning, class, warning};
