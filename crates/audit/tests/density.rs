//! Density of made-up databases: what is missing is found once, by the axis and the bucket that it is missing from.

use perfdb_audit::coverage::Workload;
use perfdb_audit::coverage::density::{Class, Declaration, Hole, Inputs, Kind, Limit, Report, Verdict, check};
use perfdb_grid::grids;
use perfdb_query::ParallelConfig;
use std::error::Error;
use std::fs;
use std::path::Path;

type TestResult = Result<(), Box<dyn Error>>;

const HEADER: &str = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us),Profiling Average Duration(us)\n";

fn product(m: i64, durations: &str) -> String {
    format!("\"{m},512;256,512\",DT_BF16;DT_BF16,ND;ND,\"{m},256\",DT_BF16,ND,{durations}\n")
}

/// A table of products of one weight, by their rows and the cells of their durations.
fn write(folder: &Path, rows: &[(i64, &str)]) -> TestResult {
    let rows: String = rows.iter().map(|(m, durations)| product(*m, durations)).collect();
    Ok(fs::write(folder.join("MatMulV2.csv"), format!("{HEADER}{rows}"))?)
}

fn m_grid() -> Vec<i64> {
    grids::named("M_GRID").into_iter().flatten().map(|value| *value as i64).collect()
}

/// The holes along M.
fn holes_along_m(report: &Report) -> Vec<(Kind, Hole)> {
    let along_m = report.findings.iter().filter(|finding| finding.gate == 2 && finding.axis == "M");
    along_m.filter_map(|finding| Some((finding.kind, finding.hole?))).collect()
}

#[test]
fn a_value_that_is_missing_is_one_finding_and_its_repair_closes_it() -> TestResult {
    let folder = tempfile::tempdir()?;
    let all: Vec<(i64, &str)> = m_grid().into_iter().map(|m| (m, "5,")).collect();
    write(folder.path(), &all)?;
    let report = check(&Inputs::new(folder.path()))?;
    assert_eq!(holes_along_m(&report), []);
    assert_eq!(report.gates[0], Verdict::Passed);
    assert_eq!(report.gates[2], Verdict::NotJudged("no manifest"));
    let less: Vec<(i64, &str)> = all.iter().copied().filter(|(m, _)| *m != 14).collect();
    write(folder.path(), &less)?;
    let report = check(&Inputs::new(folder.path()))?;
    let hole = Hole::TooWide { from: 12, to: 16, limit: Limit::Gap(2), repair: 14 };
    assert_eq!(holes_along_m(&report), [(Kind::TooWide, hole)]);
    let line = report.findings.iter().find(|finding| finding.hole == Some(hole)).ok_or("a finding")?.to_string();
    assert!(line.starts_with("MatMulV2.csv:2: too-wide: M (") && line.contains("N=256, K=512"), "{line}");
    assert!(line.ends_with(": 12 to 16 is more than gap 2; measure 14"), "{line}");
    let repair = report.repairs.iter().find(|repair| repair.cells[0].1 == "14,512;256,512").ok_or("a repair")?;
    assert_eq!((repair.cells[3].1.as_str(), repair.cells[6].1.as_str()), ("14,256", ""));
    Ok(())
}

#[test]
fn a_duration_of_nought_is_none() -> TestResult {
    let folder = tempfile::tempdir()?;
    write(folder.path(), &[(1, "0,"), (2, "5,"), (3, "5,"), (4, "NaN,x")])?;
    let mut inputs = Inputs::new(folder.path());
    let declared = "[{kernel: MatMulV2, axis: M, where: {N: 256, K: [1, 600], Input Formats: ND;ND}, range: [1, 4]}]";
    inputs.ranges = Some(Declaration::parse(Path::new("r.yaml"), declared)?);
    let report = check(&inputs)?;
    let mut holes = holes_along_m(&report).into_iter().filter(|(kind, _)| *kind == Kind::EndMissing);
    assert_eq!(holes.next(), Some((Kind::EndMissing, Hole::End(1))));
    assert_eq!(holes.next(), Some((Kind::EndMissing, Hole::End(4))));
    let not_measured = report.findings.iter().filter(|finding| finding.kind == Kind::NotMeasured);
    let not_measured: Vec<_> = not_measured.map(|finding| (finding.line, finding.fails)).collect();
    assert_eq!(not_measured, [(Some(2), true), (Some(5), true)]);
    assert_eq!(report.gates[6], Verdict::Failed(2));
    Ok(())
}

