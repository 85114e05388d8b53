//! Forecasts of deployments as a table.

use super::{Table, integer};
use crate::forecast::Served;
use perfdb_files::tables::Column;

/// A row for each deployment that can be forecast.
pub fn forecasts(served: &[Served<'_>]) -> Table {
    let columns: [Column<Served<'_>>; 17] = [
        Column::text("model", |one| Some(one.model.family.as_str().into())),
        Column::text("system", |one| Some(one.tables.system.as_str().into())),
        Column::text("framework", |one| Some(one.tables.framework.as_str().into())),
        Column::integer("tp", |one| integer(one.request.parallel.tensor)),
        Column::integer("ep", |one| integer(one.request.parallel.expert)),
        Column::integer("dp", |one| integer(one.request.parallel.data)),
        Column::integer("pp", |one| integer(one.request.parallel.pipeline)),
        Column::integer("batch", |one| integer(one.request.batch)),
        Column::integer("input_tokens", |one| integer(one.request.input)),
        Column::integer("output_tokens", |one| integer(one.request.output)),
        Column::real("tpot_ms", |one| Some(one.forecast.tpot.value_ms)),
        Column::real("tpot_low_ms", |one| Some(one.forecast.tpot.low_ms)),
        Column::real("tpot_high_ms", |one| Some(one.forecast.tpot.high_ms)),
        Column::real("ttft_ms", |one| Some(one.forecast.ttft.value_ms)),
        Column::real("ttft_low_ms", |one| Some(one.forecast.ttft.low_ms)),
        Column::real("ttft_high_ms", |one| Some(one.forecast.ttft.high_ms)),
        Column::real("tokens_per_second_per_device", |one| Some(one.forecast.tokens_per_device())),
    ];
    Table::of("forecasts", &columns, served)
}
