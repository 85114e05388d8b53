//! One trace in several forms: what is found in it does not depend on who wrote it.

use std::path::Path;

use perfdb_tracediff::ranks::{Rank, find_traces, report};
use perfdb_tracediff::{
    AnalysisOptions, Boundaries, Document, ElapsedReport, LoadOptions, OneTrace, Selection, Trace, analyse, explain,
};
use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;

fn explained(path: &Path) -> OneTrace {
    let options = LoadOptions { alone: true, ..LoadOptions::default() };
    let trace = Trace::open(path, &options).expect("a trace");
    explain(&trace, &Selection::default()).expect("an explanation")
}

/// Nanoseconds of a number of microseconds.
fn nanoseconds(value: &Value) -> i64 {
    (value.as_f64().expect("a number") * 1000.0).round() as i64
}

/// Kineto's categories of what a device does, of calls, and of ranges.
const TABLES: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
        globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
        globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
        globalPid INTEGER, bytes INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
    CREATE TABLE TARGET_INFO_GPU (name TEXT, smCount INTEGER, totalMemory INTEGER, computeMajor INTEGER, computeMinor INTEGER);";

/// A Kineto trace as nsys would have written it.
fn as_nsys(trace: &Path, to: &Path) {
    let text = std::fs::read(trace).expect("a file");
    let trace: Value = serde_json::from_slice(&text).expect("JSON");
    let mut database = Connection::open(to).expect("a database");
    database.execute_batch(TABLES).expect("tables");
    let database = database.transaction().expect("a transaction");
    let process = 9_i64 << 24;
    let mut names: Vec<&str> = Vec::new();
    for event in trace["traceEvents"].as_array().expect("events") {
        let category = event["cat"].as_str().unwrap_or_default();
        let (Some(name), args) = (event["name"].as_str(), &event["args"]) else { continue };
        if event["ts"].is_null() {
            continue;
        }
        let start = nanoseconds(&event["ts"]);
        let end = start + event.get("dur").map_or(0, nanoseconds);
        let id = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }) as i64;
        let number = |key: &str| args[key].as_i64();
        let (device, stream) = (number("device"), number("stream"));
        let (correlation, bytes) = (number("correlation"), number("bytes"));
        let thread = process + 1 + event["tid"].as_i64().unwrap_or(0) % 1000;
        let insert = |table: &str, values: &[&dyn rusqlite::ToSql]| {
            let places = vec!["?"; values.len()].join(", ");
            let table =
                if table.ends_with("EVENTS") { table.to_owned() } else { format!("CUPTI_ACTIVITY_KIND_{table}") };
            database.execute(&format!("INSERT INTO {table} VALUES ({places})"), values).expect("a row");
        };
        match category {
            "kernel" => insert("KERNEL", params![start, end, device, stream, correlation, process, id, id]),
            "gpu_memcpy" => {
                let direction =
                    ["HtoD", "DtoH", "DtoD"].iter().position(|kind| name.contains(kind)).expect("a direction");
                let kind = [1_i64, 2, 8][direction];
                insert("MEMCPY", params![start, end, device, stream, correlation, process, bytes, kind]);
            }
            "gpu_memset" => insert("MEMSET", params![start, end, device, stream, correlation, process, bytes]),
            "cuda_runtime" | "cuda_driver" => insert("RUNTIME", params![start, end, thread, correlation, id]),
            "user_annotation" => insert("NVTX_EVENTS", params![start, end, 59, name, thread]),
            "cpu_op" => {
                let sizes = args.get("Input Dims").map_or_else(String::new, |dims| format!(", sizes = {dims}"));
                insert("NVTX_EVENTS", params![start, end, 59, format!("{name}, op_id = {id}{sizes}"), thread]);
            }
            _ => {}
        }
    }
    for (id, name) in names.iter().enumerate() {
        database.execute("INSERT INTO StringIds VALUES (?, ?)", params![id as i64, name]).expect("a name");
    }
    let device = &trace["deviceProperties"][0];
    let properties = params![
        device["name"].as_str(),
        device["numSms"].as_i64(),
        device["totalGlobalMem"].as_i64(),
        device["computeMajor"].as_i64(),
        device["computeMinor"].as_i64()
    ];
    database.execute("INSERT INTO TARGET_INFO_GPU VALUES (?, ?, ?, ?, ?)", properties).expect("a device");
    database.commit().expect("commits");
}

