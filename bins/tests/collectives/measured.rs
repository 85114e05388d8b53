//! Runs that go well.

use crate::case::{Case, TestResult, expect_parts, expect_status, python};
use std::path::Path;
use std::process::Stdio;

const TABLES: [&str; 4] = ["hcom_allReduce_", "hcom_allGather_", "hcom_reduceScatter_", "hcom_alltoallv_"];

/// All four operators on 4 and 2 ranks, values checked in the ranks, tables, report, merge, and the alignment check.
pub(crate) fn a_laptop_measures_all_operators() -> TestResult {
    let case = Case::new()?;
    let run = |results: &str, launcher: &str| {
        let arguments = "--do-run --backend gloo --bench-mode event --num-devices 4 2 --grid-shape 2 2 \
                         --bytes-grid 1024 65536 1048576 --iters 8 --warmup 2 --output-dir out --report out/report.csv";
        let mut command = case.tool("generate-comm-microbench");
        command.args(arguments.split_whitespace()).args(["--results-dir", results, "--launcher", launcher]).output()
    };
    let output = run("first", "auto")?;
    expect_status(&output, 0)?;
    expect_parts(&output.stdout, &["algbw", "busbw", "reduce_scatter"])?;
    let points = [
        ("1024", "4", "0"),
        ("65536", "4", "0"),
        ("1048576", "4", "0"),
        ("1024", "2", "1"),
        ("65536", "2", "1"),
        ("1048576", "2", "1"),
    ];
    for table in TABLES {
        let rows = case.rows(Path::new(&format!("out/{table}.csv")))?;
        let found: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str(), row[3].as_str())).collect();
        assert_eq!(found, points, "{table}");
        assert!(rows.iter().all(|row| row[4].parse::<f64>().is_ok_and(|us| us > 0.0)), "{table}: {rows:?}");
    }
    every_point_is_verified(&case, "first", 24, 12)?;
    let report = case.read("out/report.csv")?;
    assert_eq!(report.lines().count(), 25);
    assert!(
        report.lines().skip(1).all(|line| line.split(',').nth(6) == line.split(',').nth(2)),
        "ranks reported:\n{report}"
    );

    let before = case.rows(Path::new("out/hcom_allReduce_.csv"))?;
    expect_status(&run("second", "direct")?, 0)?;
    let after = case.rows(Path::new("out/hcom_allReduce_.csv"))?;
    assert_eq!(after.len(), 6);
    assert_ne!(before, after);

    let mut validate = case.tool("validate-comm-alignment");
    let output = validate.args(["--csv-dir", "out", "--tolerance", "1e9", "--json", "alignment.json"]).output()?;
    expect_status(&output, 0)?;
    expect_parts(&output.stdout, &["TOTAL: 24 rows  PASS=24  WARN=0  FAIL=0"])?;
    expect_parts(case.read("alignment.json")?.as_bytes(), &["\"result\": \"OK\""])
}

/// Every rank says of each of its points that the values were right.
fn every_point_is_verified(case: &Case, results: &str, of_two: usize, of_four: usize) -> TestResult {
    for rank in 0..4 {
        let text = case.read(&format!("{results}/rank{rank}.jsonl"))?;
        let lines: Vec<serde_json::Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let verified = lines.iter().filter(|line| line["verified"] == true && !line["samples_us"].is_null()).count();
        // Ranks 2 and 3 are in the group of four alone.
        assert_eq!(verified, if rank < 2 { of_two } else { of_four }, "rank {rank}");
        assert_eq!(lines.last().map(|line| &line["done"]), Some(&serde_json::Value::Bool(true)), "rank {rank}");
    }
    Ok(())
}

/// Integers and single precision move and add up exactly; sizes that are no multiple of the group too.
pub(crate) fn every_dtype_is_verified() -> TestResult {
    let case = Case::new()?;
    for (dtype, name) in [("torch.int8", "DT_INT8"), ("torch.float32", "DT_FLOAT"), ("torch.float16", "DT_FP16")] {
        let arguments = "--do-run --backend gloo --bench-mode event --num-devices 3 1 --grid-shape 4 \
                         --bytes-grid 4 1001 --iters 1 --warmup 0 --launcher direct --point-budget 5";
        let mut command = case.tool("generate-comm-microbench");
        let output =
            command.args(arguments.split_whitespace()).args(["--dtype", dtype, "--output-dir", name]).output()?;
        expect_status(&output, 0)?;
        for table in TABLES {
            let rows = case.rows(Path::new(&format!("{name}/{table}.csv")))?;
            assert!(rows.len() == 4 && rows.iter().all(|row| row[2] == name), "{table}: {rows:?}");
        }
    }
    Ok(())
}