#[test]
fn another_format_or_column_is_another_bucket() -> TestResult {
    let folder = tempfile::tempdir()?;
    // Every second value is profiled only.
    let all: Vec<(i64, &str)> = (1..=8).map(|m| (m, if m % 2 == 0 { "5," } else { ",5" })).collect();
    write(folder.path(), &all)?;
    let report = check(&Inputs::new(folder.path()))?;
    assert_eq!(holes_along_m(&report).len(), 6);
    assert_eq!(report.signatures, (8, None));
    let format = |m: i64| if m > 4 { "ND;NCHW,\"" } else { "ND;ND,\"" };
    let rows: String = (1..=8).map(|m| product(m, "5,").replace("ND;ND,\"", format(m))).collect();
    fs::write(folder.path().join("MatMulV2.csv"), format!("{HEADER}{rows}"))?;
    assert_eq!(holes_along_m(&check(&Inputs::new(folder.path()))?), []);
    Ok(())
}

#[test]
fn shapes_that_no_rule_makes_and_single_values_are_counted() -> TestResult {
    let folder = tempfile::tempdir()?;
    let foreign = "\"4,512;256,512;9\",DT_BF16;DT_BF16,ND;ND,\"4,256\",DT_BF16,ND,5,\n";
    fs::write(folder.path().join("MatMulV2.csv"), format!("{HEADER}{}{foreign}", product(4, "5,")))?;
    let report = check(&Inputs::new(folder.path()))?;
    assert_eq!((report.counts.foreign, report.counts.single, report.counts.asked), (1, 3, 0));
    assert_eq!(report.gates[1], Verdict::NotJudged("no bucket of two values"));
    let whole = check(&Inputs { full_range: true, ..Inputs::new(folder.path()) })?;
    assert!(holes_along_m(&whole).contains(&(Kind::EndMissing, Hole::End(32768))), "{:?}", whole.findings);
    Ok(())
}

#[test]
fn collectives_are_judged_by_devices_tier_and_type() -> TestResult {
    let folder = tempfile::tempdir()?;
    let row = |bytes: u64, devices: u32| format!("{bytes},{devices},DT_BF16,0,9,1\n");
    let header = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n";
    let text = [header, &row(128, 2), &row(256, 2), &row(1024, 2), &row(512, 4)].concat();
    fs::write(folder.path().join("hcom_allReduce_.csv"), text)?;
    let report = check(&Inputs::new(folder.path()))?;
    let holes: Vec<_> = report.findings.iter().filter_map(|finding| finding.hole).collect();
    assert_eq!(holes, [Hole::TooWide { from: 256, to: 1024, limit: Limit::Ratio(2000), repair: 512 }]);
    Ok(())
}

#[test]
fn tokens_of_experts_are_taken_out_of_all_shapes_that_have_them() -> TestResult {
    let folder = tempfile::tempdir()?;
    let header =
        "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,EP Size,Average Duration(us)\n";
    let row = |tokens: i64| {
        let inputs = format!("{tokens},64;4,64,64;4,32,64;{tokens},2;256;256;{tokens},2");
        format!("\"{inputs}\",BF16,ND,\"{tokens},64;4\",BF16,2,9\n")
    };
    fs::write(folder.path().join("DispatchFFNCombine.csv"), [header, &row(4), &row(8), &row(64)].concat())?;
    let report = check(&Inputs::new(folder.path()))?;
    let holes: Vec<_> = report.findings.iter().filter_map(|finding| finding.hole).collect();
    assert_eq!(holes, [Hole::TooWide { from: 8, to: 64, limit: Limit::Ratio(2000), repair: 16 }]);
    Ok(())
}

