//! Values as the simulator's language has them.

/// A value as the simulator's language has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// `None`.
    None,
    /// `True` or `False`.
    Flag(bool),
    /// An `int`.
    Integer(i64),
    /// A `float`.
    Number(f64),
    /// A `str`.
    Text(String),
    /// A `list`.
    List(Vec<Fact>),
    /// A `tuple`.
    Tuple(Vec<Fact>),
    /// A `dict`.
    Map(Facts),
}

/// Named values in the order in which the simulator writes them.
pub type Facts = Vec<(&'static str, Fact)>;
