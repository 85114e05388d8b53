//! Rows of tables of measured times.

use perfdb_model::predict::Columns;

/// A row of a CSV with what is the same in all of them.
pub(crate) struct Row<'r> {
    pub(crate) names: &'r csv::StringRecord,
    pub(crate) cells: csv::StringRecord,
    pub(crate) constants: &'r serde_json::Value,
}

impl Columns for Row<'_> {
    fn number(&self, column: &str) -> Option<f64> {
        self.text(column)?.parse().ok()
    }

    fn text(&self, column: &str) -> Option<&str> {
        let at = self.names.iter().position(|name| name == column);
        at.and_then(|at| self.cells.get(at)).or_else(|| self.constants[column].as_str())
    }
}
