//! The cases of two databases as a table.

use crate::versions::other_metadata;
use perfdb_audit::versions::diff::{RowDiff, Side, TableDiff};
use perfdb_files::tables::Column;

/// A case of a table.
#[derive(Debug)]
pub struct CaseRow<'a> {
    /// The table.
    pub table: &'a TableDiff,
    /// Its case.
    pub row: &'a RowDiff,
}

impl CaseRow<'_> {
    fn line(side: Option<&Side>) -> Option<i64> {
        side.and_then(|side| i64::try_from(side.line).ok())
    }
}

/// The columns of the table of cases.
pub fn case_columns<'a>() -> [Column<CaseRow<'a>>; 13] {
    [
        Column::text("kernel_type", |case| Some(case.table.summary.kernel_type.as_str().into())),
        Column::text("case", |case| Some(case.row.case.to_string().into())),
        Column::text("outcome", |case| Some(case.row.outcome.name().into())),
        Column::text("doubt", |case| case.row.outcome.doubt().map(Into::into)),
        Column::real("ratio", |case| case.row.ratio),
        Column::text("source", |case| {
            case.row.a.or(case.row.b).and_then(|side| side.source).map(|source| source.name().into())
        }),
        Column::real("duration_a_us", |case| case.row.a.and_then(|side| side.duration_us)),
        Column::real("duration_b_us", |case| case.row.b.and_then(|side| side.duration_us)),
        Column::real("spread_a_us", |case| case.row.a.and_then(|side| side.spread_us)),
        Column::real("spread_b_us", |case| case.row.b.and_then(|side| side.spread_us)),
        Column::integer("line_a", |case| CaseRow::line(case.row.a.as_ref())),
        Column::integer("line_b", |case| CaseRow::line(case.row.b.as_ref())),
        Column::text("other_metadata", |case| {
            let text = other_metadata(case.table, case.row);
            (!text.is_empty()).then(|| text.into())
        }),
    ]
}
