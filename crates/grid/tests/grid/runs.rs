//! Runs over small databases: what is written, what is left alone, what is refused.

use std::fs;
use std::path::Path;
use std::time::Duration;

use perfdb_files::lock::{DirectoryLocks, LockOptions};
use perfdb_grid::routing::NoRule;
use perfdb_grid::summary::{Reason, Summary};
use perfdb_grid::{Choice, Error, Mode, Options, Semantics, prepare};
use tempfile::TempDir;

const LOCKING: LockOptions<'static> = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    folder
}

fn options(folder: &TempDir) -> Options {
    Options {
        directory: folder.path().to_owned(),
        models: None,
        rows: 0.into(),
        choice: Choice::Random,
        seed: 1.into(),
        max_hbm_gib: 0.0,
        config: None,
        semantics: Semantics::Upstream,
        threads: None,
    }
}

fn write(options: &Options) -> Result<Summary, Error> {
    prepare(options, Mode::Write(&LOCKING), None, &|_, _| {})?.commit(Vec::new())
}

fn look(options: &Options) -> Result<Summary, Error> {
    Ok(prepare(options, Mode::DryRun, None, &|_, _| {})?.summary().clone())
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).expect("a file")
}

fn rules(folder: &TempDir, text: &str) -> Option<std::path::PathBuf> {
    let path = folder.path().join("rules.yaml");
    fs::write(&path, text).expect("a file");
    Some(path)
}

const ADD: &str = "OP State,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Duration\ns,\"\"\"1,2;1,2\"\"\",FLOAT;FLOAT,ND;ND,\"\"\"1,2\"\"\",FLOAT,3\n";

#[test]
fn a_failure_in_the_last_file_changes_no_file_and_leaves_nothing() {
    let folder = folder(&[("Add.csv", ADD), ("RmsNorm.csv", "Input Shapes\n\"1,x\"\n")]);
    let error = write(&options(&folder)).expect_err("a shape that is none").to_string();
    assert!(error.ends_with("RmsNorm.csv: row 1: Input Shapes: '1,x' is not a shape"), "{error}");
    assert_eq!(read(&folder, "Add.csv"), ADD);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
}

#[test]
fn of_several_failures_the_first_file_is_named() {
    let long_row = "Input Shapes\n1\n1,2\n";
    let folder = folder(&[("Mul.csv", long_row), ("Add.csv", long_row), ("Sub.csv", long_row)]);
    for _ in 0..20 {
        let error = write(&options(&folder)).expect_err("long rows").to_string();
        assert!(error.ends_with("Add.csv: line 3: 2 cells, header has 1"), "{error}");
    }
}

#[test]
fn a_table_that_is_no_text_is_named() {
    let folder = folder(&[("Add.csv", ADD)]);
    fs::write(folder.path().join("Sub.csv"), b"Input Shapes\n\xff\n").expect("a file");
    let error = write(&options(&folder)).expect_err("bytes").to_string();
    assert!(error.ends_with("Sub.csv: not UTF-8 (at byte 13)"), "{error}");
}

#[test]
fn a_dry_run_tells_the_same_and_neither_writes_nor_waits() {
    let folder = folder(&[("Add.csv", ADD), ("Other.csv", "x\n")]);
    let locks = DirectoryLocks::acquire([folder.path()], &LOCKING).expect("a lock");
    let seen = look(&options(&folder)).expect("a dry run");
    assert!(matches!(write(&options(&folder)), Err(Error::Files(perfdb_files::Error::Locked { .. }))));
    drop(locks);
    assert_eq!(read(&folder, "Add.csv"), ADD);
    let done = write(&options(&folder)).expect("a run");
    assert_eq!((&seen.files, seen.appended()), (&done.files, done.appended()));
    assert_eq!(done.appended(), 481);
    assert_eq!(done.files[1].reason, Some(Reason::NoRule(NoRule::NotAssigned)));
}

#[test]
fn running_again_ends_with_the_same_bytes() {
    let folder = folder(&[("Add.csv", ADD), ("sub/MatMulV2.csv", ADD)]);
    let capped = Options { rows: 50.into(), ..options(&folder) };
    write(&capped).expect("a run");
    let first = (read(&folder, "Add.csv"), read(&folder, "sub/MatMulV2.csv"));
    let again = write(&capped).expect("a run");
    assert_eq!(again.appended(), 0);
    assert!(again.files.iter().all(|file| file.duplicates == 50 && file.reason == Some(Reason::NothingNew)));
    assert_eq!((read(&folder, "Add.csv"), read(&folder, "sub/MatMulV2.csv")), first);
}

#[test]
fn links_modes_and_strangers_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder(&[("real/add-table", ADD), ("db/Add.tmp.csv", "not mine"), ("db/Mul.csv", ADD)]);
    let (target, link) = (folder.path().join("real/add-table"), folder.path().join("db/Add.csv"));
    symlink(&target, &link).expect("a link");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("a mode");
    write(&Options { directory: folder.path().join("db"), ..options(&folder) }).expect("a run");
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(fs::metadata(&target).expect("a file").permissions().mode() & 0o777, 0o640);
    assert_eq!(read(&folder, "real/add-table").lines().count(), 2 + 481);
    assert_eq!(read(&folder, "db/Add.tmp.csv"), "not mine");
}

