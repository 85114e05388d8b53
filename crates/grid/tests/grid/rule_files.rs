//! What a rule file may hold, and how mistakes are reported.

use std::path::Path;

use perfdb_grid::rules::RuleFile;

fn mistake(text: &str) -> String {
    let error = RuleFile::parse(Path::new("rules.yaml"), text).expect_err(text).to_string();
    error.strip_prefix("rules.yaml: ").expect("the file first").to_owned()
}

/// A file with one pattern; what is wrong in it.
fn in_pattern(lines: &str) -> String {
    mistake(&format!("patterns:\n  p:\n    inputs: ['(a,)']\n    outputs: ['(a,)']\n    {lines}\n"))
}

#[test]
fn the_place_the_word_and_the_line() {
    let cases = [
        ("iterators: {a: NO_GRID}", "patterns.p.iterators.a: unknown grid 'NO_GRID' (line 5)"),
        ("iterators: {a: 5}", "patterns.p.iterators.a: a grid is a name or a list of integers, not a number (line 5)"),
        (
            "iterators:\n      a: [1,\n        two]",
            "patterns.p.iterators.a[1]: a grid is a name or a list of integers, not 'two' (line 7)",
        ),
        ("iterators: {a: [1], 2x: [1]}", "patterns.p.iterators.2x: '2x' is not a variable name (line 5)"),
        ("iterators: {a: [1], __b: [1]}", "patterns.p.iterators.__b: '__b' is not a variable name (line 5)"),
        (
            "iterators: {a: [1], max: [1]}",
            "patterns.p.iterators.max: 'max' is a word of the expression language (line 5)",
        ),
        ("iterators: {a: [1], if: [1]}", "patterns.p.iterators.if: 'if' is a word of the expression language (line 5)"),
        ("iterators: [a]", "patterns.p.iterators: must be a mapping, not a list (line 5)"),
        ("constants: {a: 1.5}", "patterns.p.constants.a: the constant 'a' must be an integer (line 5)"),
        ("constants: {a: x}", "patterns.p.constants.a: the constant 'a' must be an integer (line 5)"),
        ("constants: {a: 1}\n    iterators: {a: [1]}", "patterns.p.constants.a: 'a' is defined twice (line 5)"),
        ("constants: {a: 1, N: 2}\n    model_nk_pairs: true", "patterns.p.constants.N: 'N' is defined twice (line 5)"),
        (
            "constants: {a: 1, x: 2}\n    model_nk_pairs: true\n    fallback_iterators: {x: [1]}",
            "patterns.p.constants.x: 'x' is defined twice (line 5)",
        ),
        (
            "constants: {a: 1}\n    model_nk_pairs: 1",
            "patterns.p.model_nk_pairs: must be true or false, not a number (line 6)",
        ),
        (
            "constants: {a: 1}\n    constraints: a > 1",
            "patterns.p.constraints: 'constraints' must be a list of texts, not a text (line 6)",
        ),
        (
            "constants: {a: 1}\n    constraints:\n    - a > 1\n    - a > bogus",
            "patterns.p.constraints[1]: 'a > bogus': unknown name 'bogus' (line 8)",
        ),
        (
            "constants: {a: 1}\n    constraints: [true]",
            "patterns.p.constraints[0]: must be a text, not a boolean (line 6)",
        ),
        ("constants: {b: 1}", "patterns.p.inputs[0]: '(a,)': unknown name 'a' (line 3)"),
        ("constants: {a: 1}\n    colour: red", "patterns.p.colour: unknown key 'colour' (line 6)"),
        (
            "constants: {a: 1}\n    input_dtypes: DT_BF16",
            "patterns.p.input_dtypes: 'input_dtypes' must be a list of texts, not a text (line 6)",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(in_pattern(lines), expected, "{lines}");
    }
}

#[test]
fn the_file_as_a_whole() {
    let cases = [
        ("", "the top level must be a mapping"),
        ("- a", "the top level must be a mapping"),
        ("extra: 1", "extra: unknown key 'extra' (line 1)"),
        ("\"a\\nb\": 1", r"a\nb: unknown key 'a\nb' (line 1)"),
        ("patterns: 3", "patterns: must be a mapping, not a number (line 1)"),
        ("patterns: {p: x}", "patterns.p: a pattern must be a mapping, not a text (line 1)"),
        ("assignments:\n  Add: nothing_here", "assignments.Add: unknown pattern 'nothing_here' (line 2)"),
        ("assignments:\n  Add: 3", "assignments.Add: must be a text, not a number (line 2)"),
        (
            "patterns:\n  p:\n    generator_function: _theory_x",
            "patterns.p.generator_function: unknown generator function '_theory_x' (line 3)",
        ),
        (
            "patterns:\n  p:\n    generator_function: _theory_dfc\n    inputs: []",
            "patterns.p.inputs: unknown key 'inputs' beside generator_function '_theory_dfc' (line 4)",
        ),
        (
            "patterns: {p: {generator_function: }}",
            "patterns.p.generator_function: must be a text, not nothing (line 1)",
        ),
        ("patterns: {p: {outputs: []}}", "patterns.p: 'inputs' is missing (line 1)"),
        ("patterns: {p: {inputs: []}}", "patterns.p: 'outputs' is missing (line 1)"),
    ];
    for (text, expected) in cases {
        assert_eq!(mistake(text), expected, "{text}");
    }
    assert!(mistake("patterns: [").starts_with("not YAML: "), "{}", mistake("patterns: ["));
    assert!(mistake("a: b: c").contains("line 1"), "{}", mistake("a: b: c"));
}

#[test]
fn names_must_be_defined_with_models_and_without() {
    let only_without = "patterns:\n  p:\n    model_nk_pairs: true\n    fallback_iterators: {N: [1], K: [1], x: [2]}\n    inputs: ['(N, x)']\n    outputs: []\n";
    assert_eq!(
        mistake(only_without),
        "patterns.p.inputs[0]: '(N, x)': 'x' is defined only without target models (line 5)"
    );
    let only_with = "patterns:\n  p:\n    model_nk_pairs: true\n    inputs: ['(N, K)']\n    outputs: []\n";
    assert_eq!(mistake(only_with), "patterns.p.inputs[0]: '(N, K)': 'N' is defined only with target models (line 4)");
}

#[test]
fn what_has_no_effect_is_told() {
    let text = "patterns:\n  p:\n    iterators: {a: [1]}\n    fallback_iterators: {b: [1]}\n    inputs: ['(a,)']\n    outputs: []\n";
    let rules = RuleFile::parse(Path::new("rules.yaml"), text).expect("valid");
    assert_eq!(
        rules.warnings(),
        ["rules.yaml: patterns.p.fallback_iterators: without effect, as model_nk_pairs is not true"]
    );
}

#[test]
fn the_built_in_rules_cover_every_kernel_once() {
    let rules = RuleFile::built_in();
    assert!(rules.warnings().is_empty());
    assert_eq!(rules.assignment("MatMulCommon"), Some("skip"));
    assert_eq!(rules.assignment("reshape_and_cache_200000000"), Some("reshape_and_cache"));
    assert_eq!(rules.assignment("NoKernel"), None);
}
