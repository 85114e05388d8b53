//! Numbers of the command line that must lie in a range. One outside is not a usage error, as a word would be: it ends
//! the run before anything is done.

use std::time::Duration;

use crate::Failure;

/// An integer of at least `least`; `name` is the option without dashes.
pub(super) fn integer(name: &str, value: Option<i64>, least: u32) -> Result<Option<u32>, Failure> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value) {
        Ok(number) if number >= least => Ok(Some(number)),
        _ if value < i64::from(least) => Err(refused(format!("--{name} must be at least {least}"))),
        _ => Err(refused(format!("--{name}: {value} is too large"))),
    }
}

/// A time above 0 seconds.
pub(super) fn time(name: &str, seconds: Option<f64>) -> Result<Option<Duration>, Failure> {
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.map(Some).ok_or_else(|| refused(format!("--{name} must be a time above 0 seconds")))
}

/// The number of a port.
pub(super) fn port(name: &str, value: Option<i64>) -> Result<Option<u16>, Failure> {
    let Some(value) = value else { return Ok(None) };
    let port = u16::try_from(value).ok().filter(|port| *port > 0);
    port.map(Some).ok_or_else(|| refused(format!("--{name}: {value} is no port")))
}

fn refused(reason: String) -> Failure {
    Failure::lines(vec![reason])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_range_are_refused() {
        assert_eq!(integer("threads", Some(1), 1).ok(), Some(Some(1)));
        assert_eq!(integer("threads", None, 1).ok(), Some(None));
        for value in [0, -1, i64::MAX] {
            assert!(integer("threads", Some(value), 1).is_err(), "{value}");
        }
        assert_eq!(time("case-timeout", Some(0.5)).ok(), Some(Some(Duration::from_millis(500))));
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(time("case-timeout", Some(value)).is_err(), "{value}");
        }
        assert_eq!(port("master-port", Some(29500)).ok(), Some(Some(29500)));
        assert!(port("master-port", Some(0)).is_err() && port("master-port", Some(65536)).is_err());
    }
}
