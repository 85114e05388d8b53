//! What a forward pass takes in two databases.

use perfdb_audit::coverage::{Question, Workload};
use perfdb_audit::versions::{Place, workload};
use perfdb_query::{DType, Query, Tensor};
use std::fs;
use std::path::Path;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const MAPPING: &str =
    "operator_mappings:\n  aten.mm.default: {kernel_type: MatMulV2}\n  aten.add.Tensor: {kernel_type: Add}\n";

fn database(folder: &Path, product_us: f64) -> std::io::Result<()> {
    const HEADER: &str = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n";
    fs::create_dir_all(folder)?;
    let products = format!(
        "\"16,64;64,32\",FLOAT;FLOAT,ND;ND,{product_us}\n\"32,64;64,32\",FLOAT;FLOAT,ND;ND,{}\n",
        2.0 * product_us
    );
    fs::write(folder.join("MatMulV2.csv"), format!("{HEADER}{products}"))?;
    fs::write(folder.join("Add.csv"), format!("{HEADER}\"16,32;16,32\",FLOAT;FLOAT,ND;ND,10\n"))?;
    fs::write(folder.join("op_mapping.yaml"), MAPPING)
}

fn question(operator: &str, shapes: [[i64; 2]; 2], calls: u64) -> Question {
    let query = shapes
        .into_iter()
        .fold(Query::operator(operator), |query, shape| query.input(Tensor::new(shape, DType::Float32)));
    Question::new(operator, query).calls(calls)
}

#[test]
fn errors_of_kernels_do_not_all_point_the_same_way() -> TestResult {
    let folder = tempfile::tempdir()?;
    database(&folder.path().join("a"), 100.0)?;
    database(&folder.path().join("b"), 200.0)?;
    let [a, b] = ["a", "b"].map(|name| Place::open(&folder.path().join(name)));
    let pass = Workload {
        name: "pass".to_owned(),
        questions: vec![
            question("aten.mm.default", [[16, 64], [64, 32]], 3),
            question("aten.mm.default", [[32, 64], [64, 32]], 1),
            question("aten.add.Tensor", [[16, 32], [16, 32]], 5),
        ],
    };
    let found = workload::compare(&a?, &b?, &[pass])?;
    // Upper halves: of calls of one place they add up; those of two places of a kernel type have 0.3 in common, two types nothing.
    let high_us = |product_us: f64| {
        let (long, short) = (0.02f64.exp() - 1.0, 0.04f64.exp() - 1.0);
        let halves = [3.0 * product_us * long, 2.0 * product_us * long];
        let squares: f64 = halves.iter().map(|half| half * half).sum();
        let sum: f64 = halves.iter().sum();
        5.0 * product_us + 50.0 + (0.7 * squares + 0.3 * sum * sum + (50.0 * short).powi(2)).sqrt()
    };
    for (interval, expected) in found[0].intervals_us.iter().zip([high_us(100.0), high_us(200.0)]) {
        assert!((interval[1] - expected).abs() < 1e-9, "{interval:?}, not {expected}");
    }
    assert_eq!((found[0].answered.a_us, found[0].answered.b_us), (550.0, 1050.0));
    Ok(())
}
