//! Points in time as texts.

use std::cmp::Ordering;
use std::time::{Duration, SystemTime};

/// A point in time in UTC, `2026-01-01T00:00:00Z`.
pub fn utc_text(time: SystemTime) -> String {
    match jiff::Timestamp::try_from(time) {
        Ok(timestamp) => timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => "unknown time".to_owned(),
    }
}

/// A number of seconds from 0 up, fractions allowed.
///
/// ```
/// use perfdb_files::time::seconds;
/// assert_eq!(seconds("2.5"), Some(std::time::Duration::from_millis(2500)));
/// assert_eq!(seconds("-1"), None);
/// ```
pub fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// When a run took place, as it stands in file names and in machine-readable reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTime {
    /// `YYYYMMDD_HHMMSS`, for file names.
    pub stamp: String,
    /// The same point in time in ISO 8601 with its offset.
    pub iso: String,
}

impl RunTime {
    /// Now, in local time; or, for reproducible runs, the given seconds since 1970 (`SOURCE_DATE_EPOCH`) in UTC.
    pub fn new(source_date_epoch: Option<i64>) -> Self {
        match source_date_epoch.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok()) {
            Some(timestamp) => RunTime {
                stamp: timestamp.strftime("%Y%m%d_%H%M%S").to_string(),
                iso: timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            },
            None => {
                let now = jiff::Zoned::now();
                RunTime {
                    stamp: now.strftime("%Y%m%d_%H%M%S").to_string(),
                    iso: now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
                }
            }
        }
    }
}

/// Which of two dates is later, as points in time and not as texts: `2026-01-01T09:00:00+08:00` is before `2026-01-01T02:00:00Z`.
/// A day is neither before nor after a time of that day. A time without an offset is in UTC; texts that are not dates are compared as texts.
///
/// ```
/// use perfdb_files::time::compare_dates;
/// use std::cmp::Ordering;
/// assert_eq!(compare_dates("2026-01-01T09:00:00+08:00", "2026-01-01T02:00:00Z"), Ordering::Less);
/// assert_eq!(compare_dates("2026-02-01", "2026-02-01T08:00:00Z"), Ordering::Equal);
/// assert_eq!(compare_dates("2026-02-01", "2026-01-31T23:00:00Z"), Ordering::Greater);
/// ```
pub fn compare_dates(first: &str, second: &str) -> Ordering {
    let day = |text: &str| text.trim().get(..10).and_then(|day| day.parse::<jiff::civil::Date>().ok());
    let time = |text: &str| {
        let text = text.trim();
        let utc = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
        let has_time = text.len() > 10;
        has_time.then(|| text.parse::<jiff::Timestamp>().ok().or_else(|| Some(utc()?.timestamp()))).flatten()
    };
    match (time(first), time(second)) {
        (Some(first), Some(second)) => first.cmp(&second),
        _ => match (day(first), day(second)) {
            (Some(first), Some(second)) => first.cmp(&second),
            _ => first.cmp(second),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_time_is_told_in_utc() {
        let time = RunTime::new(Some(1_767_225_600));
        assert_eq!((time.stamp.as_str(), time.iso.as_str()), ("20260101_000000", "2026-01-01T00:00:00Z"));
        assert_eq!(utc_text(SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400)), "2000-02-29T00:00:00Z");
    }

    #[test]
    fn seconds_are_finite_and_not_negative() {
        assert_eq!(seconds(" 0 "), Some(Duration::ZERO));
        for text in ["", "nan", "inf", "1e99", "-0.1", "1s"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn local_time_has_the_same_form() {
        let time = RunTime::new(None);
        assert_eq!(time.stamp.len(), 15);
        assert_eq!(time.iso.len(), 25);
    }
}
