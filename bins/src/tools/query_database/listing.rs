//! What a database has: its tables with their rows, and its operators.

use crate::{Failure, print_escaped, print_styled, warn};
use perfdb_query::Database;
use perfdb_report::layout::{Cell, Column, Layout, Table};

/// Prints tables and operators whose names hold one of the words, or all of them where none is given.
pub(super) fn list(database: &Database, words: &[String], layout: Layout) -> Result<(), Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let is_wanted = |names: &[&str]| {
        words.is_empty() || names.iter().any(|name| words.iter().any(|word| name.to_lowercase().contains(word)))
    };
    let operators: Vec<(String, String)> =
        database.operators().into_iter().map(|name| (name.clone(), database.kernels_of(&name).join(" "))).collect();
    let mut tables = Table::new([Column::name("kernel (--kernel)"), Column::number("rows")]);
    let (mut table_count, mut row_count) = (0, 0);
    // The tables of the operators that are wanted are wanted too.
    let is_of_wanted = |kernel: &str| {
        let mut wanted = operators.iter().filter(|(name, _)| is_wanted(&[name]));
        wanted.any(|(_, kernels)| kernels.split(' ').any(|own| own == kernel))
    };
    for kernel in database.kernel_types() {
        if !is_wanted(&[&kernel]) && !is_of_wanted(&kernel) {
            continue;
        }
        let rows = match database.row_count(&kernel) {
            Ok(rows) => rows.unwrap_or_default(),
            Err(miss) => {
                warn(&format!("{kernel}: {miss}"));
                0
            }
        };
        (table_count, row_count) = (table_count + 1, row_count + rows);
        tables.push([Cell::from(&*kernel), rows.to_string().into()]);
    }
    let mut mapped = Table::new([Column::name("operator"), Column::name("kernels")]);
    let mut operator_count = 0;
    for (name, kernels) in operators.iter().filter(|(name, kernels)| is_wanted(&[name, kernels])) {
        operator_count += 1;
        mapped.push([Cell::from(name.as_str()), Cell::from(if kernels.is_empty() { "-" } else { kernels })]);
    }
    print_escaped(&format!("tables: {table_count}, measured rows: {row_count}, operators: {operator_count}\n"))?;
    for (count, table) in [(table_count, tables), (operator_count, mapped)] {
        if count > 0 {
            print_styled(&format!("\n{}", table.text(layout)))?;
        }
    }
    Ok(())
}