#[test]
fn a_trace_written_as_nsys_gives_the_same_numbers() {
    let folder = tempfile::tempdir().expect("folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces/h100.json");
    let database = folder.path().join("h100.sqlite");
    as_nsys(&trace, &database);
    let (kineto, nsys) = (explained(&trace), explained(&database));
    assert_eq!((kineto.kind, nsys.kind), ("gpu-trace", "nsys"));
    assert_eq!(kineto.device, nsys.device);
    assert!(kineto.step_count > 1 && !kineto.operators.is_empty(), "the trace says something");
    let numbers = |one: &OneTrace| {
        let mut value = serde_json::to_value(one).expect("JSON");
        for key in ["file", "kind", "trust", "trust_reasons", "next"] {
            value.as_object_mut().expect("an object").remove(key);
        }
        value
    };
    assert_eq!(numbers(&kineto), numbers(&nsys));
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
}

#[test]
fn sums_by_name_are_those_of_sql() {
    let sums = "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN StringIds s ON s.id = k.demangledName GROUP BY 1 ORDER BY 3 DESC, 1";
    let folder = tempfile::tempdir().expect("folder");
    let database = folder.path().join("h100.sqlite");
    as_nsys(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces/h100.json"), &database);
    for path in [shipped("nsys.sqlite"), database] {
        let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("opens");
        let mut statement = connection.prepare(sums).expect("SQL");
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let wanted: rusqlite::Result<Vec<(String, u64, i64)>> = statement.query_map([], row).expect("rows").collect();
        let one = explained(&path);
        let nanoseconds = |ms: f64| (ms * 1e6).round() as i64;
        let found = one.top_kernels.iter().map(|row| (row.name.clone(), row.count, nanoseconds(row.total_ms)));
        assert_eq!((found.collect::<Vec<_>>(), one.lead.kernels), (wanted.expect("rows"), 0), "{}", path.display());
    }
}

#[test]
fn optional_columns_and_tables_can_be_missing() {
    let folder = tempfile::tempdir().expect("folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces/h100.json");
    let whole = folder.path().join("whole.sqlite");
    as_nsys(&trace, &whole);
    let wanted = explained(&whole);
    let sums = |one: &OneTrace| (one.kernel_ms + one.lead.kernel_ms, one.kernel_count + one.lead.kernels);
    let less = folder.path().join("less.sqlite");
    for statement in [
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN correlationId",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN shortName",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN nameId",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN globalTid",
        "ALTER TABLE NVTX_EVENTS DROP COLUMN text",
        "ALTER TABLE NVTX_EVENTS DROP COLUMN globalTid",
        "DROP TABLE NVTX_EVENTS",
        "DROP TABLE TARGET_INFO_GPU",
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY",
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET",
        "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME",
        "DROP TABLE StringIds",
    ] {
        std::fs::copy(&whole, &less).expect("a copy");
        Connection::open(&less).expect("opens").execute_batch(statement).expect(statement);
        let found = explained(&less);
        assert_eq!(sums(&found).1, sums(&wanted).1, "{statement}");
        assert!((sums(&found).0 - sums(&wanted).0).abs() < 1e-9, "{statement}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_will_do() {
    let folder = tempfile::tempdir().expect("folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces/h100.json");
    let database = folder.path().join("h100.sqlite");
    as_nsys(&trace, &database);
    let permissions = |readonly| {
        let mut permissions = std::fs::metadata(folder.path()).expect("folder").permissions();
        permissions.set_readonly(readonly);
        std::fs::set_permissions(folder.path(), permissions).expect("permissions");
    };
    permissions(true);
    let found = explained(&database);
    permissions(false);
    assert!(found.kernel_count > 0);
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
}

fn shipped(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/profiles").join(name)
}

/// Difference per step and the share of each row of the waterfall.
fn compared(first: &str, second: &str) -> ElapsedReport {
    compared_files(&shipped(first), &shipped(second))
}

fn compared_files(first: &Path, second: &Path) -> ElapsedReport {
    let open = |path| Trace::open(path, &LoadOptions::default()).expect("a trace");
    let analysis = analyse(&open(first), &open(second), &AnalysisOptions::default()).expect("an analysis");
    let Document::Plain(document) = analysis.document else { panic!("a plain document") };
    document.details.elapsed.expect("elapsed times")
}

const TABLES_OF_ASCEND: [&str; 2] = [
    "cann85_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
    "cann86_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
];

#[test]
fn one_run_is_the_same_in_every_form() {
    let parts = |name| {
        let one = explained(&shipped(name));
        (one.step_count, one.elapsed_ms, one.parts_ms, one.kernel_count)
    };
    let wanted = parts("nsys.sqlite");
    assert_eq!(wanted.0, 8);
    for name in ["vllm.rpd", "rocprofv3.db", "cann85_ascend_pt"] {
        assert_eq!(parts(name), wanted, "{name}");
    }
    let table = explained(&shipped(TABLES_OF_ASCEND[0]));
    assert_eq!((table.kernel_count, table.kind), (wanted.3, "ascend-csv"));
    assert_eq!(table.parts_ms.compute_ms, wanted.2.compute_ms);
}

#[test]
fn a_profile_against_itself_is_zero() {
    for name in ["nsys.sqlite", "vllm.rpd", "rocprofv3.db", "cann85_ascend_pt", TABLES_OF_ASCEND[0]] {
        let found = compared(name, name);
        assert_eq!(found.elapsed.ratio, Some(1.0), "{name}");
        assert!(found.waterfall.iter().all(|row| row.difference_ms == 0.0 && !row.matters), "{name}");
    }
}

#[test]
fn a_planted_slow_down_is_found_on_npus_and_against_a_gpu() {
    let pairs =
        [("cann85_ascend_pt", "cann86_ascend_pt"), ("nsys.sqlite", "cann86_ascend_pt"), TABLES_OF_ASCEND.into()];
    for (first, second) in pairs {
        let found = compared(first, second);
        let row = &found.waterfall[0];
        assert_eq!(row.row, "Attention", "{first} {second}");
        assert!((row.trace2_ms / row.trace1_ms - 1.4).abs() < 0.001, "{first} {second}: {row:?}");
        let others: f64 = found.waterfall[1..].iter().map(|row| row.difference_ms.abs()).sum();
        assert!(others < 0.01 * row.difference_ms, "{first} {second}");
    }
}

/// A forward pass of 24 layers of which every other one has an expert; nothing but layers repeats.
fn table_of_a_pass() -> String {
    let mut text = "Name,Type,Start Time(us),Duration(us),Wait Time(us)\n".to_owned();
    let mut clock = 1_000;
    for layer in 0..24 {
        let expert: &[&str] = if layer % 2 == 1 { &["GroupedMatmul", "MoeTokenPermute"] } else { &[] };
        for kind in ["RmsNorm", "MatMulV2", "FusedInferAttentionScore", "MatMulV2", "SwiGlu"].iter().chain(expert) {
            text += &format!("{kind}_{layer},{kind},{clock},10,0\n");
            clock += 12;
        }
    }
    text
}

#[test]
fn layers_of_a_table_are_no_passes() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("kernel_details.csv");
    std::fs::write(&path, table_of_a_pass()).expect("a file");
    let found = compared_files(&path, &path);
    assert_eq!((found.elapsed.trace1.passes, found.elapsed.trace1.boundaries), (1, Boundaries::Whole));
    assert_eq!(found.elapsed.trace1.elapsed_ms, explained(&path).elapsed_ms);
}

#[test]
fn the_late_rank_is_found_in_databases() {
    let folder = tempfile::tempdir().expect("folder");
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ranks");
    for rank in 0..4 {
        as_nsys(&traces.join(format!("rank{rank}.json")), &folder.path().join(format!("run-rank{rank}.sqlite")));
        std::fs::write(folder.path().join(format!("run-rank{rank}.nsys-rep")), "NSYS").expect("a file");
    }
    let found = |folder: &Path| {
        let paths = find_traces(&[folder.to_owned()]).expect("traces");
        let open = |path: &std::path::PathBuf| Rank::open(path, 9, &LoadOptions::default()).expect("a rank");
        let ranks = report(paths.iter().map(open).collect()).expect("ranks of one run");
        let straggler = ranks.straggler.expect("one is late");
        (straggler.rank, (straggler.late_ms * 1e6).round(), ranks.steps, ranks.matched_collectives)
    };
    assert_eq!(found(&traces), found(folder.path()));
}

#[test]
fn folders_of_ascend_are_ranks_and_reports_of_nsys_say_what_to_do() {
    let folder = tempfile::tempdir().expect("folder");
    for rank in ["a_ascend_pt", "b_ascend_pt"] {
        std::fs::create_dir(folder.path().join(rank)).expect("a folder");
    }
    std::fs::write(folder.path().join("b_ascend_pt/profiler_info_7.json"), "{}").expect("a file");
    let paths = find_traces(&[folder.path().to_owned()]).expect("two folders");
    assert_eq!(paths.len(), 2);
    let text = table_of_a_pass().replace("SwiGlu", "hcom_allReduce_");
    std::fs::write(folder.path().join("b_ascend_pt/kernel_details.csv"), text).expect("a file");
    assert_eq!(Rank::open(&paths[1], 3, &LoadOptions::default()).expect("a rank").rank, 7);

    let reports = tempfile::tempdir().expect("folder");
    for rank in ["a.nsys-rep", "b.nsys-rep"] {
        std::fs::write(reports.path().join(rank), "NSYS").expect("a file");
    }
    let paths = find_traces(&[reports.path().to_owned()]).expect("two reports");
    let error = Rank::open(&paths[0], 0, &LoadOptions::default()).expect_err("a report").to_string();
    assert!(error.ends_with("export it first: nsys export --type sqlite a.nsys-rep"), "{error}");
}

/// A cut of 10 ms with so many calls of attention, each followed by a product.
fn cut(calls: i64) -> Trace {
    let kernel = |name: &str, start: i64, duration: i64| serde_json::json!({"ph": "X", "cat": "kernel", "name": name, "ts": start, "dur": duration, "args": {"device": 0, "stream": 7}});
    let period = 10_000 / calls;
    let mut events: Vec<Value> = (0..calls)
        .flat_map(|call| [kernel("flash_fwd_kernel", call * period, 80), kernel("nvjet_a_TNN", call * period + 80, 20)])
        .collect();
    events.push(kernel("nvjet_a_TNN", 9_990, 10));
    let text = serde_json::json!({"traceEvents": events}).to_string();
    Trace::from_reader("cut.json", std::io::Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

#[test]
fn cuts_of_runs_are_compared_by_their_calls() {
    let compared = |first: &Trace, second: &Trace| {
        let analysis = analyse(first, second, &AnalysisOptions::default()).expect("an analysis");
        let Document::Plain(document) = analysis.document else { panic!("a plain document") };
        document.details.elapsed.expect("elapsed times")
    };
    let (many, few, nearly) = (cut(50), cut(40), cut(49));
    let found = compared(&many, &few);
    let per_call = found.elapsed.per_call.expect("calls are compared");
    assert_eq!((per_call.operation.as_str(), per_call.trace1_calls, per_call.trace2_calls), ("Attention", 50, 40));
    assert!((per_call.ratio - 1.25).abs() < 1e-9 && (per_call.trace1_ms - 0.2).abs() < 1e-9, "{per_call:?}");
    assert!(found.verdict.starts_with("trace 2 takes 25.0 % more time per call of Attention"), "{}", found.verdict);
    assert_eq!(compared(&many, &nearly).elapsed.per_call, None);
}

#[test]
fn ranks_in_one_file_have_their_own_passes() {
    let folder = tempfile::tempdir().expect("folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gpu-traces/h100.json");
    let (one, two) = (folder.path().join("one.sqlite"), folder.path().join("two.sqlite"));
    as_nsys(&trace, &one);
    std::fs::copy(&one, &two).expect("a copy");
    // A second process on a second device does the same.
    let process = 10_i64 << 24;
    let twice = format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, 1, streamId, correlationId, {process}, demangledName, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL;
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT start, end, 1, streamId, correlationId, {process}, bytes, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY;
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET SELECT start, end, 1, streamId, correlationId, {process}, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET;
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, end, {process} + 1, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME;
         INSERT INTO NVTX_EVENTS SELECT start, end, eventType, text, {process} + 1 FROM NVTX_EVENTS;"
    );
    Connection::open(&two).expect("opens").execute_batch(&twice).expect("SQL");
    let (one_rank, two_ranks) = (explained(&one), explained(&two));
    assert_eq!((two_ranks.step_count, two_ranks.devices), (one_rank.step_count, 2));
    let found = compared_files(&one, &two).elapsed;
    assert_eq!(found.trace2.devices.len(), 2);
    for (side, one) in [(&found.trace1, one_rank), (&found.trace2, two_ranks)] {
        assert_eq!((side.passes, side.per_pass_ms), (one.step_count, one.per_step_ms));
    }
    assert_eq!((found.ratio, found.trace1.median_pass_ms), (Some(1.0), found.trace2.median_pass_ms));
}
