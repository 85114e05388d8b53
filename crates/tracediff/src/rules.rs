//! The rule sets.

/// How traces are read and compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rules {
    /// This product's own: exact integers, symmetric in the two traces, nothing dropped.
    #[default]
    Perfdb,
    /// The numbers of wafer-core 0.1.33.
    Wafer0133,
    /// The numbers of wafer-core 0.1.35.
    Wafer0135,
}

impl Rules {
    /// The release whose rules they are, or `perfdb`.
    pub fn name(self) -> &'static str {
        match self {
            Rules::Perfdb => "perfdb",
            Rules::Wafer0133 => "0.1.33",
            Rules::Wafer0135 => "0.1.35",
        }
    }

    /// True for the rule sets of wafer-core: doubles, rows of operations on both sides only, trace 1 taken for AMD.
    pub fn is_legacy(self) -> bool {
        self != Rules::Perfdb
    }
}
