//! The points in which readers of CSVs differ.

/// What becomes of CRLF and CR inside quoted cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEndsInCells {
    /// They stay.
    Kept,
    /// Each becomes one LF.
    LineFeed,
}

/// What becomes of a byte order mark at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// It is dropped.
    Dropped,
    /// It stays at the start of the first column's name.
    InFirstName,
}

/// A file without a byte, or with an empty first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyHeader {
    /// A table without columns.
    NoColumns,
    /// An error.
    Refused,
}

/// Two columns of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatedColumns {
    /// The last one counts.
    LastCounts,
    /// An error where the column is asked for.
    RefusedIfUsed,
    /// An error.
    Refused,
}

/// More cells in a record than in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurplusCells {
    /// They are ignored.
    Ignored,
    /// An error: writing the table again would lose them.
    Refused,
}

/// How to read a CSV: one of the presets, changed where a tool needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Line ends inside quoted cells.
    pub line_ends_in_cells: LineEndsInCells,
    /// A byte order mark at the start.
    pub byte_order_mark: ByteOrderMark,
    /// A missing or empty first line.
    pub empty_header: EmptyHeader,
    /// Columns of one name.
    pub repeated_columns: RepeatedColumns,
    /// Records longer than the header.
    pub surplus_cells: SurplusCells,
    /// Most characters a cell may have.
    pub cell_limit: Option<usize>,
    /// Whether a quote that is open at the end of the file is an error; otherwise [`Reader::open_quote`](super::Reader::open_quote)
    /// tells of it.
    pub open_quote_refused: bool,
}

impl Options {
    /// The limit of Python's csv module.
    pub const PYTHON_CELL_LIMIT: usize = 131_072;

    /// Forward-pass CSVs as the comparison tools read them.
    pub const fn comparison() -> Options {
        Options {
            line_ends_in_cells: LineEndsInCells::LineFeed,
            byte_order_mark: ByteOrderMark::Dropped,
            empty_header: EmptyHeader::NoColumns,
            repeated_columns: RepeatedColumns::LastCounts,
            surplus_cells: SurplusCells::Ignored,
            cell_limit: None,
            open_quote_refused: false,
        }
    }

    /// Profiles (kernel_details, op_summary) as the tools of the database read them.
    pub const fn profile() -> Options {
        Options {
            line_ends_in_cells: LineEndsInCells::Kept,
            byte_order_mark: ByteOrderMark::Dropped,
            empty_header: EmptyHeader::Refused,
            repeated_columns: RepeatedColumns::RefusedIfUsed,
            surplus_cells: SurplusCells::Ignored,
            cell_limit: Some(Options::PYTHON_CELL_LIMIT),
            open_quote_refused: false,
        }
    }

    /// Tables of a database, which may be written again: nothing that would be lost then is let through.
    pub const fn database_table() -> Options {
        Options {
            repeated_columns: RepeatedColumns::Refused,
            surplus_cells: SurplusCells::Refused,
            open_quote_refused: true,
            ..Options::profile()
        }
    }

    /// The same with the byte order mark left in the first column's name.
    pub const fn keeping_byte_order_mark(mut self) -> Options {
        self.byte_order_mark = ByteOrderMark::InFirstName;
        self
    }
}
