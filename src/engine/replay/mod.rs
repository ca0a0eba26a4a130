//! Recorded tasks judged anew under other policies: what would be decided otherwise?
//!
//! In: steps of tasks as they were recorded, with what was decided then or with the policies to compare with. Out: a [`Tally`] of the differences, by step and
//! function. Each step is judged on the history that was recorded, not on one that the new policies would have made of it. Nothing here reads a file or a
//! clock, so a recording can be divided by its tasks, judged in many places, and the tallies put together.
//!
//! | module | what it holds |
//! |---|---|
//! | `recorded`, `error` | one recorded step, and a line of JSON to it |
//! | `side` | one task under one set of policies, held to what was recorded |
//! | `tally` | the differences, counted |
//! | `replayer` | many tasks, step by step |

mod error;
mod recorded;
mod replayer;
mod side;
mod tally;

pub use error::RecordError;
pub use recorded::{Recorded, RecordedStep, Was};
pub use replayer::Replayer;
pub use tally::{FlipKind, FlipRow, NotJudged, Tally};
