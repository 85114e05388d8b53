//! The rules of the YAML reader, one by one.

use perfdb_pycompat::yaml::{self, Error, Fault, MAX_DEPTH, Map, Node};
use proptest::prelude::*;
use serde::Deserialize;

fn map(text: &str) -> Map {
    yaml::parse(text).expect("a document").into_map().expect("a map at the top")
}

fn text(text: &str) -> Option<Node> {
    Some(Node::Text(text.to_owned()))
}

#[test]
fn words_are_booleans_when_plain() {
    let map = map("a: yes\nb: \"off\"\nc: 'no'\nd: Off\ne: [on, x]\nf: {g: NO}\ng: >-\n  no\nyes: 1\n");
    assert_eq!(map.get("a"), Some(&Node::Boolean(true)));
    assert_eq!(map.get("b").cloned(), text("off"));
    assert_eq!(map.get("c").cloned(), text("no"));
    assert_eq!(map.get("d"), Some(&Node::Boolean(false)));
    assert_eq!(map.get("e"), Some(&Node::List(vec![Node::Boolean(true), Node::Text("x".into())])));
    assert_eq!(map.get("f").and_then(Node::as_map).unwrap().get("g"), Some(&Node::Boolean(false)));
    assert_eq!(map.get("g").cloned(), text("no"));
    assert_eq!(map.get("yes"), None);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(yaml::parse("\u{feff}- a\n").unwrap(), Node::List(vec![Node::Text("a".into())]));
    assert_eq!(map("\u{feff}a: 1\n").get("a"), Some(&Node::Integer(1)));
    assert_eq!(map("\u{feff}---\na: 1\n").get("a"), Some(&Node::Integer(1)));
}

#[test]
fn explicit_tags_decide() {
    let map =
        map("a: !!str 5\nb: !!bool 'no'\nc: !!null ''\nd: !!str\ne: !!int '5'\nf: !!str yes\ng: ! '5'\nh: !!map {}\n");
    assert_eq!(map.get("a").cloned(), text("5"));
    assert_eq!(map.get("b"), Some(&Node::Boolean(false)));
    assert_eq!(map.get("c"), Some(&Node::Null));
    assert_eq!(map.get("d").cloned(), text(""));
    assert_eq!(map.get("e"), Some(&Node::Integer(5)));
    assert_eq!(map.get("f").cloned(), text("yes"));
    assert_eq!(map.get("g"), Some(&Node::Integer(5)));
    assert_eq!(map.get("h"), Some(&Node::Map(Map::default())));
}

#[test]
fn exponents_without_sign_and_0o_are_texts() {
    let map = map("a: 1e3\nb: 1.5e3\nc: 0o17\nd: 1.5e+3\n");
    assert_eq!(map.get("a").cloned(), text("1e3"));
    assert_eq!(map.get("b").cloned(), text("1.5e3"));
    assert_eq!(map.get("c").cloned(), text("0o17"));
    assert_eq!(map.get("d"), Some(&Node::Float(1500.0)));
}

#[test]
fn quoted_false_is_truthy() {
    let map = map("a: \"false\"\nb: false\nc: FALSE");
    assert!(map.get("a").unwrap().is_truthy());
    assert!(!map.get("b").unwrap().is_truthy());
    assert!(!map.get("c").unwrap().is_truthy());
}

#[test]
fn last_of_equal_keys_wins_in_the_first_place() {
    let map = map("a: 1\nb: 2\na: 3");
    let keys: Vec<String> = map.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["a", "b"]);
    assert_eq!(map.get("a"), Some(&Node::Integer(3)));
}

#[test]
fn merges_like_yaml_1_1() {
    let map = map("x: &x {p: 1, q: 2}\ny: &y {q: 3, r: 4}\nz: {<<: [*x, *y], r: 5}\nw: {<<: *x, <<: *y}\n'<<': 7");
    let z = map.get("z").and_then(Node::as_map).unwrap();
    assert_eq!(
        (z.get("p"), z.get("q"), z.get("r")),
        (Some(&Node::Integer(1)), Some(&Node::Integer(2)), Some(&Node::Integer(5)))
    );
    let w = map.get("w").and_then(Node::as_map).unwrap();
    assert_eq!(w.get("q"), Some(&Node::Integer(3)));
    assert_eq!(map.get("<<"), Some(&Node::Integer(7)));
}

#[test]
fn empty_documents_are_null() {
    for text in ["", "# only a comment\n", "---\n", "~", "\u{feff}"] {
        assert_eq!(yaml::parse(text).unwrap(), Node::Null, "{text:?}");
    }
}

fn error(text: &str) -> Error {
    yaml::parse(text).expect_err(text)
}

