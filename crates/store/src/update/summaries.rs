//! Where a profile has its summaries.

use crate::error::Error;
use perfdb_files::paths::within;
use perfdb_files::walk::walk;
use std::fs;
use std::path::{Path, PathBuf};

/// Every directory `PROF_*` at any depth below a directory, in the order of the paths' components. Links are not followed.
pub fn find_profiles(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    walk(
        directory,
        |_| true,
        |entry| {
            if entry.is_folder && entry.name.starts_with("PROF_") {
                found.push(within(directory, entry.below));
            }
        },
    )?;
    found.sort();
    Ok(found)
}

/// The `mindstudio_profiler_output/op_summary_*.csv`, gzip or not, of each profile directory, in order.
pub fn summaries_of(profiles: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut all = Vec::new();
    for profile in profiles {
        let folder = within(profile, "mindstudio_profiler_output");
        if !folder.is_dir() {
            continue;
        }
        let failed = |source| Error::io(&folder, source);
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("op_summary_") && [".csv", ".csv.gz"].iter().any(|ending| name.ends_with(ending)) {
                found.push(within(&folder, entry.file_name()));
            }
        }
        found.sort();
        all.append(&mut found);
    }
    Ok(all)
}

/// The summaries of a profile: of the directory itself and of the `PROF_*` directories below it. None at all is an error.
pub fn find_summaries(profile: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut profiles = vec![profile.to_owned()];
    profiles.extend(find_profiles(profile)?);
    let summaries = summaries_of(&profiles)?;
    if summaries.is_empty() {
        Err(Error::input(
            profile,
            None,
            "No op_summary_*.csv found; give a PROF_* directory, or one that contains some",
        ))
    } else {
        Ok(summaries)
    }
}
