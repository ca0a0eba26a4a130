//! The decision log: every decision as one JSON line, each chained to the one before it.
//!
//! In: what was decided, entry by entry. Out: files of lines that people read with `jq`, and that nobody changes unnoticed:
//! a line holds the digest of the line before it and its own, so that a line which is changed, dropped, inserted or moved
//! breaks the chain at its place. Whoever keeps the last digest elsewhere also knows that nothing was cut off the end.
//! Content of a task (arguments, messages) is in it only if the host puts it there.
//!
//! | file | what it is |
//! |---|---|
//! | `entry`, `notice` | what one line says: of a decision, of something else that was done |
//! | `chain` | a line and its digests, written and read |
//! | `folder` | the files of a log, in their order |
//! | `current` | the file that grows: its end, and what a crash left behind it |
//! | `writer` | appending: rotation, recovery after a crash, a full disk |
//! | `removal` | the oldest files, removed by their age |
//! | `flush` | one sync of the disk for all who wait |
//! | `read`, `verify` | reading all of it again |
//! | `recording` | a log with content as steps to be judged anew |

mod broken;
mod chain;
mod current;
mod enforced;
mod entry;
mod error;
mod exceptions;
mod flush;
mod folder;
mod messages;
mod notice;
mod observed;
mod read;
mod recording;
mod removal;
mod terms;
mod verify;
mod writer;

pub use broken::{Broken, VerifyError};
pub use celador::digest::Digest;
pub use chain::Flaw;
pub use entry::{LogEntry, Stored};
pub use error::LogError;
pub use notice::Notice;
pub use read::{Read, Recorded, read, read_as, read_back};
pub use recording::{LoggedDecision, Recording};
pub use removal::Removal;
pub use verify::{Intact, verify};
pub use writer::{DecisionLog, LogSettings, SyncMode};
