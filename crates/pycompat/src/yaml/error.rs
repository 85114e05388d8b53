//! What can be wrong with a document, and where.

use std::fmt;

use super::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES, NodePath};

/// Why a text is not a usable document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}{}", at(.position))]
pub struct Error {
    /// What is wrong.
    pub fault: Fault,
    /// Where; `None` for the document as a whole.
    pub position: Option<Position>,
}

/// What is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The text breaks the grammar; the parser's own words.
    #[error("{0}")]
    Syntax(String),
    /// A control character or another one that YAML does not allow.
    #[error("the character U+{:04X} is not allowed in YAML", u32::from(*.0))]
    Character(char),
    /// A second document follows the first.
    #[error("several YAML documents in one file")]
    SeveralDocuments,
    /// A tag without a plain value.
    #[error("the tag {0} has no plain value")]
    UnknownTag(String),
    /// A tag on a value that it does not fit.
    #[error("this is not what the tag !!{0} wants")]
    WrongTag(String),
    /// A list or a map as the key of a map.
    #[error("a key must be a scalar, not {0}")]
    Key(&'static str),
    /// `<<` with something other than maps.
    #[error("`<<` wants a map or a list of maps, not {0}")]
    Merge(&'static str),
    /// An alias inside the value that it stands for.
    #[error("an alias inside the value that it stands for")]
    RecursiveAlias,
    /// Lists and maps inside each other beyond [`MAX_DEPTH`].
    #[error("lists and maps are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// More than [`MAX_NODES`] values, what aliases copy included.
    #[error("more than {MAX_NODES} values, copies through aliases included")]
    TooManyNodes,
    /// More than [`MAX_TEXT_BYTES`] of text, what aliases copy included.
    #[error("more than {} MiB of text, copies through aliases included", MAX_TEXT_BYTES >> 20)]
    TooMuchText,
    /// A value of another type than the reader asked for.
    #[error("{}{reason}", prefix(.path))]
    Unexpected {
        /// The value in the document.
        path: NodePath,
        /// What was expected there.
        reason: String,
    },
}

/// A position in the text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

fn at(position: &Option<Position>) -> String {
    position.map(|position| format!(" at {position}")).unwrap_or_default()
}

fn prefix(path: &NodePath) -> String {
    let path = path.to_string();
    if path.is_empty() { path } else { format!("{path}: ") }
}
