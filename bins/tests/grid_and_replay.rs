//! What generate-shape-grid writes with `--semantics corrected`, op-replay can run.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use perfdb_replay::operator::{PlanOptions, SkipReason};
use perfdb_replay::operators;
use perfdb_replay::plan::{PlanSettings, RowPlan, plan_rows};
use perfdb_store::table::{ReadOptions, Table};
use perfdb_store::update::Mode;
use proptest::prelude::*;

const HEADER: &str = "OP State,Accelerator Core,Input Shapes,Input Data Types,Input Formats,Output Shapes,\
                      Output Data Types,Output Formats,Average Duration(us),aicore_time(us),Runtime attn_state";

/// Kernels that have a rule in the built-in rule file, some of which replay knows.
const KERNELS: [&str; 16] = [
    "MatMulV2",
    "MatMulV3",
    "BatchMatMulV2",
    "QuantBatchMatmulV3",
    "Add",
    "Mul",
    "MaskedFill",
    "ArgMaxV2",
    "RmsNorm",
    "SwiGlu",
    "DynamicQuant",
    "Transpose",
    "Slice",
    "Sort",
    "GroupedMatmul",
    "FusedInferAttentionScore",
];

fn generate(folder: &Path, seed: u32) -> String {
    let seed = seed.to_string();
    let mut command = Command::cargo_bin("generate-shape-grid").expect("the tool");
    command.arg("--database-path").arg(folder).args(["--rows", "25", "--semantics", "corrected", "--seed", &seed]);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How many rows follow the first, which is not the tool's. Panics where replay would refuse one, or one has a duration.
fn checked_rows(table: &Path, kernel: &str) -> usize {
    let Some(operator) = operators::find(kernel) else {
        let text = fs::read_to_string(table).expect("the table");
        assert_eq!(text.lines().count(), 2, "{kernel} cannot be replayed at all");
        return 0;
    };
    let settings = PlanSettings {
        update_mode: Mode::All,
        options: PlanOptions::default(),
        repeat: 1,
        warmup: 0,
        fresh_inputs: false,
    };
    let table = Table::read(table, &ReadOptions::database()).expect("the table");
    let duration = table.column("Average Duration(us)").expect("the column");
    for (at, row) in plan_rows(&table, operator, &settings).enumerate().skip(1) {
        assert!(matches!(row.plan, RowPlan::Case(_) | RowPlan::Skip(SkipReason::EpSize)), "{kernel}: {row:?}");
        assert_eq!(table.cell(at, duration), "", "{kernel}: nothing has been measured");
    }
    table.row_count() - 1
}

#[test]
fn plain_matrices_are_made_whatever_the_layout_of_the_first_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("MatMulV3.csv");
    let row = "static,MIX_AIC,\"\"\"16,7168;4,448,16,16\"\"\",DT_BF16;DT_BF16,ND;FRACTAL_NZ,\"\"\"16,64\"\"\",DT_BF16,ND,7.5,7,";
    fs::write(&table, format!("{HEADER}\n{row}\n")).expect("a file");
    assert_eq!(generate(folder.path(), 1), "");
    assert_eq!(checked_rows(&table, "MatMulV3"), 25);
}

#[test]
fn rows_have_a_slot_for_each_data_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |inputs: &str, types: &str, outputs: &str, output_types: &str| {
        let (inputs, outputs) = (format!("\"\"\"{inputs}\"\"\""), format!("\"\"\"{outputs}\"\"\""));
        format!("{HEADER}\nstatic,AIV,{inputs},{types},ND;ND,{outputs},{output_types},ND;ND,7.5,7,\n")
    };
    let tables = [
        // The last output is absent and has a type; the rule makes no slot for it.
        (
            "RmsNorm",
            row("16,64;64", "DT_BF16;DT_BF16", "16,64;16,1;", "DT_BF16;FLOAT;FLOAT"),
            ",1;\"\"\",DT_BF16;FLOAT;FLOAT,",
        ),
        // The rule makes a third input without dimensions.
        ("PadV3", row("15,64;4", "DT_BF16;INT64", "16,64", "DT_BF16"), ";4\"\"\",DT_BF16;INT64,"),
    ];
    for (kernel, text, _) in &tables {
        fs::write(folder.path().join(format!("{kernel}.csv")), text).expect("a file");
    }
    generate(folder.path(), 1);
    for (kernel, _, expected) in tables {
        let text = fs::read_to_string(folder.path().join(format!("{kernel}.csv"))).expect("the table");
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), 25, "{kernel}");
        assert!(lines.iter().all(|line| line.contains(expected)), "{lines:?}");
    }
}

#[test]
fn shapes_that_cannot_be_replayed_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("MatMulV2.csv");
    fs::write(&table, format!("{HEADER}\nstatic,AIC,\"1,2;2,2\",STRANGE;STRANGE,ND;ND,\"1,2\",STRANGE,ND,7.5,7,\n"))
        .expect("a file");
    let notes = generate(folder.path(), 1);
    assert!(
        notes.starts_with("note: MatMulV2.csv: ") && notes.contains("left out, op-replay cannot run them"),
        "{notes}"
    );
    assert_eq!(checked_rows(&table, "MatMulV2"), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_generated_row_can_be_replayed(
        kernel in proptest::sample::select(KERNELS.to_vec()),
        slots in proptest::collection::vec(
            (
                proptest::sample::select(vec!["16,128", "2,16,128", "1", "", "4,448,16,16"]),
                proptest::sample::select(vec!["DT_BF16", "FLOAT16", "FLOAT", "INT8", "INT64", "BOOL", ""]),
                proptest::sample::select(vec!["ND", "FRACTAL_NZ", "NCHW"]),
            ),
            1..6,
        ),
        seed in any::<u32>(),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let joined = |part: fn(&(&'static str, &'static str, &'static str)) -> &'static str| {
            slots.iter().map(part).collect::<Vec<_>>().join(";")
        };
        let (shapes, types, formats) = (joined(|slot| slot.0), joined(|slot| slot.1), joined(|slot| slot.2));
        let (first_type, table) = (slots[0].1, folder.path().join(format!("{kernel}.csv")));
        let row = format!("static,AIC,\"{shapes}\",{types},{formats},\"16,128\",{first_type},ND,7.5,7,x");
        fs::write(&table, format!("{HEADER}\n{row}\n")).expect("a file");
        generate(folder.path(), seed);
        checked_rows(&table, kernel);
    }
}