#[test]
fn huge_products_are_drawn_from_but_not_listed() {
    let folder = folder(&[("Op.csv", ADD)]);
    let text = "patterns:\n  p:\n    iterators: {a: M_GRID, b: M_GRID, c: M_GRID, d: M_GRID, e: M_GRID, f: M_GRID, g: M_GRID}\n    \
                inputs: ['(a, b, c, d, e, f, g)']\n    outputs: ['(a,)']\nassignments: {Op: p}\n";
    let huge = Options { config: rules(&folder, text), rows: 9.into(), ..options(&folder) };
    let summary = look(&huge).expect("a dry run");
    assert_eq!((summary.files[0].candidates, summary.appended()), (37_u64.pow(7), 9));
    let error = look(&Options { rows: 0.into(), ..huge.clone() }).expect_err("too many").to_string();
    assert!(error.contains("94931877133 points to look at"), "{error}");
    let error = look(&Options { rows: 20_000_000.into(), ..huge.clone() }).expect_err("too many").to_string();
    assert!(error.contains("20000000 points to look at"), "{error}");
    let constrained = text.replace("    inputs", "    constraints: ['a == b']\n    inputs");
    let error = look(&Options { config: rules(&folder, &constrained), ..huge }).expect_err("too many").to_string();
    assert!(error.contains("patterns.p: 94931877133 points"), "{error}");
}

#[test]
fn an_expression_without_a_value_is_named_with_its_variables() {
    let folder = folder(&[("Op.csv", ADD)]);
    let text = "patterns:\n  p:\n    iterators: {a: [4, 2]}\n    constants: {two: '2'}\n    constraints: ['8 // (a - two)']\n    \
                inputs: ['(a,)']\n    outputs: []\nassignments: {Op: p}\n";
    let error = look(&Options { config: rules(&folder, text), ..options(&folder) }).expect_err("a zero").to_string();
    assert!(
        error.contains("rules.yaml: patterns.p: '8 // (a - two)': division by zero (with a = 2, two = 2), for "),
        "{error}"
    );
    assert!(error.ends_with("Op.csv"), "{error}");
}

mod corrected {
    use super::*;

    fn corrected(folder: &TempDir) -> Options {
        Options { semantics: Semantics::Corrected, ..options(folder) }
    }

    #[test]
    fn a_file_without_a_new_row_keeps_its_bytes() {
        let folder = folder(&[("GroupedMatmul.csv", ADD)]);
        let dense = Options { models: Some(vec!["qwen3-32b".into()]), ..corrected(&folder) };
        assert_eq!(write(&dense).expect("a run").files[0].reason, Some(Reason::NoCandidates));
        assert_eq!(read(&folder, "GroupedMatmul.csv"), ADD);
        write(&Options { semantics: Semantics::Upstream, ..dense }).expect("a run");
        assert_eq!(read(&folder, "GroupedMatmul.csv"), ADD.replace('\n', "\r\n"));
    }

    #[test]
    fn the_cap_counts_rows_that_are_new_and_fit() {
        let folder = folder(&[("Add.csv", ADD)]);
        // 8 MiB: 1024 × 1024 floats in three tensors are too many.
        let capped = Options { rows: 40.into(), max_hbm_gib: 1.0 / 128.0, ..options(&folder) };
        let upstream = look(&capped).expect("a dry run");
        assert!(upstream.appended() < 40 && upstream.files[0].over_budget > 0);
        let corrected = Options { semantics: Semantics::Corrected, ..capped };
        assert_eq!(write(&corrected).expect("a run").appended(), 40);
        let again = write(&corrected).expect("a run");
        assert_eq!((again.appended(), again.files[0].duplicates), (40, 40));
    }

    #[test]
    fn batched_products_have_three_dimensions() {
        let folder = folder(&[("BatchMatMulV2.csv", ADD)]);
        let rule = |options| look(&options).expect("a dry run").files[0].rule.clone();
        assert_eq!(rule(options(&folder)).as_deref(), Some("matmul"));
        assert_eq!(rule(corrected(&folder)).as_deref(), Some("batch_matmul_nd"));
    }

    #[test]
    fn attention_heads_are_divided_over_ranks() {
        let columns = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Runtime attn_state\n1,FLOAT,ND,1,x\n";
        let folder = folder(&[("FusedInferAttentionScore.csv", columns)]);
        let qwen = Options { models: Some(vec!["qwen3-32b".into()]), ..corrected(&folder) };
        let summary = write(&qwen).expect("a run");
        // 136 pairs of batch and length for each of five head counts.
        assert_eq!(summary.appended(), 5 * 136);
        let table = read(&folder, "FusedInferAttentionScore.csv");
        for (heads, kv_heads) in [(64, 8), (32, 4), (16, 2), (8, 1), (4, 1)] {
            assert!(table.contains(&format!(",{heads},{kv_heads},3,TND,")), "{heads}");
        }
        // Runtime columns that no rule fills are empty, not 0.
        let first_new = table.lines().nth(2).expect("a new row");
        assert!(first_new.contains("\"\"\",,qwen332b_dense_"), "{first_new}");
    }

