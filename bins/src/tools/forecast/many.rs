//! Each point of a list.

use crate::json_file::JsonFile;
use crate::{Failure, Status, print, print_note};
use perfdb_forecast::serving::{Calibration, points};
use perfdb_report::forecast::{point_line, score};
use std::ffi::OsStr;
use std::path::Path;

pub(super) fn execute(
    list: &Path,
    models: &Path,
    databases: &Path,
    calibration: Calibration,
    output: Option<&OsStr>,
) -> Result<Status, Failure> {
    let mut file = JsonFile::open(output)?;
    let list = points::read(list)?;
    let found = points::Sources::new(models, databases, calibration).forecast(&list);
    if let Some(file) = &mut file {
        for (point, forecast) in list.iter().zip(&found) {
            file.append(&point_line(point, forecast))?;
        }
    }
    print(&score(&list, &found))?;
    if let Some(file) = file {
        perfdb_files::replace::commit(vec![file.stage_appended()?])?;
    }
    let failed = found.iter().filter(|forecast| forecast.is_err()).count();
    if failed == found.len() {
        return Err(Failure::lines(vec![format!(
            "none of {} points could be forecast; -o FILE says why",
            found.len()
        )]));
    }
    if failed > 0 {
        print_note(&format!("{failed} of {} points could not be forecast; -o FILE says why", found.len()));
    }
    Ok(Status::Success)
}
