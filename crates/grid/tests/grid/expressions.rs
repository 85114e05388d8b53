//! The expression language, against values and refusals of the original's evaluator.

use perfdb_grid::expression::{Expression, Number, Scope};
use perfdb_grid::shape_template::ShapeTemplate;
use perfdb_grid::slots::Slots;
use proptest::prelude::*;
use serde_json::Value;

use crate::vectors::{self, list, text};

struct Variables {
    scope: Scope,
    values: Vec<i128>,
}

fn variables(file: &Value) -> Variables {
    let entries = file["variables"].as_object().expect("a mapping");
    let values = entries.values().map(integer).collect();
    Variables { scope: Scope::new(entries.keys().map(String::as_str), []).expect("good names"), values }
}

/// An integer, which is a text beyond 2⁵³.
fn integer(value: &Value) -> i128 {
    value.as_i64().map_or_else(|| value.as_str().expect("a number").parse().expect("digits"), i128::from)
}

fn evaluate(expression: &str, variables: &Variables) -> Result<Number, String> {
    let compiled = Expression::compile(expression, &variables.scope).map_err(|error| error.to_string())?;
    compiled.evaluate(&variables.values, &mut Vec::new()).map_err(|error| error.to_string())
}

fn shape(template: &str, variables: &Variables) -> Result<Vec<i128>, String> {
    let compiled = ShapeTemplate::compile(template, &variables.scope).map_err(|error| error.to_string())?;
    let mut slots = Slots::default();
    compiled.push_to(&mut slots, &variables.values, &mut Vec::new()).map_err(|error| error.to_string())?;
    assert_eq!(slots.len(), 1, "{template}");
    Ok(slots.iter().flatten().copied().collect())
}

#[test]
fn values_dimensions_and_truth() {
    let file = vectors::json("expressions.json");
    let variables = variables(&file);
    for case in list(&file, "expressions") {
        let expression = text(case, "expr");
        let value = evaluate(expression, &variables).unwrap_or_else(|error| panic!("{expression}: {error}"));
        let expected = match text(case, "kind") {
            "int" => Number::Integer(integer(&case["value"])),
            "bool" => Number::Integer(i128::from(case["value"].as_bool().expect("a truth value"))),
            "float" => Number::Fraction(case["value"].as_f64().expect("a fraction")),
            other => panic!("unknown kind {other}"),
        };
        assert_eq!(value, expected, "{expression}");
        assert_eq!(value.to_dimension(), Ok(integer(&case["as_dimension"])), "{expression}");
        assert_eq!(Some(value.is_true()), case["truthy"].as_bool(), "{expression}");
    }
}

#[test]
fn shapes() {
    let file = vectors::json("expressions.json");
    let variables = variables(&file);
    for case in list(&file, "shapes") {
        let template = text(case, "template");
        let expected = list(case, "dims").iter().map(integer).collect::<Vec<_>>();
        assert_eq!(shape(template, &variables), Ok(expected), "{template}");
    }
}

#[test]
fn refusals() {
    let file = vectors::json("expressions.json");
    let variables = variables(&file);
    for case in list(&file, "refused_expressions") {
        let expression = case.as_str().expect("a text");
        assert!(evaluate(expression, &variables).is_err(), "{expression}");
    }
    for case in list(&file, "refused_shapes") {
        let template = case.as_str().expect("a text");
        assert!(shape(template, &variables).is_err(), "{template}");
    }
}

#[test]
fn reasons_name_the_offending_word() {
    let variables = Variables { scope: Scope::new(["a"], [("z", 0)]).expect("good names"), values: vec![5] };
    let reasons = [
        ("a.real", "'.' is not allowed"),
        ("a + bogus", "unknown name 'bogus'"),
        ("__import__", "'__import__' is not allowed"),
        ("a a", "unexpected 'a'"),
        ("max", "the function 'max' is not called"),
        ("a(1)", "'a' is not a function"),
        ("abs(1, 2)", "'abs' takes one value"),
        ("1e3", "'1e3' is not allowed"),
        ("0128", "'0128' is not allowed"),
        ("0x", "'0x' is not allowed"),
        ("a +", "the expression is incomplete"),
        (" ", "an expression is missing"),
        ("lambda", "'lambda' is not allowed"),
        ("a // z", "division by zero"),
        ("a % z", "division by zero"),
        ("z ** -1", "division by zero"),
        ("align(a, z)", "division by zero"),
        ("2 ** 127", "value out of range"),
        ("170141183460469231731687303715884105728", "'170141183460469231731687303715884105728': value out of range"),
        ("9 ** 9 ** 9 ** 9", "value out of range"),
        ("(0 - 8) ** (1 / 3)", "not a number"),
    ];
    for (expression, reason) in reasons {
        assert_eq!(evaluate(expression, &variables), Err(reason.to_owned()), "{expression}");
    }
}

