//! Columns that are numbers: what their cells are, and in which unit.

use crate::columns::TENSORS;
use perfdb_files::tables::Kind;

/// The unit that a column's name tells: `us` of `Average Duration(us)`.
pub fn unit(name: &str) -> Option<&str> {
    match name {
        "duration_us" => Some("us"),
        "message_bytes" => Some("B"),
        "bandwidth_gbps" => Some("GB/s"),
        name => name.strip_suffix(')')?.rsplit_once('(').map(|(_, unit)| unit),
    }
}

/// Whether a column counts something: its numbers have no unit, or are bytes.
pub fn is_counted(name: &str) -> bool {
    unit(name).is_none_or(|unit| unit == "B")
}

/// The integer that a cell is.
pub fn integer(cell: &str) -> Option<i64> {
    cell.trim().parse().ok().filter(|_| is_plain(cell))
}

/// The number that a cell is.
pub fn real(cell: &str) -> Option<f64> {
    cell.trim().parse().ok().filter(|number: &f64| number.is_finite() && is_plain(cell))
}

/// Whether a cell is written as numbers are: not `inf`, `+5` or `nan`.
fn is_plain(cell: &str) -> bool {
    cell.trim().starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
}

/// What the cells of a column are, as they are seen: numbers where all that are not empty are.
///
/// ```
/// use perfdb_files::tables::Kind;
/// use perfdb_store::numeric::ColumnKind;
///
/// let kind = |cells: &[&str]| cells.iter().fold(ColumnKind::new("message_bytes"), |kind, cell| kind.with(cell)).kind();
/// assert_eq!([kind(&["8", "", "16"]), kind(&["8", "0.5"]), kind(&["8", "N/A"])], [Kind::Integer, Kind::Real, Kind::Text]);
/// ```
#[derive(Debug, Clone)]
pub struct ColumnKind {
    has_unit: bool,
    is_text: bool,
    found: Option<Kind>,
}

impl ColumnKind {
    /// A column of this name without cells.
    pub fn new(name: &str) -> ColumnKind {
        ColumnKind { has_unit: !is_counted(name), is_text: TENSORS.contains(&name), found: None }
    }

    /// With another cell.
    #[must_use]
    pub fn with(mut self, cell: &str) -> ColumnKind {
        self.add(cell);
        self
    }

    /// Takes another cell.
    pub fn add(&mut self, cell: &str) {
        if self.is_text || cell.trim().is_empty() {
            return;
        }
        match (integer(cell), real(cell)) {
            (Some(_), _) => self.found = self.found.or(Some(Kind::Integer)),
            (None, Some(_)) => self.found = Some(Kind::Real),
            (None, None) => self.is_text = true,
        }
    }

    /// What they are. Columns with a unit are doubles, the same in every table.
    pub fn kind(&self) -> Kind {
        match self.found {
            _ if self.is_text => Kind::Text,
            None => Kind::Text,
            Some(_) if self.has_unit => Kind::Real,
            Some(kind) => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_where_all_cells_are() {
        let of =
            |name: &str, cells: &[&str]| cells.iter().fold(ColumnKind::new(name), |kind, cell| kind.with(cell)).kind();
        assert_eq!(of("message_bytes", &["8192", "", "67108864"]), Kind::Integer);
        assert_eq!(of("bandwidth_gbps", &["1", "2"]), Kind::Real);
        assert_eq!(of("Start Time(us)", &["1699529622790614.8\t"]), Kind::Real);
        assert_eq!(of("Average Duration(us)", &["5"]), Kind::Real, "the same in every table");
        for cells in [&["1", "N/A"][..], &["inf"], &["nan"], &["+5"], &["", " "], &["1,2"], &[]] {
            assert_eq!(of("x", cells), Kind::Text, "{cells:?}");
        }
        assert_eq!(of("Input Shapes", &["544404480"]), Kind::Text);
        assert_eq!(of("x", &["99999999999999999999"]), Kind::Real);
    }
}
