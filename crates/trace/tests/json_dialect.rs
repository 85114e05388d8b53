//! The scanner against `serde_json`: on any text both say yes, or both say no, but for the points in which Python's
//! dialect differs. And no bytes whatsoever make it panic.
#![allow(clippy::unwrap_used)]

use perfdb_pycompat::value::Value;
use perfdb_trace::json;
use proptest::prelude::*;
use serde_json::Value as Json;

/// Any JSON value as text, with whitespace, escapes and numbers of all kinds.
fn any_json() -> impl Strategy<Value = String> {
    let space = prop_oneof![6 => Just(""), 2 => Just(" "), 1 => Just("\n\t\r ")];
    let text = prop_oneof![
        4 => "[a-z_ ]{0,40}".prop_map(|text| format!("\"{text}\"")),
        2 => "\\PC{0,20}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        1 => Just(r#""\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t""#.to_owned()),
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(|x| format!("{x:?}")),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?",
    ];
    let leaf =
        prop_oneof![text.clone(), number, Just("true".to_owned()), Just("false".to_owned()), Just("null".to_owned())];
    let value = leaf.prop_recursive(6, 60, 6, move |inner| {
        let spaced = (space.clone(), inner, space.clone())
            .prop_map(|(before, value, behind)| format!("{before}{value}{behind}"));
        let member = (space.clone(), text.clone(), space.clone(), spaced.clone())
            .prop_map(|(before, key, behind, value)| format!("{before}{key}{behind}:{value}"));
        prop_oneof![
            proptest::collection::vec(spaced, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    });
    value.prop_map(|text| format!(" {text}\n"))
}

fn equal(ours: &Value, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Value::None, Json::Null) => true,
        (Value::Bool(a), Json::Bool(b)) => a == b,
        (Value::Int(a), Json::Number(b)) => b.as_i64() == Some(*a) || (*a == 0 && b.as_f64() == Some(-0.0)),
        (Value::BigInt(a), Json::Number(b)) => a.to_string().parse::<f64>().ok() == b.as_f64(),
        (Value::Float(a), Json::Number(b)) => b.as_f64().is_some_and(|b| a.to_bits() == b.to_bits()),
        (Value::Text(a), Json::String(b)) => a == b,
        (Value::List(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Dict(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((key, a), (other, b))| key == other && equal(a, b))
        }
        _ => false,
    }
}

/// Whether Python's dialect takes what `serde_json` refuses: a word, a number beyond the doubles, half a pair, depth.
fn only_ours(text: &[u8]) -> bool {
    let has = |part: &[u8]| memchr_like(text, part);
    has(b"NaN") || has(b"Infinity") || has(b"e") || has(b"E") || has(br"\ud") || has(br"\uD")
}

fn memchr_like(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn agree(text: &[u8]) -> Result<(), TestCaseError> {
    match (json::parse(text), serde_json::from_slice::<Json>(text)) {
        (Ok(ours), Ok(theirs)) => prop_assert!(equal(&ours, &theirs), "{ours:?} {theirs:?}"),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(_)) if only_ours(text) => {}
        // Half a pair where a whole one begins: `serde_json` refuses some texts that we refuse for the half.
        (ours, theirs) => prop_assert!(false, "{:?}: {ours:?} {theirs:?}", String::from_utf8_lossy(text)),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_value(text in any_json()) {
        agree(text.as_bytes())?;
    }

    #[test]
    fn any_value_with_faults(
        text in any_json(),
        faults in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..3), 1..4),
    ) {
        let mut text = text.into_bytes();
        for (at, byte, kind) in faults {
            let at = at.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ if text.len() > 1 => drop(text.remove(at)),
                _ => {}
            }
        }
        agree(&text)?;
    }

    #[test]
    fn any_cut(text in any_json(), at in any::<prop::sample::Index>()) {
        agree(&text.as_bytes()[..at.index(text.len())])?;
    }

    #[test]
    fn structure_of_few_letters(text in "[\\[\\]{}:,\" 0-9eE.+-]{0,30}") {
        agree(text.as_bytes())?;
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        agree(&bytes)?;
    }
}

#[test]
fn what_python_takes_besides() {
    for (text, form) in [
        ("NaN", "nan"),
        ("[Infinity,-Infinity]", "[inf, -inf]"),
        ("1e400", "inf"),
        ("-1E+400", "-inf"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-0", "0"),
        ("1e-400", "0.0"),
    ] {
        assert_eq!(json::parse(text.as_bytes()).unwrap().repr(), form, "{text}");
    }
}

#[test]
fn what_python_refuses() {
    for text in [
        "",
        " ",
        "nan",
        "inf",
        "-NaN",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "'a'",
        "[1,]",
        "{\"a\":1,}",
        "{,}",
        "[,]",
        "//",
        "[1] 2",
        "\u{feff}1",
        "\"\t\"",
        "\"\u{1}\"",
        r#""\x41""#,
        r#""\u12""#,
        r#""\u12g4""#,
        "\"a",
        "{\"a\" 1}",
        "{a:1}",
        "{1:1}",
        "tru",
        "nulll",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "\u{a0}1",
        "1\u{0}",
        "-",
        "--1",
        "1-",
        "]",
        "[}",
        "{]",
    ] {
        assert!(json::parse(text.as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn depth() {
    let nested = |levels: usize| format!("{}{}", "[{\"a\":".repeat(levels / 2), "0") + &"}]".repeat(levels / 2);
    assert!(json::parse(nested(1024).as_bytes()).is_ok());
    let error = json::parse(nested(1026).as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "lists and objects are nested too deep at byte 3072 (line 1, column 3073)");
    assert!(json::parse("[".repeat(1_000_000).as_bytes()).is_err());
    assert!(json::parse("{\"a\":".repeat(1_000_000).as_bytes()).is_err());
}
