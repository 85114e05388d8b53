//! The interval of a row that is there several times.

use perfdb_query::{DType, Database, Layer, Prediction, Query, ReaderSemantics, Tensor};

const MAPPING: &str = "operator_mappings:\n  aten.mm.default: {kernel_type: MatMulV2}\n";

/// The interval of 64 rows, over the duration that answers, in a database of these durations of 16, 64 and 256 rows.
fn interval(durations: &[(i64, &str, f64)]) -> [f64; 2] {
    let prediction = prediction(durations);
    [prediction.low_us / 10.0, prediction.high_us / 10.0]
}

/// What is said of 64 rows, which the first row of them answers with 10 µs.
fn prediction(durations: &[(i64, &str, f64)]) -> Prediction {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for (rows, format, us) in durations {
        table += &format!("\"{rows},512;512,1024\",DT_BF16;DT_BF16,ND;{format},{us}\n");
    }
    std::fs::write(folder.path().join("MatMulV2.csv"), table).expect("a file");
    std::fs::write(folder.path().join("op_mapping.yaml"), MAPPING).expect("a file");
    let database = Database::open(folder.path()).expect("a database");
    let query = Query::operator("aten.mm.default")
        .input(Tensor::new([64, 512], DType::BFloat16))
        .input(Tensor::new([512, 1024], DType::BFloat16));
    let answer = database.reader(ReaderSemantics::Best, Layer::Interpolating).lookup(&query).expect("a row");
    assert_eq!(answer.duration_us, 10.0, "the first row answers");
    answer.prediction().expect("an interval").clone()
}

#[test]
fn repeats_that_differ_make_it_wide() {
    let alone = interval(&[(16, "ND", 9.0), (64, "ND", 10.0), (256, "ND", 20.0)]);
    assert!((alone[1].ln() - 0.04).abs() < 1e-9, "{alone:?}");
    let twice = interval(&[(16, "ND", 9.0), (64, "ND", 10.0), (64, "ND", 13.0)]);
    assert!((twice[1].ln() - 1.645 * 1.3f64.ln()).abs() < 1e-9, "{twice:?}");
    assert!((twice[0] * twice[1] - 1.0).abs() < 1e-9, "{twice:?}");
    let thrice = interval(&[(64, "ND", 10.0), (64, "ND", 10.0), (64, "ND", 13.0)]);
    assert!((thrice[1].ln() - 1.645 * 1.3f64.ln() / 2f64.sqrt()).abs() < 1e-9, "{thrice:?}");
}

#[test]
fn repeats_that_agree_make_it_no_narrower() {
    let equal = interval(&[(64, "ND", 10.0), (64, "ND", 10.0), (64, "ND", 10.001)]);
    assert!((equal[1].ln() - 0.04).abs() < 1e-9, "{equal:?}");
}

#[test]
fn rows_of_another_format_are_no_repeats() {
    let other = interval(&[(64, "ND", 10.0), (64, "FRACTAL_NZ", 13.0), (16, "ND", 8.0)]);
    assert!((other[1].ln() - 0.04).abs() < 1e-9, "{other:?}");
}

#[test]
fn the_row_that_makes_it_wide_is_named() {
    let told = |us| prediction(&[(64, "ND", 10.0), (64, "ND", 10.1), (64, "ND", us)]).sentence;
    assert!(
        told(13.0).ends_with(", measured: MatMulV2.csv:2; MatMulV2.csv:4 has 13.0 µs for the same case"),
        "{}",
        told(13.0)
    );
    assert!(told(10.2).ends_with(", measured: MatMulV2.csv:2"), "{}", told(10.2));
    assert!(told(1e300).ends_with("; MatMulV2.csv:4 has 1.0e300 µs for the same case"), "{}", told(1e300));
}

#[test]
fn an_absurd_repeat_makes_no_infinite_interval() {
    let absurd = interval(&[(64, "ND", 10.0), (64, "ND", 1e300)]);
    assert!((absurd[1].ln() - 1.645 * 1000f64.ln()).abs() < 1e-9, "{absurd:?}");
}
