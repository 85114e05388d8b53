//! How a question lies to the rows.

/// How a question lies to the rows that answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// It is a measured row.
    Measured,
    /// It is a row with fewer tokens, which the kernel rounds up to the queried ones.
    Padded,
    /// Between rows.
    Inside,
    /// None of the neighbours is as large.
    Beyond,
    /// None of the neighbours has its configuration: the weight of a product, the heads of attention, the experts, the ranks.
    NewConfiguration,
}

impl Class {
    /// Those that are predicted, by their index.
    pub(crate) const PREDICTED: [Class; 3] = [Class::Inside, Class::Beyond, Class::NewConfiguration];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Measured => "measured",
            Class::Padded => "padded",
            Class::Inside => "inside",
            Class::Beyond => "beyond",
            Class::NewConfiguration => "new configuration",
        }
    }

    /// Its point among the predicted ones.
    pub(crate) fn index(self) -> Option<usize> {
        match self {
            Class::Measured | Class::Padded => None,
            Class::Inside => Some(0),
            Class::Beyond => Some(1),
            Class::NewConfiguration => Some(2),
        }
    }
}
