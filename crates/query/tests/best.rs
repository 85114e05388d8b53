//! Predictions with intervals: `--semantics best`.

use perfdb_query::{Argument, Class, DType, Database, Layer, Query, ReaderSemantics, Source, Tensor, answer_to_json};
use std::fmt::Write;

const MAPPING: &str = "operator_mappings:\n  \
    aten.mm.default: {kernel_type: MatMulV2}\n  \
    two.default: {composite: true, sub_kernels: [MatMulV2, hcom_allReduce_]}\n  \
    tensor_cast.all_reduce.default: {kernel_type: hcom_allReduce_, category: communication}\n";

/// Microseconds of a product: 3 for the call, then 300 GFLOP/s.
fn product_us(rows: i64, inner: i64, columns: i64) -> f64 {
    3.0 + 2.0 * (rows * inner * columns) as f64 / 3e8
}

fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for rows in [1, 4, 16, 64, 256, 1024, 4096] {
        for inner in [256, 512, 1024, 2048] {
            for columns in [256, 1024, 4096] {
                let us = product_us(rows, inner, columns);
                writeln!(table, "\"{rows},{inner};{inner},{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
            }
        }
    }
    std::fs::write(folder.path().join("MatMulV2.csv"), table).expect("a file");
    let mut sizes = "message_bytes,num_devices,topology_tier,Average Duration(us)\n".to_owned();
    for devices in [2, 4, 8, 16] {
        for power in 10..24 {
            let us = 5.0 + f64::from(devices) + f64::from(1 << power) / 1e4;
            writeln!(sizes, "{},{devices},0,{us}", 1 << power).expect("a string");
        }
    }
    std::fs::write(folder.path().join("hcom_allReduce_.csv"), sizes).expect("a file");
    std::fs::write(folder.path().join("op_mapping.yaml"), MAPPING).expect("a file");
    let database = Database::open(folder.path()).expect("a database");
    (folder, database)
}

fn product(rows: i64, inner: i64, columns: i64) -> Query {
    Query::operator("aten.mm.default")
        .input(Tensor::new([rows, inner], DType::BFloat16))
        .input(Tensor::new([inner, columns], DType::BFloat16))
}

#[test]
fn an_exact_row_is_measured_and_has_an_interval() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let corrected = database.reader(ReaderSemantics::Corrected, Layer::Interpolating);
    let query = product(64, 512, 1024);
    let answer = best.lookup(&query).expect("a row");
    assert_eq!(answer.duration_us, corrected.lookup(&query).expect("a row").duration_us);
    let prediction = answer.prediction().expect("an interval");
    assert_eq!((answer.source, prediction.class), (Source::Measured, Class::Measured));
    assert!(prediction.low_us < answer.duration_us && answer.duration_us < prediction.high_us);
    assert_eq!(corrected.lookup(&query).expect("a row").prediction(), None);
}

#[test]
fn between_beyond_and_beside_rows_are_predicted() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    for ((rows, inner, columns), class) in [
        ((100, 512, 1024), Class::Inside),
        ((16384, 512, 1024), Class::Beyond),
        ((64, 768, 2048), Class::NewConfiguration),
    ] {
        let answer = best.lookup(&product(rows, inner, columns)).expect("a prediction");
        let truth = product_us(rows, inner, columns);
        let prediction = answer.prediction().expect("an interval");
        assert_eq!((prediction.class, answer.source), (class, Source::Interpolated));
        assert!((answer.duration_us / truth - 1.0).abs() < 0.05, "{} for {truth}", answer.duration_us);
        assert!(prediction.low_us <= answer.duration_us && answer.duration_us <= prediction.high_us);
        assert!(prediction.sentence.contains("of the fitted roofline"), "{}", prediction.sentence);
        assert_eq!(prediction.rows[0].0, answer.rows[0]);
        let json = answer_to_json(&Ok(answer));
        assert_eq!(json["class"], class.name());
    }
}

#[test]
fn doubt_names_a_slice_of_the_table() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let doubt = |rows| {
        let answer = best.lookup(&product(rows, 512, 1024)).expect("an answer");
        answer.prediction().expect("an interval").doubt.clone()
    };
    assert_eq!(doubt(64), None);
    let (near, far) = (doubt(100).expect("a prediction"), doubt(65536).expect("a prediction"));
    assert!(near.sigma < far.sigma, "{near:?} {far:?}");
    let slices = database.slices("MatMulV2").expect("a table").expect("a table");
    assert_eq!((slices.len(), slices[0].places.len(), slices[0].axes.as_slice()), (1, 84, ["M", "N", "K"].as_slice()));
    let first = slices[0].places.iter().map(|(_, line, _)| *line).min();
    assert_eq!((Some(near.slice_row), Some(far.slice_row)), (first, first));
    assert_eq!(database.slices("NoSuch").expect("no error"), None);
}

#[test]
fn a_sum_has_the_interval_of_its_parts() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let ranks = Argument::List((0..4).map(Argument::Integer).collect());
    let query = Query::operator("two.default")
        .input(Tensor::new([100, 512], DType::BFloat16))
        .input(Tensor::new([512, 1024], DType::BFloat16))
        .argument(ranks)
        .tier(0);
    let answer = best.lookup(&query).expect("a sum");
    let prediction = answer.prediction().expect("an interval");
    assert_eq!(answer.parts().len(), 2);
    assert!(prediction.low_us < answer.duration_us && answer.duration_us < prediction.high_us);
}