#[test]
fn only_the_branch_that_is_taken_is_computed() {
    let variables = Variables { scope: Scope::new(["a"], [("z", 0)]).expect("good names"), values: vec![5] };
    for (expression, value) in [
        ("1 if a else a // z", 1),
        ("a // z if z else 2", 2),
        ("z and a // z", 0),
        ("a or a // z", 5),
        ("1 > a > a // z", 0),
        ("3 if z else 4 if z else 6", 6),
        ("1if a else 2", 1),
        ("0x_ff + 0b1_1", 258),
        ("max(a, 3,)", 5),
    ] {
        assert_eq!(evaluate(expression, &variables), Ok(Number::Integer(value)), "{expression}");
    }
}

#[test]
fn depth_and_length_are_bounded_or_harmless() {
    let variables = Variables { scope: Scope::new(["a"], []).expect("good names"), values: vec![5] };
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(evaluate(&nested(150), &variables), Ok(Number::Integer(5)));
    for deep in [
        nested(100_000),
        "-".repeat(100_000),
        "not ".repeat(100_000),
        "a ** ".repeat(100_000),
        "a if a else ".repeat(100_000),
    ] {
        let reason = evaluate(&deep, &variables).expect_err("too deep");
        assert!(reason == "nested too deeply" || reason == "the expression is incomplete", "{reason}");
    }
    let long = "a + ".repeat(100_000) + "a";
    assert_eq!(evaluate(&long, &variables), Ok(Number::Integer(500_005)));
    let product = "9 * ".repeat(200) + "9";
    assert_eq!(evaluate(&product, &variables), Err("value out of range".to_owned()));
}

/// Texts made of the words of the language, so that many of them parse.
fn wordy() -> impl Strategy<Value = String> {
    let words = [
        "a", "b", "z", "0", "1", "7", "99", "(", ")", ",", "+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=",
        "if", "else", "and", "or", "not", "True", "max(", "min(", "abs(", "align(", " ", "_", ".", "é",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..24).prop_map(|words| words.join(" "))
}

/// Expressions that parse, with the value that exact integer arithmetic gives.
fn integer_expression() -> impl Strategy<Value = (String, i128)> {
    let leaf = (-99_i128..99).prop_map(|value| (format!("({value})"), value));
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 0..6_u8).prop_map(|((left, a), (right, b), operation)| {
            let divisor = if b == 0 { 1 } else { b };
            let right_or_one = if b == 0 { "1".to_owned() } else { right.clone() };
            let floor = a.div_euclid(divisor) - i128::from(divisor < 0 && a.rem_euclid(divisor) != 0);
            match operation {
                0 => (format!("({left} + {right})"), a + b),
                1 => (format!("({left} - {right})"), a - b),
                2 => (format!("({left} * {right})"), a * b),
                3 => (format!("({left} // {right_or_one})"), floor),
                4 => (format!("({left} % {right_or_one})"), a - floor * divisor),
                _ => (format!("max({left}, {right})"), a.max(b)),
            }
        })
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![wordy(), "\\PC{0,40}"], a in any::<i128>(), b in -3_i128..3) {
        let scope = Scope::new(["a", "b"], [("z", 0)]).expect("good names");
        if let Ok(expression) = Expression::compile(&text, &scope) {
            let _ = expression.evaluate(&[a, b], &mut Vec::new()).and_then(Number::to_dimension);
        }
        if let Ok(template) = ShapeTemplate::compile(&text, &scope) {
            let _ = template.push_to(&mut Slots::default(), &[a, b], &mut Vec::new());
        }
    }

    #[test]
    fn integers_are_exact((text, value) in integer_expression()) {
        let expression = Expression::compile(&text, &Scope::default()).expect("it parses");
        prop_assert_eq!(expression.evaluate(&[], &mut Vec::new()), Ok(Number::Integer(value)));
    }

    #[test]
    fn quotient_and_remainder_fit_together(a in any::<i64>(), b in any::<i64>().prop_filter("no divisor", |b| *b != 0)) {
        let scope = Scope::new(["a", "b"], []).expect("good names");
        let holds = Expression::compile("a // b * b + a % b == a and abs(a % b) < abs(b) and (a % b == 0 or (a % b > 0) == (b > 0))", &scope);
        let value = holds.expect("it parses").evaluate(&[a.into(), b.into()], &mut Vec::new());
        prop_assert_eq!(value, Ok(Number::Integer(1)));
    }
}
