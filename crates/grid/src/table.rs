//! One table: what its first row fixes for the new ones, and the new rows as text.

pub(crate) mod duplicates;
pub(crate) mod growth;
pub(crate) mod head;
pub(crate) mod row_text;
pub(crate) mod template_row;
