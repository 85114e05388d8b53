//! Expressions of rule files and slots of shapes: values or errors, never an overflow, and parentheses change nothing.

use perfdb_grid::expression::{Expression, Scope, SyntaxError};
use perfdb_grid::shape_template::ShapeTemplate;
use perfdb_grid::slots::Slots;
use perfdb_store::slots::{dimensions, normal_shape, split};

pub(crate) const WORDS: &[&str] = &[
    "tokens",
    "D",
    "n",
    "block",
    "//",
    "%",
    "**",
    "*",
    "+",
    "-",
    "(",
    ")",
    ",",
    " if ",
    " else ",
    " and ",
    " or ",
    "not ",
    "<=",
    "==",
    "min(",
    "max(",
    "ceil(",
    "abs(",
    "170141183460469231731687303715884105727",
    "0",
    "-1",
    "1.5",
    ";",
    "N/A",
    "16,512",
    "\"",
];

/// Variables at the ends of what they can be.
const VARIABLES: [[i128; 3]; 6] = [
    [1, 7168, 16],
    [0, 0, 0],
    [-1, -7, 3],
    [i128::MAX, 2, 1],
    [i128::MIN, -1, i128::MAX],
    [i64::MAX as i128, 1 << 90, -5],
];

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let scope = Scope::new(["tokens", "D", "n"], [("block", 128)]).expect("these are names");
    let stack = &mut Vec::new();
    if let Ok(expression) = Expression::compile(text, &scope) {
        let enclosed = Expression::compile(&format!("({text})"), &scope);
        for variables in VARIABLES {
            let value = expression.evaluate(&variables, stack);
            if let Ok(number) = value {
                let _ = (number.to_dimension(), number.is_true());
            }
            match &enclosed {
                // A quotient that is no number equals no other one.
                Ok(enclosed) => assert_eq!(
                    format!("{:?}", enclosed.evaluate(&variables, stack)),
                    format!("{value:?}"),
                    "in parentheses"
                ),
                Err(error) => assert_eq!(*error, SyntaxError::TooDeep, "in parentheses"),
            }
        }
    }
    if let Ok(template) = ShapeTemplate::compile(text, &scope) {
        for variables in VARIABLES {
            let mut slots = Slots::default();
            if template.push_to(&mut slots, &variables, stack).is_ok() {
                assert_eq!(slots.len(), 1);
                let mut shown = String::new();
                slots.push_text(&mut shown);
                let read =
                    split(&shown).first().copied().map(|slot| normal_shape(slot).into_owned()).unwrap_or_default();
                let expected: Vec<String> = slots.iter().flatten().map(|dimension| dimension.to_string()).collect();
                assert_eq!(read, expected.join(","));
            }
        }
    }
    for slot in split(text) {
        let normal = normal_shape(slot);
        if let Some(read) = dimensions(&normal) {
            let written: Vec<String> = read.iter().map(i64::to_string).collect();
            let written = written.join(",");
            assert_eq!(normal_shape(&written), written);
            assert_eq!(dimensions(&written), Some(read));
        }
    }
}
