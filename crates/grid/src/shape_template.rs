//! Shapes with expressions as dimensions: `(tokens, D // 2)`.

use crate::expression::{ArithmeticError, Expression, Number, Scope, SyntaxError, is_blank};
use crate::slots::Slots;

/// The shape of one slot, compiled.
#[derive(Clone, Debug)]
pub struct ShapeTemplate {
    dimensions: Vec<Dimension>,
}

#[derive(Clone, Debug)]
struct Dimension {
    text: String,
    expression: Expression,
}

/// A dimension that has no value for some variables.
#[derive(Clone, Debug, thiserror::Error)]
#[error("'{text}': {reason}")]
pub struct DimensionError {
    /// The expression as written.
    pub text: String,
    /// What went wrong.
    pub reason: ArithmeticError,
}

impl ShapeTemplate {
    /// Compiles a shape text. `()` is the empty slot; one pair of parentheses around the whole is taken off.
    ///
    /// # Errors
    ///
    /// A dimension that is missing or no expression.
    pub fn compile(text: &str, scope: &Scope) -> Result<Self, SyntaxError> {
        let text = text.trim_matches(is_blank);
        let inner = without_enclosing_pair(text);
        if inner.is_some_and(|inner| inner.trim_matches(is_blank).is_empty()) {
            return Ok(Self { dimensions: Vec::new() });
        }
        let mut pieces = split_at_commas(inner.unwrap_or(text));
        if pieces.len() > 1 && pieces.last().is_some_and(|last| last.is_empty()) {
            pieces.pop();
        }
        let dimension = |text: &str| Dimension::compile(text, scope);
        Ok(Self { dimensions: pieces.into_iter().map(dimension).collect::<Result<_, _>>()? })
    }

    /// The dimensions as written.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.dimensions.iter().map(|dimension| dimension.text.as_str())
    }

    /// Appends the slot for these variables to `slots`.
    ///
    /// # Errors
    ///
    /// The first dimension without a value.
    pub fn push_to(
        &self,
        slots: &mut Slots,
        variables: &[i128],
        stack: &mut Vec<Number>,
    ) -> Result<(), DimensionError> {
        for dimension in &self.dimensions {
            let value = dimension.expression.evaluate(variables, stack).and_then(Number::to_dimension);
            slots.push_dimension(value.map_err(|reason| DimensionError { text: dimension.text.clone(), reason })?);
        }
        slots.end_slot();
        Ok(())
    }
}

impl Dimension {
    fn compile(text: &str, scope: &Scope) -> Result<Self, SyntaxError> {
        let expression = match plain_integer(text) {
            Some(value) => Expression::constant(value),
            None => Expression::compile(text, scope)?,
        };
        Ok(Self { text: text.to_owned(), expression })
    }
}

/// A dimension of digits alone may have leading zeros and a sign, which an expression may not.
fn plain_integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// What is inside, if the parenthesis at the start is closed by the one at the end.
fn without_enclosing_pair(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 1_usize;
    for byte in inner.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    (depth == 1).then_some(inner)
}

/// The trimmed pieces between the commas that stand outside parentheses.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                pieces.push(text[start..at].trim_matches(is_blank));
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text[start..].trim_matches(is_blank));
    pieces
}
