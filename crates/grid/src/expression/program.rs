//! Compiled expressions: a flat list of steps on a stack, so that neither depth nor length can exhaust the call stack.

use std::cmp::Ordering;

use super::number::{ArithmeticError, Number};

/// What one step does. Jumps count steps from the one behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Pushes a constant.
    Push(Number),
    /// Pushes the variable in this slot.
    Load(usize),
    /// Replaces the top.
    Unary(Unary),
    /// Replaces the two on top.
    Binary(Binary),
    /// Replaces the two on top by a truth value.
    Compare(Comparison),
    /// A comparison with another behind it: leaves the right value when true; leaves 0 and jumps when false.
    Chain(Comparison, usize),
    /// `and`: jumps over the right side and keeps the left one when that is zero, else drops it.
    And(usize),
    /// `or`: jumps over the right side and keeps the left one unless that is zero, else drops it.
    Or(usize),
    /// Drops the top, and jumps when it is zero.
    JumpIfZero(usize),
    Jump(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unary {
    Negate,
    Not,
    Absolute,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    Greatest,
    Least,
    Align,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Unary {
    fn apply(self, value: Number) -> Result<Number, ArithmeticError> {
        match self {
            Self::Negate => value.negate(),
            Self::Not => Ok(Number::from(!value.is_true())),
            Self::Absolute => value.absolute(),
        }
    }
}

impl Binary {
    fn apply(self, left: Number, right: Number) -> Result<Number, ArithmeticError> {
        match self {
            Self::Add => left.add(right),
            Self::Subtract => left.subtract(right),
            Self::Multiply => left.multiply(right),
            Self::Divide => left.divide(right),
            Self::FloorDivide => left.floor_divide(right),
            Self::Remainder => left.remainder(right),
            Self::Power => left.power(right),
            // Of equal values the first one stays, also where one is an integer and one a fraction.
            Self::Greatest => Ok(if Comparison::Greater.holds(right, left) { right } else { left }),
            Self::Least => Ok(if Comparison::Less.holds(right, left) { right } else { left }),
            Self::Align => left.align(right),
        }
    }
}

impl Comparison {
    fn holds(self, left: Number, right: Number) -> bool {
        let order = left.compare(right);
        match self {
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
        }
    }
}

/// Runs `steps` over the values of the variables. `stack` is scratch space and may be used again.
pub(super) fn run(steps: &[Step], variables: &[i128], stack: &mut Vec<Number>) -> Result<Number, ArithmeticError> {
    // The compiler emits balanced programs; a missing operand would read as zero.
    const NOTHING: Number = Number::Integer(0);
    stack.clear();
    let mut next = 0;
    while let Some(step) = steps.get(next) {
        next += 1;
        match *step {
            Step::Push(number) => stack.push(number),
            Step::Load(slot) => stack.push(variables.get(slot).map_or(NOTHING, |value| Number::Integer(*value))),
            Step::Unary(operation) => {
                let value = stack.pop().unwrap_or(NOTHING);
                stack.push(operation.apply(value)?);
            }
            Step::Binary(operation) => {
                let (right, left) = (stack.pop().unwrap_or(NOTHING), stack.pop().unwrap_or(NOTHING));
                stack.push(operation.apply(left, right)?);
            }
            Step::Compare(comparison) => {
                let (right, left) = (stack.pop().unwrap_or(NOTHING), stack.pop().unwrap_or(NOTHING));
                stack.push(comparison.holds(left, right).into());
            }
            Step::Chain(comparison, jump) => {
                let (right, left) = (stack.pop().unwrap_or(NOTHING), stack.pop().unwrap_or(NOTHING));
                if comparison.holds(left, right) {
                    stack.push(right);
                } else {
                    stack.push(NOTHING);
                    next += jump;
                }
            }
            Step::And(jump) | Step::Or(jump) => {
                let decided = stack.last().is_some_and(|value| value.is_true()) == matches!(step, Step::Or(_));
                if decided {
                    next += jump;
                } else {
                    stack.pop();
                }
            }
            Step::JumpIfZero(jump) => {
                if !stack.pop().is_some_and(Number::is_true) {
                    next += jump;
                }
            }
            Step::Jump(jump) => next += jump,
        }
    }
    Ok(stack.pop().unwrap_or(NOTHING))
}
