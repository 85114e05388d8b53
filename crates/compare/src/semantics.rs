//! Which faults of the original tools are kept.

/// How the comparison behaves where the tools it replaces are known to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// The same figures as the original tools, faults included.
    #[default]
    Upstream,
    /// The faults are switched off:
    ///
    /// 1. a byte-order mark in a CSV never hides the first column (per operator);
    /// 2. operators are looked up under `operator_mappings`, where the mapping has them (per operator);
    /// 3. a CSV without a needed column is an error instead of zeros;
    /// 4. durations are used as written instead of as end minus start, which rounds them to steps of 0.25 µs when start
    ///    times count from the epoch (M6);
    /// 5. shapes meet: by the row that answered, formats folded, attention by its own key, collectives by size or name, and
    ///    only the profiling model's process counts (per shape);
    /// 6. a kernel type that is predicted and was never measured has an infinite error and a status of its own (per operator).
    Corrected,
}
