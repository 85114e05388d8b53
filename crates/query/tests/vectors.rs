//! The answers of the simulator's readers: all cases of both sets of vectors.

use perfdb_query::{Database, Fact, Facts, Layer, Query, ReaderSemantics, answer_to_json};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden").join(name)
}

/// What differs between an answer and the expected one.
fn difference(answer: &Value, expected: &Value) -> Option<String> {
    for key in ["hit", "source", "kernel_type", "rule", "method", "axes", "missed_kernels"] {
        if expected.get(key).is_some_and(|expected| answer.get(key).unwrap_or(&Value::Null) != expected) {
            return Some(key.to_owned());
        }
    }
    if let Some(reason) = expected["reason"].as_str() {
        let own = answer["reason"].as_str().unwrap_or_default();
        return (own.split(';').next() != Some(reason)).then(|| "reason".to_owned());
    }
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
    if (number(answer, "confidence") - number(expected, "confidence")).abs() > 1e-12 {
        return Some("confidence".to_owned());
    }
    let (own, us) = (number(answer, "duration_us"), number(expected, "latency_us"));
    let several = expected["axes"].as_array().is_some_and(|axes| axes.len() > 1) || expected["unique"].is_boolean();
    let is_fit = expected["rule"] == "comm" || expected["parts"].to_string().contains("\"comm\"");
    let tolerance = if several || is_fit { 1e-9 } else { 1e-12 };
    let is_same = match (&expected["unique"], expected["range_us"].as_array()) {
        (Value::Bool(false), Some(range)) => {
            let bound = |at: usize| range.get(at).and_then(Value::as_f64).unwrap_or(f64::NAN);
            own >= bound(0) * (1.0 - 1e-9) && own <= bound(1) * (1.0 + 1e-9)
        }
        _ => (own - us).abs() <= tolerance * us.abs(),
    };
    (!is_same).then(|| format!("duration_us {own}, expected {us}"))
}

