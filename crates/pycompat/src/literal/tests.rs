use super::*;
use proptest::prelude::*;

fn form(text: &str) -> String {
    parse(text).map_or_else(|_| "malformed".to_owned(), |value| value.repr())
}

#[test]
fn accepted() {
    for (text, value) in [
        ("[('MatMulV2', 22.77), ('hcom_allReduce_', 8.29)]", "[('MatMulV2', 22.77), ('hcom_allReduce_', 8.29)]"),
        ("[]", "[]"),
        ("()", "()"),
        ("(1)", "1"),
        ("((1),)", "(1,)"),
        ("1,", "(1,)"),
        ("1, 2 # both", "(1, 2)"),
        ("[1,2,]", "[1, 2]"),
        (" \t# a\n\n[1]\n  # b\n", "[1]"),
        ("[1,\n 2]", "[1, 2]"),
        ("[1, \\\n2]", "[1, 2]"),
        ("- (3)", "-3"),
        ("+1_000", "1000"),
        ("00", "0"),
        ("012.5", "12.5"),
        ("1_0.5_0", "10.5"),
        (".5e1", "5.0"),
        ("1e400", "inf"),
        ("0x_fF", "255"),
        ("0B101", "5"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("'a' \"b\"", "'ab'"),
        ("r'\\n' u'x'", "'\\\\nx'"),
        ("'''a\r\nb'''", "'a\\nb'"),
        ("'\\x41\\u00e9\\101\\q\\\n'", "'AéA\\\\q'"),
        ("[True, None, False]", "[True, None, False]"),
    ] {
        assert_eq!(form(text), value, "{text}");
    }
}

#[test]
fn malformed() {
    let deep = format!("{}{}", "[".repeat(201), "]".repeat(201));
    let just_deep_enough = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(parse(&just_deep_enough).is_ok());
    for text in [
        "",
        " ",
        "[",
        "[,]",
        "[1 2]",
        "(,)",
        "inf",
        "nan",
        "s0",
        "np.float64(9.0)",
        "1+1",
        "--1",
        "-True",
        "-'a'",
        "012",
        "1__0",
        "1_",
        "1._5",
        "1j",
        "0x",
        "0x__f",
        "0b2",
        "1if",
        "f'a'",
        "b'a'",
        "{1}",
        "{}",
        "...",
        "*x",
        "[1];",
        "[1]\u{a0}",
        "1\n2",
        "\n  1",
        "'a\nb'",
        "'\\x4'",
        "'\\N{DASH}'",
        "'\\ud800'",
        "'a",
        "\0",
        "'\0'",
        "Truex",
        "[1]]",
        "1.2.3",
        "lambda: 1",
        deep.as_str(),
    ] {
        assert_eq!(form(text), "malformed", "{text:?}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("a literal", |x| x.is_finite()).prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let items = proptest::collection::vec(inner, 0..6);
        prop_oneof![items.clone().prop_map(Value::List), items.prop_map(Value::Tuple)]
    })
}

proptest! {
    #[test]
    fn reads_back_its_repr(value in values()) {
        prop_assert_eq!(parse(&value.repr()).unwrap(), value);
    }

    #[test]
    fn never_panics(text in "[\\[\\](),'\"\\\\ruxN0-9a-f._+\\-# \n\r\téTrueNone]{0,40}") {
        let _ = parse(&text);
    }
}
