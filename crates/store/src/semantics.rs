//! Whether faults of the original tools are kept.

/// What a tool does where the original tool, which it replaces, is known to be wrong.
///
/// What this means for a tool is said where it takes one. Queries have three sets of rules instead, those of two readers and
/// the corrected ones: they are a type of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// The same as the original tool, faults included.
    #[default]
    Upstream,
    /// Known faults are switched off.
    Corrected,
}
