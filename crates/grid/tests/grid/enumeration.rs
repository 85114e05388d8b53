//! Every candidate of every built-in rule, for several lists of models, against the original's.

use perfdb_grid::Semantics;
use perfdb_grid::candidate::Candidate;
use perfdb_grid::enumeration::{Enumeration, ModelChoice};
use perfdb_grid::models::Models;
use perfdb_grid::rules::RuleFile;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::vectors::{self, list, text};

fn names(value: &Value) -> Option<Vec<String>> {
    value.as_array().map(|names| names.iter().map(|name| name.as_str().expect("a text").to_owned()).collect())
}

/// Input shapes, output shapes and the cells it sets, in the ascending order of their columns.
fn line(candidate: &Candidate, columns: &[&str]) -> String {
    let mut line = String::new();
    candidate.inputs.push_text(&mut line);
    line.push('|');
    candidate.outputs.push_text(&mut line);
    let mut cells: Vec<_> = columns.iter().zip(candidate.cells.iter()).collect();
    cells.sort();
    for (column, cell) in cells {
        line.push_str(&format!("|{column}={cell}"));
    }
    line
}

#[test]
fn candidates_of_every_rule() {
    let rules = RuleFile::built_in();
    for case in list(&vectors::json("enumeration.json"), "candidates") {
        let pattern = text(case, "pattern");
        let what = format!("{pattern}, {}", case["models"]);
        assert_eq!(rules.assignment(text(case, "kernel")), Some(pattern), "{what}");
        let models = ModelChoice::new(names(&case["models"]).as_deref(), Semantics::Upstream).expect("known models");
        let rule = rules.pattern(pattern).expect("a built-in pattern");
        let enumeration = Enumeration::new(&rules, pattern, rule, &models).expect("expressions have values");
        let count = case["count"].as_u64().expect("a count");
        assert_eq!(enumeration.count(), count, "{what}");
        let (mut maker, mut candidate) = (enumeration.maker(), Candidate::default());
        let mut digest = Sha256::new();
        let mut lines = Vec::new();
        for position in 0..count {
            maker.make(position, &mut candidate).expect("expressions have values");
            let line = line(&candidate, enumeration.columns());
            digest.update(line.as_bytes());
            digest.update(b"\n");
            lines.push(line);
        }
        let ends = |expected: &Value| names(expected).unwrap_or_default();
        let first = ends(&case["first"]);
        assert_eq!(lines[..first.len().min(lines.len())], first, "first of {what}");
        let last = ends(&case["last"]);
        assert_eq!(lines[lines.len() - last.len()..], last, "last of {what}");
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(digest, text(case, "sha256"), "{what}");
        lines.sort();
        lines.dedup();
        assert_eq!(Some(lines.len() as u64), case["distinct"].as_u64(), "distinct of {what}");
    }
}

#[test]
fn weight_pairs_of_models() {
    for case in list(&vectors::json("enumeration.json"), "nk_pairs") {
        let models = Models::named(&names(&case["models"]).expect("names"), Semantics::Upstream).expect("known models");
        let pairs: Vec<Vec<i128>> =
            models.weight_pairs(Semantics::Upstream).iter().map(|(n, k)| vec![*n, *k]).collect();
        let expected: Vec<Vec<i128>> = list(case, "pairs")
            .iter()
            .map(|pair| {
                pair.as_array().expect("a pair").iter().map(|size| size.as_i64().expect("a size").into()).collect()
            })
            .collect();
        assert_eq!(pairs, expected, "{}", case["models"]);
    }
}

#[test]
fn every_accepted_spelling_names_its_model() {
    let file = vectors::json("enumeration.json");
    for (display, spellings) in file["normalised_model_names"].as_object().expect("a mapping") {
        for spelling in names(spellings).expect("names") {
            let models = Models::named(std::slice::from_ref(&spelling), Semantics::Upstream).expect("a known model");
            assert_eq!(models.iter().next().map(|model| model.name.as_str()), Some(display.as_str()), "{spelling}");
        }
    }
}
