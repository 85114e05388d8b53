//! The points in which readers of CSVs differ.

/// What becomes of a byte order mark at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// It is dropped.
    #[default]
    Dropped,
    /// It stays at the start of the first column's name.
    InFirstName,
}

/// How to read a CSV.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// A byte order mark at the start.
    pub byte_order_mark: ByteOrderMark,
}

impl Options {
    /// Forward-pass CSVs as the comparison tools read them: line ends inside cells become one LF each, of columns of one
    /// name the last one counts, a file without a first line is a table without columns, an open quote holds the rest.
    pub const fn comparison() -> Options {
        Options { byte_order_mark: ByteOrderMark::Dropped }
    }

    /// The same with the byte order mark left in the first column's name.
    pub const fn keeping_byte_order_mark(mut self) -> Options {
        self.byte_order_mark = ByteOrderMark::InFirstName;
        self
    }
}
