//! The expression language of rule files: integer arithmetic over the variables of a pattern.
//!
//! An expression is compiled once and evaluated for every candidate.
//!
//! ```
//! use perfdb_grid::expression::{Expression, Number, Scope};
//!
//! let scope = Scope::new(["tokens", "D"], [("block", 128)]).unwrap();
//! let blocks = Expression::compile("max(16, (tokens + block - 1) // block)", &scope).unwrap();
//! assert_eq!(blocks.evaluate(&[5000, 7168], &mut Vec::new()), Ok(Number::Integer(40)));
//! ```

mod number;
mod parser;
mod program;
mod token;

pub use number::{ArithmeticError, Number};
use program::Step;
pub(crate) use token::is_blank;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// Nothing but whitespace.
    #[error("an expression is missing")]
    Empty,
    /// The text ends too early.
    #[error("the expression is incomplete")]
    Incomplete,
    /// A word where it cannot stand.
    #[error("unexpected '{0}'")]
    Unexpected(String),
    /// Something that the language does not have.
    #[error("'{0}' is not allowed")]
    Refused(String),
    /// An integer literal beyond 127 bits.
    #[error("'{0}': value out of range")]
    OutOfRange(String),
    /// A name that is neither a variable nor a constant of the pattern.
    #[error("unknown name '{0}'")]
    UnknownName(String),
    /// A call of something that is no function.
    #[error("'{0}' is not a function")]
    NotAFunction(String),
    /// A function without its arguments.
    #[error("the function '{0}' is not called")]
    NotCalled(String),
    /// A call with the wrong number of arguments.
    #[error("'{function}' takes {needed}")]
    Arguments {
        function: String,
        /// What it takes.
        needed: &'static str,
    },
    /// Parentheses, signs or choices nested too deeply.
    #[error("nested too deeply")]
    TooDeep,
}

/// Why a name cannot be that of a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a letter or underscore followed by letters, digits and underscores, or two underscores in front.
    #[error("'{0}' is not a variable name")]
    Malformed(String),
    /// A word of the language or one of its functions.
    #[error("'{0}' is a word of the expression language")]
    Reserved(String),
    /// Two meanings for one name.
    #[error("'{0}' is defined twice")]
    Twice(String),
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Variable(usize),
    Constant(i128),
}

/// The names that an expression may use.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    meanings: indexmap::IndexMap<String, Meaning>,
}

impl Scope {
    /// Variables, which are numbered in this order, and constants.
    ///
    /// # Errors
    ///
    /// A name that no variable can have, or one that is given twice.
    pub fn new<'a>(
        variables: impl IntoIterator<Item = &'a str>,
        constants: impl IntoIterator<Item = (&'a str, i128)>,
    ) -> Result<Self, NameError> {
        let variables = variables.into_iter().enumerate().map(|(slot, name)| (name, Meaning::Variable(slot)));
        let constants = constants.into_iter().map(|(name, value)| (name, Meaning::Constant(value)));
        let mut scope = Self::default();
        for (name, meaning) in variables.chain(constants) {
            check_name(name)?;
            if scope.meanings.insert(name.to_owned(), meaning).is_some() {
                return Err(NameError::Twice(name.to_owned()));
            }
        }
        Ok(scope)
    }

    fn meaning(&self, name: &str) -> Option<Meaning> {
        self.meanings.get(name).copied()
    }

    /// `a = 1, z = 0`: every name with its value, for messages.
    #[must_use]
    pub fn describe(&self, variables: &[i128]) -> String {
        let value = |meaning: &Meaning| match *meaning {
            Meaning::Variable(slot) => variables.get(slot).copied().unwrap_or_default(),
            Meaning::Constant(value) => value,
        };
        let names = self.meanings.iter().map(|(name, meaning)| format!("{name} = {}", value(meaning)));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Whether `name` may be a variable.
///
/// # Errors
///
/// Why it may not.
pub(crate) fn check_name(name: &str) -> Result<(), NameError> {
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let continues = characters.all(|character| character.is_ascii_alphanumeric() || character == '_');
    if !starts || !continues || name.starts_with("__") {
        Err(NameError::Malformed(name.to_owned()))
    } else if parser::RESERVED.contains(&name) || parser::FUNCTIONS.contains(&name) {
        Err(NameError::Reserved(name.to_owned()))
    } else {
        Ok(())
    }
}

/// A compiled expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    steps: Box<[Step]>,
}

impl Expression {
    /// Compiles `text`; its names are resolved now and once.
    ///
    /// # Errors
    ///
    /// Anything that is not in the language or not in the scope.
    pub fn compile(text: &str, scope: &Scope) -> Result<Self, SyntaxError> {
        parser::compile(text, scope).map(|steps| Self { steps: steps.into() })
    }

    /// An expression that is this integer.
    pub(crate) fn constant(value: i128) -> Self {
        Self { steps: Box::new([Step::Push(Number::Integer(value))]) }
    }

    /// The value for these variables, in the order of the scope. `stack` is scratch space.
    ///
    /// # Errors
    ///
    /// Divisions by zero and values out of range.
    #[inline]
    pub fn evaluate(&self, variables: &[i128], stack: &mut Vec<Number>) -> Result<Number, ArithmeticError> {
        match *self.steps {
            // Most dimensions are a variable or a number.
            [Step::Load(slot)] => Ok(Number::Integer(variables.get(slot).copied().unwrap_or_default())),
            [Step::Push(number)] => Ok(number),
            ref steps => program::run(steps, variables, stack),
        }
    }
}
