//! Where durations come from.

use perfdb_store::columns::{COMMUNICATION, COMMUNICATION_DURATION, MEASURED_DURATION, OLD_MEASURED_DURATION};

/// Where a duration comes from. Durations of one source are compared with each other, and stay together with their counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The minimum over replays of the kernel alone, or a bench of collectives.
    Measured,
    /// The mean in a profile.
    Profiled,
}

impl Source {
    /// All of them, the one that counts first in front.
    pub const ALL: [Source; 2] = [Source::Measured, Source::Profiled];

    /// The columns that may hold a measured duration: the first that a table has does.
    pub(crate) const MEASURED_COLUMNS: [&str; 3] = [MEASURED_DURATION, OLD_MEASURED_DURATION, COMMUNICATION_DURATION];

    pub fn name(self) -> &'static str {
        match self {
            Source::Measured => "measured",
            Source::Profiled => "profiled",
        }
    }

    /// Whether a column may hold a measured duration.
    pub(crate) fn is_measured_duration(name: &str) -> bool {
        Source::MEASURED_COLUMNS.contains(&name)
    }

    /// Where a column of durations or of their counters comes from.
    pub(crate) fn of_column(name: &str) -> Option<Source> {
        let is_measured = Source::MEASURED_COLUMNS.contains(&name) || name == COMMUNICATION[5];
        match name {
            _ if is_measured || name.starts_with("MicroBench ") => Some(Source::Measured),
            _ if name.starts_with("Profiling ") => Some(Source::Profiled),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_with_their_duration() {
        assert_eq!(Source::of_column("MicroBench aiv_time(us)"), Some(Source::Measured));
        assert_eq!(Source::of_column("Profiling Average aiv_time(us)"), Some(Source::Profiled));
        assert_eq!(Source::of_column("bandwidth_gbps"), Some(Source::Measured));
        assert_eq!(Source::of_column("OP State"), None);
    }
}
