//! Rows that the rows around them contradict.

use super::sliced;
use crate::error::Error;
use crate::state::State;
use perfdb_files::parallel::on_all_cores;
use perfdb_model::predict::Model;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// A row whose duration lies more than eight standard deviations from what the rows around it say.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// The table.
    pub path: Arc<Path>,
    /// The line on which the row starts; of repeats that of the first.
    pub line: u32,
    /// Its duration; of repeats the median.
    pub measured_us: f64,
    /// What the rows around it say.
    pub predicted_us: f64,
    /// How many standard deviations of its own prediction lie between.
    pub sigmas: f64,
}

/// The outliers of all tables of a database, by table and line: they are kept, and answer as any row. Tables that cannot be read have none.
///
/// Every slice is learnt from as [`ReaderSemantics::Best`](crate::ReaderSemantics::Best) does, on all cores.
///
/// # Errors
/// When the directory or its operator mapping cannot be read.
pub fn outliers(directory: impl AsRef<Path>) -> Result<Vec<Outlier>, Error> {
    let state = State::open(directory.as_ref(), None)?;
    let names: Vec<&Arc<str>> = state.kernel_types().collect();
    let found: Vec<Vec<Outlier>> = on_all_cores(|| names.par_iter().map(|name| of_table(&state, name)).collect());
    Ok(found.into_iter().flatten().collect())
}

fn of_table(state: &State, kernel_type: &str) -> Vec<Outlier> {
    let Ok(Some(table)) = sliced(state, kernel_type) else { return Vec::new() };
    let mut found: Vec<Outlier> = Vec::new();
    for slices in table.slices {
        found.extend(slices.table().models().flat_map(Model::outliers).map(|outlier| Outlier {
            path: table.path.clone(),
            line: outlier.row,
            measured_us: outlier.measured_us,
            predicted_us: outlier.predicted_us,
            sigmas: outlier.sigmas,
        }));
    }
    found.sort_by_key(|outlier| outlier.line);
    found
}
