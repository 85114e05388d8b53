//! How devices are laid out, for tools that look operators up.

use clap::Args;
use perfdb_query::{Grid, ParallelConfig};

/// How the devices of a simulation are laid out.
#[derive(Debug, Clone, Args)]
pub(crate) struct LayoutArguments {
    /// Sequence parallelism is on
    #[arg(long)]
    sequence_parallel: bool,

    /// Device grid from the outermost dimension to the innermost, with --tiers
    #[arg(long, value_name = "N,...", value_delimiter = ',', requires = "tiers")]
    grid: Vec<i64>,

    /// Tiers that have tables
    #[arg(long, value_name = "N,...", value_delimiter = ',', requires = "grid")]
    tiers: Vec<i64>,
}

impl LayoutArguments {
    /// What surrounds each call, with these sizes of groups.
    pub(crate) fn parallel(&self, tp_size: Option<i64>, ep_size: Option<i64>) -> ParallelConfig {
        ParallelConfig { tp_size, ep_size, sequence_parallel: self.sequence_parallel }
    }

    /// The device grid, if it was given.
    pub(crate) fn grid(&self) -> Option<Grid> {
        (!self.grid.is_empty()).then(|| Grid { shape: self.grid.clone(), tiers: self.tiers.clone() })
    }
}
