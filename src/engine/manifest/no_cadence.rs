//! Schedules in a library that was built without the feature `schedules`: each is refused, so that none is silently missed.

use super::reader::{Path, Reader};
use crate::cel::Timestamp;
use crate::diagnostic::Diagnostic;
use crate::source::Embedded;

/// A cadence that nobody can make.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cadence {}

impl Cadence {
    /// Tells `reader` that the schedule cannot be read here.
    pub(super) fn read(
        path: &Path,
        cron: &Embedded,
        _: Option<&Embedded>,
        reader: &mut Reader,
    ) -> Option<Self> {
        let message =
            "schedules are not supported here: the library was built without the feature `schedules`";
        let finding = Diagnostic::error("no_schedules", message, cron.place.clone()).rule("SCH-01");
        reader.report(&path.key("cron"), finding);
        None
    }

    /// There is no next run.
    pub(super) fn next(&self, _: Timestamp) -> Option<Timestamp> {
        match *self {}
    }
}
