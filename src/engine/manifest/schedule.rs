//! The schedule manifest (SCH): tasks by the clock.
//!
//! In: the mapping of one document. Out: a [`Schedule`] that knows its next runs. Time alone decides: a run makes a task
//! whether or not an earlier one still runs (SCH-08). Making the tasks is the host's affair.

use super::cadence::Cadence;
use super::kind::{DocumentKind, Family, KindOf};
use super::launch::{Launch, LaunchKeys, Launches};
use super::reader::{Path, Reader};
use super::shape::{Name, Part, Required, Text, mapping};
use super::yaml::YamlDocument;
use crate::cel::Timestamp;
use crate::source::Embedded;

/// A schedule manifest.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Which tasks it makes.
    pub launch: Launch,
    /// The cron line (SCH-01).
    pub cron: Embedded,
    /// The zone whose clocks it goes by (SCH-02); UTC if absent.
    pub timezone: Option<Embedded>,
    /// The two of them, unless one is wrong.
    cadence: Option<Cadence>,
}

mapping! {
    /// Tasks by the clock.
    pub(super) ScheduleKeys as "schedule" = "a schedule" {
        /// Version and type of the manifest.
        _kind = "kind": Required<KindOf<{ Family::Schedule as usize }>>,
        launch: Part<LaunchKeys>,
        /// When tasks are made: the five fields of a cron line.
        cron: Required<Name>,
        /// The zone whose clocks count, by its IANA name; UTC without it.
        timezone: Text,
    }
}

impl Schedule {
    /// The next `count` runs after a point in time, in order; none if it is not enabled (SCH-07). Each costs about as
    /// many steps as there are days to the next.
    #[must_use]
    pub fn next_runs(&self, after: Timestamp, count: usize) -> Vec<Timestamp> {
        let cadence = self.cadence.as_ref().filter(|_| self.launch.enabled);
        let next = |after| cadence.and_then(|cadence| cadence.next(after));
        std::iter::successors(next(after), |run| next(*run)).take(count).collect()
    }

    /// Whether the clocks and the line of both have their runs at the same times.
    pub(crate) fn keeps_time_of(&self, other: &Self) -> bool {
        self.cadence == other.cadence
    }

    /// The input that each task begins with; what it lacks, the agent's defaults supply.
    #[must_use]
    pub fn input(&self) -> serde_json::Value {
        self.launch.input(self.launch.message.as_ref().map(|text| &*text.text))
    }

    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<ScheduleKeys>(&document.node, path)?;
        let mut launch = Launch::read(&fields.launch().part(), kind, reader);
        let cron = fields.cron().text_or_empty("SCH-01", reader);
        let timezone = fields.timezone().text(reader);
        let cadence = Cadence::read(path, &cron, timezone.as_ref(), reader);
        fields.warn_of_others(&["inputs", "timezone", "enabled"], reader);
        launch.settle(document, reader);
        Some(Self { launch, cron, timezone, cadence })
    }
}

impl Launches for Schedule {
    const FAMILY: &'static str = "schedule";
    fn launch(&self) -> &Launch {
        &self.launch
    }
    fn launch_mut(&mut self) -> &mut Launch {
        &mut self.launch
    }
}
