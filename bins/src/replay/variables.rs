//! Variables of the environment that a run depends on.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use perfdb_replay::accelerators::Visibility;
use perfdb_replay::backend::Backend;
use perfdb_replay::settings::Repeats;

use super::ranges::integer;
use crate::Failure;

/// The environment's variables about the accelerators of a backend.
pub fn visibility(backend: Backend) -> Visibility {
    Visibility {
        number: variable("PERFDB_VISIBLE_NPUS"),
        limited_to: backend.visible_devices_variable().and_then(variable),
    }
}

/// The value of an environment variable; an empty one counts as unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned())
}

/// The path in an environment variable; an empty one counts as unset.
pub(crate) fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The rank of this process, where a launcher has started it as one of several.
pub(super) fn rank_of_launcher() -> Option<u32> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let is_launched =
        number("WORLD_SIZE").is_some_and(|size| size > 1) || variable("_DFC_AUTO_TORCHRUN").as_deref() == Some("1");
    is_launched.then(|| number("RANK").unwrap_or(0))
}

/// Timed runs per row, from `--repeat-count` and the environment.
pub fn repeat_count(flag: Option<i64>) -> Result<Repeats, Failure> {
    const VARIABLE: &str = "MSMODELING_OP_REPLAY_REPEAT_COUNT";
    if let Some(count) = integer("repeat-count", flag, 1)? {
        return Ok(Repeats { flag: Some(count), variable: None });
    }
    let Some(text) = variable(VARIABLE).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else {
        return Ok(Repeats::default());
    };
    match text.parse::<u32>() {
        Ok(count) if count >= 1 => Ok(Repeats { flag: None, variable: Some(count) }),
        _ => Err(Failure::lines(vec![format!("{VARIABLE}: {text:?} is not an integer of at least 1")])),
    }
}

/// The name of a run: the option, else the time (of `SOURCE_DATE_EPOCH`, where that is set) in UTC.
pub fn run_id(option: Option<&str>) -> String {
    if let Some(id) = option.filter(|id| !id.is_empty()) {
        return id.to_owned();
    }
    let fixed = variable("SOURCE_DATE_EPOCH").and_then(|text| text.trim().parse::<u64>().ok());
    let time = fixed.map_or_else(SystemTime::now, |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    perfdb_files::time::utc_text(time).chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_its_time() {
        assert_eq!(run_id(Some("x")), "x");
        assert_eq!(run_id(None).len(), 14);
    }

    #[test]
    fn a_flag_below_one_is_refused() {
        assert!(repeat_count(Some(0)).is_err() && repeat_count(Some(-3)).is_err());
        assert_eq!(repeat_count(Some(7)).ok(), Some(Repeats { flag: Some(7), variable: None }));
    }
}
