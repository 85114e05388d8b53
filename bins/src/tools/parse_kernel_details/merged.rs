//! `--merge`: the rows of a profile into tables that are there, as merge-databases brings databases together.

use super::TOOL;
use crate::json_file::{JsonFile, Versioned};
use crate::run_record::run_of;
use crate::terminal::TerminalArguments;
use crate::{Failure, Status, print_escaped, print_note};
use perfdb_audit::versions::merge::{self, Decisions, Prefer};
use perfdb_files::folders::{MadeFolders, private};
use perfdb_report::versions::merge_text;
use perfdb_store::kernel_details::{self, Options, Summary};
use std::path::Path;

/// Merges the tables of a profile into the database of `options`. Existing answers stay.
pub(super) fn merge(options: &Options<'_>, json: Option<JsonFile>) -> Result<Status, Failure> {
    let into = options.database;
    let folder = private("perfdb-profile-").map_err(|error| perfdb_files::Error::io(std::env::temp_dir(), error))?;
    let own = Options { profile: options.profile, database: folder.path(), dry_run: false, ..*options };
    let mut summary = kernel_details::parse(&own).map_err(super::with_options)?;
    name_tables(&mut summary, folder.path(), into, options.dry_run);
    super::warn_of(&summary);
    let made = if options.dry_run { MadeFolders::default() } else { make(into)? };
    let merge_options = merge::Options {
        into: if into.is_dir() { into } else { &folder.path().join("new") },
        from: &[folder.path().to_owned()],
        names: &[options.profile.to_owned()],
        prefer: Prefer::Into,
        decisions: &Decisions::default(),
        dry_run: options.dry_run,
        run: run_of(TOOL.name)?,
        lock: options.lock,
    };
    if !merge_options.into.is_dir() {
        make(merge_options.into)?.keep();
    }
    let mut pending = merge::prepare(&merge_options)?;
    if let Some(json) = json {
        pending.add(json.stage(&Versioned::first(&summary))?);
    }
    pending.notes().iter().for_each(|note| print_note(note));
    let tables = pending.commit()?;
    made.keep();
    let hint = "merge-databases --conflicts FILE has all";
    print_escaped(&merge_text(&tables, options.dry_run, hint, TerminalArguments::default().layout()))?;
    Ok(Status::Success)
}

fn make(folder: &Path) -> Result<MadeFolders, Failure> {
    Ok(MadeFolders::make(folder).map_err(|error| perfdb_files::Error::io(folder, error))?)
}

/// Names the tables as those of the database, into which they go.
fn name_tables(summary: &mut Summary, folder: &Path, into: &Path, dry_run: bool) {
    (summary.output, summary.dry_run) = (into.to_owned(), dry_run);
    for file in &mut summary.files {
        if let Ok(below) = file.path.strip_prefix(folder) {
            file.path = into.join(below);
        }
    }
    for warning in &mut summary.warnings {
        warning.move_table(folder, into);
    }
}
