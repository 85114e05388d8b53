//! What a measuring run measures: all that is asked for, less what cannot run or needs no times.

use std::path::Path;

use crate::backend::Backend;
use crate::microbench::error::Error;
use perfdb_store::directory::Home;
use perfdb_store::duration::is_complete;
use perfdb_store::kernel::DISPATCH_FFN_COMBINE;
use perfdb_store::table::{ReadOptions, Table};
use perfdb_store::update::{Mode, target_tables};

use crate::microbench::eligibility::{
    all_but_dispatch, check_custom_operators, check_home, rows_without_duration, too_few_accelerators,
};

/// What decides which operators a run measures.
pub(crate) struct SelectionOptions<'a> {
    /// The database directory.
    pub(crate) database: &'a Path,
    /// Operators that the user selected; `None` means all.
    pub(crate) selected: Option<&'a [String]>,
    /// Which rows may change.
    pub(crate) mode: Mode,
    /// Who measures.
    pub(crate) backend: Backend,
    /// Accelerators that are visible.
    pub(crate) accelerators: usize,
    /// Ranks of DispatchFFNCombine.
    pub(crate) ep_size: i64,
    /// Its processes on each node, if given.
    pub(crate) per_node: Option<i64>,
    /// Where the times of the database come from; `None` takes them from anywhere.
    pub(crate) home: Option<Home>,
    /// Whether an environment variable has content.
    pub(crate) has_variable: &'a dyn Fn(&str) -> bool,
}

/// What a run measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Nothing: every row has a duration.
    Complete,
    /// Nothing: what was selected cannot run on these accelerators.
    TooFewAccelerators,
    /// These operators; `None` means all.
    Operators(Option<Vec<String>>),
}

/// Decides what a run measures; `line` hears what it does not, and why.
pub(crate) fn select(options: &SelectionOptions<'_>, line: &dyn Fn(&str)) -> Result<Selection, Error> {
    let missing_only = options.mode == Mode::MissingOnly;
    if missing_only && is_database_complete(options, line)? {
        return Ok(Selection::Complete);
    }
    let mut operators = options.selected.map(<[String]>::to_vec);
    if options.backend == Backend::Npu {
        if missing_only && leaves_out_dispatch(options, line)? {
            if options.selected.is_some() {
                return Ok(Selection::TooFewAccelerators);
            }
            line("[SKIP] Continuing full run without DispatchFFNCombine.");
            operators = Some(all_but_dispatch());
        }
        // First what is missing altogether, then what it would need.
        if options.accelerators == 0 {
            return Err(Error::NoAccelerator);
        }
        check_custom_operators(operators.as_deref(), options.has_variable)?;
    }
    if let Some(home) = options.home {
        check_home(options.backend, home)?;
    }
    Ok(Selection::Operators(operators))
}

/// Whether no row lacks a duration.
fn is_database_complete(options: &SelectionOptions<'_>, line: &dyn Fn(&str)) -> Result<bool, Error> {
    let tables = target_tables(options.database, options.selected)?;
    for path in &tables {
        if !is_complete(&Table::read(path, &ReadOptions::database())?) {
            return Ok(false);
        }
    }
    for path in &tables {
        line(&format!("[SKIP] {} already has usable durations.", path.display()));
    }
    if !tables.is_empty() {
        line("[SUMMARY] All target CSV files already have usable replay durations.");
    }
    Ok(!tables.is_empty())
}

/// Whether DispatchFFNCombine needs more accelerators than are visible; prints a line if so.
fn leaves_out_dispatch(options: &SelectionOptions<'_>, line: &dyn Fn(&str)) -> Result<bool, Error> {
    let SelectionOptions { ep_size, per_node, accelerators, selected, .. } = *options;
    let Some(few) = too_few_accelerators(ep_size, per_node, accelerators, selected) else {
        return Ok(false);
    };
    let tables = target_tables(options.database, Some(&[DISPATCH_FFN_COMBINE.to_owned()]))?;
    let rows = rows_without_duration(&tables)?;
    line(&format!(
        "[SKIP] DispatchFFNCombine requires ep-size {} local rank(s), but only {} visible NPU device(s) are available.",
        few.needed, few.visible
    ));
    line(&format!(
        "[SUMMARY] DispatchFFNCombine: skipped {rows} row(s) because ep-size exceeds visible NPU count in missing-only mode."
    ));
    Ok(true)
}
