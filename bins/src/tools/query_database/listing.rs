//! What a database has: its tables with their rows, and its operators.

use super::sink::Sink;
use crate::{Failure, print_escaped, print_styled, warn};
use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;
use perfdb_query::Database;
use perfdb_report::layout::{Cell, Column, Layout, Table, more};
use perfdb_report::screen::LINES;
use serde_json::{Value, json};

/// What stands in the list for an operator that launches no kernel.
const NO_KERNEL: &str = "-";

/// Prints tables and operators whose names hold one of the words, or all of them where none is given: as many of each as fit on a
/// screen, unless `limit` says how many.
pub(super) fn list(
    database: &Database,
    words: &[String],
    limit: Option<usize>,
    layout: Layout,
    sink: Sink,
) -> Result<(), Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let is_wanted = |names: &[&str]| {
        words.is_empty() || names.iter().any(|name| words.iter().any(|word| name.to_lowercase().contains(word)))
    };
    let operators: Vec<(String, Vec<String>)> =
        database.operators().into_iter().map(|name| (name.clone(), database.kernels_of(&name))).collect();
    let mut tables: Vec<(String, usize)> = Vec::new();
    let mut row_count = 0;
    // The tables of the operators that are wanted are wanted too.
    let is_of_wanted = |kernel: &str| {
        let mut wanted = operators.iter().filter(|(name, _)| is_wanted(&[name]));
        wanted.any(|(_, kernels)| kernels.iter().any(|own| own == kernel))
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
        row_count += rows;
        tables.push((kernel.to_string(), rows));
    }
    let mapped: Vec<(String, Vec<String>)> =
        operators.into_iter().filter(|(name, kernels)| is_wanted(&[name, &kernels.join(" ")])).collect();
    let (table_count, operator_count) = (tables.len(), mapped.len());
    let is_shown = sink.shows_table();
    sink.finish_list(&document(&tables, &mapped), rows_of(&tables, &mapped))?;
    if !is_shown {
        return Ok(());
    }
    print_escaped(&format!("tables: {table_count}, measured rows: {row_count}, operators: {operator_count}\n"))?;
    let room = limit.map_or_else(|| room([table_count, operator_count]), |limit| [limit; 2]);
    let tables: Vec<[String; 2]> = tables.into_iter().map(|(kernel, rows)| [kernel, rows.to_string()]).collect();
    let kernels = |own: Vec<String>| if own.is_empty() { NO_KERNEL.to_owned() } else { own.join(" ") };
    let mapped: Vec<[String; 2]> = mapped.into_iter().map(|(name, own)| [name, kernels(own)]).collect();
    let tables = (tables, [Column::name("kernel (--kernel)"), Column::number("rows")], room[0], "tables");
    let mapped = (mapped, [Column::name("operator"), Column::name("kernels")], room[1], "operators");
    for (rows, columns, most, what) in [tables, mapped] {
        if rows.is_empty() {
            continue;
        }
        let count = rows.len();
        let mut table = Table::new(columns);
        rows.into_iter().take(most).for_each(|row| table.push(row.map(Cell::from)));
        let left = more(count, most, &format!("{what} (--limit shows them, words choose by name)"));
        print_styled(&format!("\n{}{left}", table.text(layout)))?;
    }
    Ok(())
}

/// The whole list for programs.
fn document(tables: &[(String, usize)], operators: &[(String, Vec<String>)]) -> Value {
    let tables = tables.iter().map(|(kernel, rows)| json!({"kernel_type": kernel, "rows": rows}));
    let operators = operators.iter().map(|(name, kernels)| json!({"operator": name, "kernel_types": kernels}));
    json!({
        "format_version": 1,
        "tables": tables.collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
    })
}

/// The whole list as CSV: a line for each table and for each operator.
fn rows_of(tables: &[(String, usize)], operators: &[(String, Vec<String>)]) -> String {
    let mut out = String::new();
    push_row(&mut out, ["kind", "name", "rows", "kernel_types"], "\n");
    for (kernel, rows) in tables {
        push_row(&mut out, ["table", &spreadsheet_text(kernel), &rows.to_string(), ""], "\n");
    }
    for (name, kernels) in operators {
        push_row(&mut out, ["operator", &spreadsheet_text(name), "", &spreadsheet_text(&kernels.join(" "))], "\n");
    }
    out
}

/// How many tables and operators fit on a screen together: either may take what the other leaves.
fn room([tables, operators]: [usize; 2]) -> [usize; 2] {
    // The first line, and an empty line, a heading and the line of what is left out for both.
    let rows = LINES - 7;
    if tables + operators <= rows {
        return [tables, operators];
    }
    let half = rows / 2;
    let of_operators = operators.min(half.max(rows - tables.min(rows)));
    [tables.min(rows - of_operators), of_operators]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_the_screen_that_there_is() {
        for (counts, expected) in
            [([3, 4], [3, 4]), ([47, 143], [17, 16]), ([2, 143], [2, 31]), ([143, 2], [31, 2]), ([33, 0], [33, 0])]
        {
            assert_eq!(room(counts), expected, "{counts:?}");
        }
    }
}
