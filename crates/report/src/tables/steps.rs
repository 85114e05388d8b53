//! The steps of one trace as a table.

use super::{Table, integer};
use perfdb_files::tables::Column;
use perfdb_tracediff::{OneTrace, StepRow};

/// A row per step and device.
pub fn steps(one: &OneTrace) -> Table {
    let columns: [Column<StepRow>; 14] = [
        Column::text("step", |row| row.name.as_deref().map(Into::into)),
        Column::text("device", |row| Some(row.device.as_str().into())),
        Column::text("phase", |row| row.phase.map(Into::into)),
        Column::real("elapsed_ms", |row| Some(row.elapsed_ms)),
        Column::real("compute_ms", |row| Some(row.parts_ms.compute_ms)),
        Column::real("exposed_communication_ms", |row| Some(row.parts_ms.exposed_communication_ms)),
        Column::real("exposed_copies_ms", |row| Some(row.parts_ms.exposed_copies_ms)),
        Column::real("host_late_ms", |row| Some(row.parts_ms.host_late_ms)),
        Column::real("device_idle_ms", |row| Some(row.parts_ms.device_idle_ms)),
        Column::integer("kernels", |row| integer(row.kernels)),
        Column::integer("copies", |row| integer(row.copies)),
        Column::real("host_ms", |row| row.host_ms),
        Column::real("first_launch_after_ms", |row| row.first_launch_after_ms),
        Column::real("first_kernel_after_ms", |row| row.first_kernel_after_ms),
    ];
    Table::of("steps", &columns, &one.steps)
}
