//! All kernels of the operations, with whole names: where the other tables lead to.

use std::collections::HashMap;

use crate::page::{Column, Table};
use perfdb_tracediff::{Comparison, KernelTotal};

/// The key of the table.
pub(super) const KERNELS: &str = "kernels";

/// A kernel of an operation in one trace.
struct Kernel<'c> {
    operation: &'c str,
    trace: u8,
    name: &'c str,
    total_us: f64,
    count: u64,
}

/// The kernels, by operation, then trace, then time.
pub(super) struct Kernels<'c> {
    rows: Vec<Kernel<'c>>,
    of_operations: HashMap<&'c str, usize>,
    of_names: HashMap<(u8, &'c str), usize>,
}

impl<'c> Kernels<'c> {
    pub(super) fn of(comparison: &'c Comparison) -> Kernels<'c> {
        let mut rows = Vec::new();
        for row in &comparison.operations {
            for (trace, kernels) in (1..).zip([&row.trace1_kernels, &row.trace2_kernels]) {
                let kernel = |kernel: &'c KernelTotal| Kernel {
                    operation: &row.operation,
                    trace,
                    name: &kernel.name,
                    total_us: kernel.total_us,
                    count: kernel.count,
                };
                rows.extend(kernels.iter().flatten().map(kernel));
            }
        }
        for row in &comparison.unmatched_operations {
            // Of these the one with most time is known.
            let (trace, name) = (row.trace, row.kernel.as_str());
            rows.push(Kernel { operation: &row.operation, trace, name, total_us: f64::NAN, count: 0 });
        }
        let (mut of_operations, mut of_names) = (HashMap::new(), HashMap::new());
        for (at, row) in rows.iter().enumerate() {
            of_operations.entry(row.operation).or_insert(at);
            of_names.entry((row.trace, row.name)).or_insert(at);
        }
        Kernels { rows, of_operations, of_names }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The first row of an operation.
    pub(super) fn first_of_operation(&self, operation: &str) -> Option<usize> {
        self.of_operations.get(operation).copied()
    }

    /// The row of the first name of trace 1, else of trace 2.
    pub(super) fn first_of_names(&self, [first, second]: [&[String]; 2]) -> Option<usize> {
        let row = |trace: u8, names: &[String]| self.of_names.get(&(trace, names.first()?.as_str())).copied();
        row(1, first).or_else(|| row(2, second))
    }

    pub(super) fn table(&self) -> Table {
        let rows = &self.rows;
        let count = |row: &Kernel<'_>| if row.count > 0 { row.count as f64 } else { f64::NAN };
        Table::new(
            KERNELS,
            "Kernels, with whole names",
            vec![
                Column::text("Kernel", rows.iter().map(|row| row.name)),
                Column::text("Operation", rows.iter().map(|row| row.operation)),
                Column::whole("Trace", rows.iter().map(|row| f64::from(row.trace))),
                Column::decimal("Time", rows.iter().map(|row| row.total_us / 1e3), 3).unit("ms"),
                Column::whole("Calls", rows.iter().map(count)),
                Column::decimal("Each", rows.iter().map(|row| row.total_us / 1e3 / count(row)), 5).unit("ms"),
            ],
        )
        .note(
            "Time and calls of the whole trace. A click on a name shows it whole; copies, CSV and paper have it whole.",
        )
    }
}
