//! What was tried on the way to an answer, as lines for people.

/// Everything that was tried, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// One attempt each.
    pub lines: Vec<String>,
}