#[test]
fn queries_are_judged_by_their_rows() -> TestResult {
    let folder = tempfile::tempdir()?;
    let plain: String = [1, 16, 256].iter().map(|m| product(*m, "5,")).collect();
    fs::write(folder.path().join("MatMulV2.csv"), format!("{HEADER}{plain}"))?;
    fs::write(
        folder.path().join("op_mapping.yaml"),
        "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}\n",
    )?;
    let tensor = |a: i64, b: i64| format!("{{\"shape\": [{a}, {b}], \"dtype\": \"bf16\"}}");
    let line = |what: &str, m: i64, weight: String, critical: bool| {
        let query = format!("{{{what}, \"inputs\": [{}, {weight}]}}", tensor(m, 512));
        format!("{{\"id\": \"w\", \"critical\": {critical}, \"query\": {query}}}\n")
    };
    let (kernel, operator) = ("\"kernel\": \"MatMulV2\"", "\"op\": \"aten.mm.default\"");
    let manifest = [
        line(kernel, 16, tensor(256, 512), true),
        line(operator, 16, tensor(512, 256), true),
        line(kernel, 100, tensor(256, 512), false),
        line(operator, 1, tensor(512, 256), false),
        line(kernel, 5000, tensor(256, 512), false),
    ];
    let path = folder.path().join("q.jsonl");
    fs::write(&path, manifest.concat())?;
    let mut inputs = Inputs::new(folder.path());
    inputs.workloads = Some(Workload::of_manifest(&path, &ParallelConfig::default(), None)?);
    let report = check(&inputs)?;
    let classes: Vec<_> = report.questions.iter().map(|one| (one.class, one.rule)).collect();
    let turned = (Class::Compatible, Some("transpose"));
    assert_eq!(classes, [(Class::Exact, None), turned, (Class::Interpolated, None), turned, (Class::Roofline, None)]);
    let failed = |gate: usize| match report.gates[gate - 1] {
        Verdict::Failed(count) => count,
        _ => 0,
    };
    assert_eq!([3, 4, 6].map(failed), [1, 2, 1]);
    inputs.allowed = vec!["transpose".to_owned()];
    assert_eq!(check(&inputs)?.gates[3], Verdict::Failed(1));
    Ok(())
}

#[test]
fn errors_and_size_are_compared_with_the_database_in_use() -> TestResult {
    let (now, before) = (tempfile::tempdir()?, tempfile::tempdir()?);
    write(before.path(), &[(1, "5,"), (2, "6,"), (3, "7,")])?;
    write(now.path(), &[(1, "5,"), (2, "30,"), (3, "7,")])?;
    let with = |own: &Path, other: &Path| check(&Inputs { baseline: Some(other.to_owned()), ..Inputs::new(own) });
    assert_eq!(with(before.path(), now.path())?.gates[4], Verdict::Passed);
    let worse = with(now.path(), before.path())?;
    // Six instead of thirty, 80 % too little: p90, p95 and the number above a half.
    assert_eq!(worse.gates[4], Verdict::Failed(3), "{:?}", worse.findings);
    assert_eq!(worse.gates[8], Verdict::Passed);
    let many: Vec<(i64, &str)> = (1..=25).map(|m| (m, "5,")).collect();
    write(now.path(), &many)?;
    assert_eq!(with(now.path(), before.path())?.gates[8], Verdict::Failed(1));
    Ok(())
}

#[test]
fn ranges_that_no_rows_fit_are_told() -> TestResult {
    let folder = tempfile::tempdir()?;
    write(folder.path(), &[(1, "5,"), (2, "5,")])?;
    let mut inputs = Inputs::new(folder.path());
    let declared = "- {kernel: MatMulV2, axis: M, range: [1, 2]}
- {kernel: MatMulV2, axis: Q, range: [1, 2]}
- {kernel: MatMulV9, axis: M, range: [1, 2]}
- {kernel: MatMulV2, axis: M, where: {N: 999}, range: [1, 2]}
";
    inputs.ranges = Some(Declaration::parse(Path::new("r.yaml"), declared)?);
    let unmet = check(&inputs)?.unmet;
    let keys: Vec<&str> = unmet.iter().filter_map(|text| text.split(':').next()).collect();
    assert_eq!(keys, ["[1]", "[2]", "[3]"], "{unmet:?}");
    assert_eq!(unmet[0], "[1]: no rows of MatMulV2 along an axis Q fit; nothing is asked of them");
    Ok(())
}

#[test]
fn ranges_that_cannot_be_used_are_named_by_their_key() {
    let of = |text: &str| Declaration::parse(Path::new("r.yaml"), text).expect_err("malformed").to_string();
    assert_eq!(of("{}"), "r.yaml: must be a list, not a map");
    assert_eq!(of("[{kernel: A, axis: M}]"), "r.yaml: [0].range: missing");
    assert_eq!(of("[{kernel: A, axis: M, range: [4, 1]}]"), "r.yaml: [0].range: 4 is above 1");
    assert_eq!(of("[{kernel: A, axes: M, range: [1, 4]}]"), "r.yaml: [0].axes: unknown key");
    assert_eq!(
        of("[{kernel: A, axis: M, where: {N: [1]}, range: [1, 4]}]"),
        "r.yaml: [0].where.N: must be a list of two integers"
    );
}