fn check(folder: &str, semantics: ReaderSemantics, least: usize) -> TestResult {
    let folder = golden(folder);
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("vectors.json"))?)?;
    let database = Database::open(folder.join(vectors["database"].as_str().ok_or("no database")?))?;
    let cases = vectors["cases"].as_array().ok_or("no cases")?;
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for (layer, name) in [(Layer::Measured, "exact"), (Layer::Interpolating, "with_interpolation")] {
        let reader = database.reader(semantics, layer);
        for case in cases {
            let expected = &case[name];
            if expected.get("error").is_some() {
                continue;
            }
            let query = Query::from_json(&case["query"]).map_err(|error| format!("{}: {error}", case["name"]))?;
            let answer = reader.lookup(&query);
            if let Some(miss) = answer.as_ref().err().filter(|miss| miss.reason.meaning().contains("the rules for it"))
            {
                wrong.push(format!("{} ({name}): no words for {}", case["name"], miss.reason));
            }
            let answer = answer_to_json(&answer);
            if let Some(what) = difference(&answer, expected) {
                wrong.push(format!("{} ({name}): {what}\n   {answer}\n   {expected}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn the_newest_reader() -> TestResult {
    check("lookup-newest", ReaderSemantics::Upstream, 1170)
}

#[test]
fn the_reader_of_2025() -> TestResult {
    check("lookup", ReaderSemantics::Upstream2025, 64)
}

fn map_to_json(facts: &Facts) -> Value {
    Value::Object(facts.iter().map(|(name, fact)| ((*name).to_owned(), to_json(fact))).collect())
}

fn to_json(fact: &Fact) -> Value {
    match fact {
        Fact::None => Value::Null,
        Fact::Flag(flag) => json!(flag),
        Fact::Integer(number) => json!(number),
        Fact::Number(number) => json!(number),
        Fact::Text(text) => json!(text),
        Fact::List(facts) | Fact::Tuple(facts) => facts.iter().map(to_json).collect(),
        Fact::Map(facts) => map_to_json(facts),
    }
}

/// Whether two values are the same, numbers but for the last bits. Inner maps are texts in a trace, so their order counts.
fn is_same(own: &Value, expected: &Value, is_inner: bool) -> bool {
    match (own, expected) {
        (Value::Object(own), Value::Object(expected)) => {
            let is_there = |(name, expected)| own.get(name).is_some_and(|own| is_same(own, expected, true));
            let is_ordered = !is_inner || own.keys().eq(expected.keys());
            is_ordered && own.len() == expected.len() && expected.iter().all(is_there)
        }
        (Value::Array(own), Value::Array(expected)) => {
            own.len() == expected.len() && own.iter().zip(expected).all(|(own, expected)| is_same(own, expected, true))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= 1e-12 * b.abs())
        }
        _ => own == expected,
    }
}

/// The corners in the details of an answer and of its parts, with their weights, in order.
fn simplexes(details: &Value) -> Vec<Vec<(usize, f64)>> {
    let own = &details["simplex"];
    let (numbers, weights) = (own["simplex_vertex_indices"].as_array(), own["barycentric_weights"].as_array());
    let corners = numbers.into_iter().flatten().zip(weights.into_iter().flatten());
    let corners: Vec<(usize, f64)> =
        corners.filter_map(|(number, weight)| Some((number.as_u64()? as usize, weight.as_f64()?))).collect();
    let parts = details["sub_kernels"].as_array().into_iter().flatten();
    let of_parts = parts.flat_map(|part| simplexes(&part["details"]));
    Some(corners).filter(|corners| !corners.is_empty()).into_iter().chain(of_parts).collect()
}

#[test]
fn the_newest_reader_tells_the_same_of_answers_between_rows() -> TestResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/simulator/details.json");
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let folder = golden("lookup-newest");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("vectors.json"))?)?;
    let database = Database::open(folder.join(vectors["database"].as_str().ok_or("no database")?))?;
    let reader = database.reader(ReaderSemantics::Upstream, Layer::Interpolating);
    let mut wrong = Vec::new();
    let mut compared = 0;
    for case in vectors["cases"].as_array().ok_or("no cases")? {
        let name = case["name"].as_str().ok_or("no name")?;
        let expected = &expected["cases"][name];
        if expected.is_null() {
            continue;
        }
        compared += 1;
        let query = Query::from_json(&case["query"])?;
        let answer = reader.lookup(&query)?;
        // The library of the simulator's reader chooses the corners: those that it had.
        let twice = |corners: Vec<(usize, f64)>| corners.into_iter().map(|(at, weight)| (at, weight, weight)).collect();
        let mut asked = simplexes(&expected["details"]).into_iter().map(twice);
        let statistics = reader.statistics(&query, &answer, &mut |_, _| asked.next());
        let details = map_to_json(&statistics.details);
        if !is_same(&details, &expected["details"], false) {
            wrong.push(format!("{name}:\n   {details}\n   {}", expected["details"]));
        }
        let us = expected["latency_us"].as_f64().ok_or("no latency_us")?;
        let own = statistics.duration_us.unwrap_or(answer.duration_us);
        if (own - us).abs() > 1e-9 * us {
            wrong.push(format!("{name}: {own} us, expected {us}"));
        }
    }
    assert!(compared >= 45, "{compared}");
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn corners_that_nobody_chose_are_those_of_the_answer() -> TestResult {
    let folder = golden("lookup-newest");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("vectors.json"))?)?;
    let database = Database::open(folder.join(vectors["database"].as_str().ok_or("no database")?))?;
    let reader = database.reader(ReaderSemantics::Upstream, Layer::Interpolating);
    let mut compared = 0;
    for case in vectors["cases"].as_array().ok_or("no cases")? {
        let query = Query::from_json(&case["query"])?;
        let Ok(answer) = reader.lookup(&query) else { continue };
        let Some(between) = answer.interpolation().filter(|between| between.axes.len() > 1) else { continue };
        let mut places: Vec<Vec<f64>> = Vec::new();
        let statistics = reader.statistics(&query, &answer, &mut |all, target| {
            assert_eq!(target, between.target.as_slice());
            places = all.iter().map(|at| at.to_vec()).collect();
            None
        });
        assert_eq!(statistics.duration_us, None);
        let details = map_to_json(&statistics.details);
        let [corners] = &simplexes(&details)[..] else { return Err(format!("{}: {details}", case["name"]).into()) };
        let told: Vec<(Vec<f64>, f64)> = corners.iter().map(|(at, weight)| (places[*at].clone(), *weight)).collect();
        let own: Vec<(Vec<f64>, f64)> =
            between.points.iter().map(|place| (place.coordinates.to_vec(), place.weight)).collect();
        assert_eq!(told, own, "{}", case["name"]);
        assert_eq!(details["grid_quality"]["unique_point_count"], json!(places.len()), "{}", case["name"]);
        compared += 1;
    }
    assert!(compared > 90, "{compared}");
    Ok(())
}