/// The batch tool, session by session.
pub(crate) fn the_standard_collection() -> TestResult {
    let case = Case::new()?;
    let arguments = "out --backend gloo --bench-mode event --grid-shape 2 2 --num-devices 2 --bytes-grid 1024 4096 --report report.json";
    let recorded = ["--measured-by", "Ana"];
    let output = case.tool("run-comm-bench").args(arguments.split_whitespace()).args(recorded).output()?;
    expect_status(&output, 0)?;
    let parts = ["[1/3] allReduce nd=2", "[3/3] alltoallv nd=2", "ok: 4 rows", "out/hcom_reduceScatter_.csv: 2 rows"];
    expect_parts(&output.stdout, &parts)?;
    for table in TABLES {
        assert_eq!(case.rows(Path::new(&format!("out/{table}.csv")))?.len(), 2, "{table}");
    }
    let report: Vec<serde_json::Value> = serde_json::from_str(&case.read("report.json")?)?;
    assert_eq!(report.len(), 8);
    // The sessions are one run.
    let record = perfdb_store::provenance::Record::load(&case.path("out"))?.ok_or("a record")?;
    let [run] = record.runs() else { return Err(format!("{:?}", record.runs()).into()) };
    assert_eq!((run.by.as_deref(), run.types.len()), (Some("Ana"), TABLES.len()));
    let setting = |name: &str| run.settings.get(name).map(String::as_str);
    assert_eq!([setting("backend"), setting("timing"), setting("iters")], [Some("gloo"), Some("event"), Some("100")]);

    let output =
        case.tool("run-comm-bench").args(arguments.split_whitespace()).args(["--existing", "error"]).output()?;
    expect_status(&output, 1)?;
    expect_parts(&output.stderr, &["error: out/hcom_allReduce_.csv: exists already"])
}

/// Kernel timing: the sessions of a real run on gloo, with a stand-in for the NPU's profiler that writes its kernel table.
pub(crate) fn profiler_sessions_become_rows() -> TestResult {
    let case = Case::new()?;
    std::fs::create_dir_all(case.path("npu/torch_npu"))?;
    std::fs::write(case.path("npu/torch_npu/__init__.py"), "")?;
    std::fs::write(case.path("npu/torch_npu/profiler.py"), include_str!("profiler_stand_in.py"))?;
    std::fs::create_dir(case.path("results"))?;
    let plan = "--plan-out results/plan.json --ops all_gather --num-devices 3 2 --grid-shape 3 --bytes-grid 1024 524288 4096 1024";
    expect_status(&case.tool("generate-comm-microbench").args(plan.split_whitespace()).output()?, 0)?;
    let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/comm/src/engine/worker.py");
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let ranks = ["0", "1", "2"].map(|rank| {
        let mut command = case.command(&python());
        command
            .arg(&worker)
            .args("results --backend gloo --timing profiler --iters 1 --warmup 1 --timeout 60".split(' '));
        command.env("PYTHONPATH", case.path("npu")).env("PREFIX", "hcom_allGather_").env("GLOO_SOCKET_IFNAME", "lo");
        command.env("RANK", rank).env("LOCAL_RANK", rank).env("WORLD_SIZE", "3");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", &port).env("OMP_NUM_THREADS", "1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    });
    for rank in ranks {
        expect_status(&rank?.wait_with_output()?, 0)?;
    }
    let collect = ["--from-results", "results", "--output-dir", "out", "--report", "report.csv"];
    expect_status(&case.tool("generate-comm-microbench").args(collect).output()?, 0)?;
    let rows = case.rows(Path::new("out/hcom_allGather_.csv"))?;
    let found: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let of_group = |n| [("1024", n), ("4096", n), ("1024", n), ("524288", n)];
    assert_eq!(found, [of_group("3"), of_group("2")].concat());
    // One session serves a repeated size.
    assert_eq!(rows[0], rows[2]);
    let report = case.read("report.csv")?;
    let line = report.lines().find(|line| line.starts_with("all_gather,524288,2,0,")).ok_or("no line in the report")?;
    // No call recorded, one rank, ten sessions.
    assert_eq!(line.split(',').skip(5).take(3).collect::<Vec<_>>(), ["", "1", "10"]);
    Ok(())
}