    #[test]
    fn a_row_takes_the_bytes_of_its_own_types() {
        let text = "patterns:\n  p:\n    iterators: {a: [1024]}\n    inputs: ['()', '(a,)']\n    outputs: []\n    \
                    input_dtypes: ['', DT_INT8]\n    input_formats: ['', ND]\nassignments: {Op: p}\n";
        let folder = folder(&[("Op.csv", "Input Shapes,Input Data Types,Input Formats\n1,DOUBLE;DT_DOUBLE,ND\n")]);
        // 1024 bytes as INT8, 2048 as an unknown name (upstream counts the first entry's), 8192 as DT_DOUBLE.
        let limited =
            Options { config: rules(&folder, text), max_hbm_gib: 1024.0 / f64::from(1 << 30), ..options(&folder) };
        assert_eq!(look(&limited).expect("a dry run").files[0].over_budget, 1);
        let corrected = Options { semantics: Semantics::Corrected, ..limited };
        assert_eq!(look(&corrected).expect("a dry run").files[0].over_budget, 0);
    }
}

#[test]
fn what_lies_in_a_folder_without_tables_is_counted_and_never_grows() {
    let below = ["reports/Add.csv", "PROF_1/x/Add.csv", "x/msprof_run_abc/Add.csv"];
    let folder = folder(&[("Add.csv", ADD), (below[0], ADD), (below[1], ADD), (below[2], ADD)]);
    let summary = write(&options(&folder)).expect("a run");
    assert_eq!(summary.files.len(), 4);
    for file in &summary.files {
        let path = file.path.strip_prefix(folder.path()).expect("below");
        let is_table = path == Path::new("Add.csv");
        assert_eq!(file.appended > 0, is_table, "{}", path.display());
        assert_eq!(file.reason.map(Reason::word), (!is_table).then_some("no-rule"), "{}", path.display());
    }
    for path in below {
        assert_eq!(std::fs::read_to_string(folder.path().join(path)).expect("a file"), ADD, "{path}");
        let around = std::fs::read_dir(folder.path().join(path).parent().expect("a folder")).expect("a folder");
        assert_eq!(around.count(), 1, "{path}");
    }
}

#[test]
fn the_reports_for_people_and_programs() {
    let folder = folder(&[
        ("Add.csv", ADD),
        ("Empty.csv", ""),
        ("Mul.csv", "Input Shapes\n"),
        ("Sub.csv", "version https://git-lfs.github.com/spec/v1\n"),
        ("Unknown.csv", ADD),
        ("Neg.csv", "Other\n1\n"),
        ("Log.csv", "\nInput Shapes\n1\n"),
        ("op_mapping.yaml", "operator_mappings: {a: {kernel_type: Add}}\n"),
    ]);
    let named = Options {
        models: Some(vec!["dsv3".into(), "Qwen/Qwen3-32B".into()]),
        rows: 5.into(),
        max_hbm_gib: 0.001,
        seed: (-7).into(),
        ..options(&folder)
    };
    let mut summary = look(&named).expect("a dry run");
    let anonymous = |path: &Path| Path::new("db").join(path.strip_prefix(folder.path()).expect("below"));
    for file in &mut summary.files {
        file.path = anonymous(&file.path);
    }
    summary.directory = "db".into();
    insta::assert_snapshot!("text", summary.text());
    insta::assert_snapshot!("json", summary.json());
    insta::assert_snapshot!("memory", summary.memory_lines().collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("warnings", summary.warnings().collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_tells_most_is_taken_instead_of_a_draw() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("Sort.csv");
    let header = "Input Shapes,Input Data Types,Average Duration(us)\n";
    // Rows of the rule's own shapes; the first is measured.
    let text = "patterns:\n  vectors:\n    iterators: {n: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]}\n    inputs: [\"(n,)\"]\n    outputs: [\"(n,)\"]\nassignments: {Sort: vectors}\n";
    fs::write(&path, format!("{header}1,DT_BF16,2.0\n")).unwrap();
    let planned = |rows: u32| Options {
        rows: rows.into(),
        choice: Choice::MostTelling,
        semantics: Semantics::Corrected,
        config: rules(&folder, text),
        ..options(&folder)
    };
    let summary = write(&planned(2)).unwrap();
    assert_eq!((summary.files[0].appended, summary.seed), (2, None));
    let written = fs::read_to_string(&path).unwrap();
    let shapes: Vec<&str> = written.lines().skip(2).map(|line| line.split(",DT").next().unwrap()).collect();
    // The farthest from the measured row, then the one in the middle between both.
    assert_eq!(shapes, ["\"\"\"32\"\"\"", "\"\"\"1024\"\"\""]);
    assert_eq!(write(&planned(99)).unwrap().files[0].appended, 8);
}