#[test]
fn what_has_no_plain_value_is_refused_with_its_position() {
    for (text, fault, line, column) in [
        ("a: 1\n---\nb: 2", Fault::SeveralDocuments, 2, 1),
        ("b: 1\na: !own b", Fault::UnknownTag("!own".into()), 2, 9),
        ("a: !!int x", Fault::WrongTag("int".into()), 1, 10),
        ("a: !!seq {}", Fault::WrongTag("seq".into()), 1, 10),
        ("? [a]\n: b", Fault::Key("a list"), 1, 3),
        ("<<: 3", Fault::Merge("a number"), 1, 5),
        ("<<: [1]", Fault::Merge("a number"), 1, 5),
        ("a: &a [*a]", Fault::RecursiveAlias, 1, 8),
        ("a: \u{7}", Fault::Character('\u{7}'), 1, 4),
    ] {
        let error = error(text);
        let position = error.position.unwrap();
        assert_eq!((&error.fault, position.line, position.column), (&fault, line, column), "{text:?}");
    }
    for text in ["a: [", "a: *nothing", "a:\n\t- b", "a: 'b", "a: b: c"] {
        assert!(matches!(error(text), Error { fault: Fault::Syntax(_), position: Some(_) }), "{text:?}");
    }
    assert_eq!(error("a: 1\n---\nb: 2").to_string(), "several YAML documents in one file at line 2 column 1");
}

#[test]
fn nesting_is_bounded() {
    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
        assert_eq!(error(&nested(open, close, 100_000)).fault, Fault::TooDeep, "{open}");
    }
    assert!(yaml::parse(&nested("[", "]", MAX_DEPTH)).is_ok());
    assert_eq!(error(&nested("[", "]", MAX_DEPTH + 1)).fault, Fault::TooDeep);
    let mixed = format!("- {}{}", "- ".repeat(MAX_DEPTH - 4), "[[]]");
    assert!(yaml::parse(&mixed).is_ok());
    assert_eq!(error(&format!("- - {mixed}")).fault, Fault::TooDeep);
}

#[test]
fn aliases_cannot_multiply_without_end() {
    // Each line ten times the one before: ten thousand millions in all.
    let mut billions = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for at in 1..10 {
        let aliases = vec![format!("*a{}", at - 1); 10].join(", ");
        billions.push_str(&format!("a{at}: &a{at} [{aliases}]\n"));
    }
    assert_eq!(error(&billions).fault, Fault::TooManyNodes);
    let flat = format!("a: &a [{}]\nb: [{}]", "x, ".repeat(20_000), "*a, ".repeat(20_000));
    assert_eq!(error(&flat).fault, Fault::TooManyNodes);
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), "*a, ".repeat(100));
    assert_eq!(error(&long).fault, Fault::TooMuchText);
    assert!(error(&long).to_string().contains("64 MiB of text"));
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Rule {
    pattern: String,
    #[serde(default)]
    vendor: Option<Vendor>,
    limit: Option<f64>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Vendor {
    Amd,
}

#[test]
fn types_of_serde_are_filled() {
    let rules: Vec<Rule> =
        yaml::from_str("- &r {pattern: a, vendor: amd, limit: 2}\n- {<<: *r, pattern: b, limit: ~}").unwrap();
    assert_eq!(rules[0], Rule { pattern: "a".into(), vendor: Some(Vendor::Amd), limit: Some(2.0) });
    assert_eq!(rules[1], Rule { pattern: "b".into(), vendor: Some(Vendor::Amd), limit: None });
}

#[test]
fn what_does_not_fit_a_type_is_named_with_its_place() {
    let reason = |text: &str| yaml::from_str::<Vec<Rule>>(text).unwrap_err().to_string();
    assert_eq!(
        reason("- pattern: 5\n"),
        "[0].pattern: invalid type: integer `5`, expected a string at line 1 column 12"
    );
    assert!(reason("- pattern: a\n- {pattern: b,\n   vendor: intel}").ends_with("expected `amd` at line 3 column 12"));
    assert!(reason("- pattern: a\n  vendors: amd\n").starts_with("[0].vendors: unknown field `vendors`"));
    assert_eq!(reason("- {pattern: a, vendor: [x]}"), "[0].vendor: must be a text, not a list at line 1 column 24");
    assert_eq!(reason("a: 1"), "invalid type: map, expected a sequence at line 1 column 1");
}

proptest! {
    #[test]
    fn never_panics(text in "[-:?,\\[\\]{}#&*!|>'\"%@ \n\ta0~<.]{0,60}") {
        let _ = yaml::parse(&text);
        let _ = yaml::from_str::<Vec<Rule>>(&text);
    }

    #[test]
    fn quoted_texts_come_back(text in "[ -~\u{a0}-\u{d7ff}]{0,40}") {
        let quoted = format!("'{}'", text.replace('\'', "''"));
        prop_assert_eq!(yaml::parse(&quoted).unwrap(), Node::Text(text.clone()));
        let escaped = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(yaml::parse(&escaped).unwrap(), Node::Text(text));
    }
}
