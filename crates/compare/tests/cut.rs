//! Passes in profiles: every row in its pass, byte for byte.

use perfdb_compare::cut::{Choice, Cut, CutMethod, Phase};
use std::path::PathBuf;

const HEADER: &str = "Name,Type,Start Time(us),Duration(us),Input Shapes\r\n";

/// Rows of one pass; microseconds count from `begin`. `tokens` query tokens for `sequences` sequences.
fn pass(begin: f64, layers: usize, tokens: u64, sequences: u64) -> (Vec<String>, f64) {
    let (mut rows, mut now) = (Vec::new(), begin);
    let mut kernel = |kernel_type: &str, duration: f64, shapes: &str| {
        rows.push(format!("\"k, {kernel_type}\",{kernel_type},{now:.3}\t,{duration:.3},{shapes}\r\n"));
        if kernel_type.starts_with("hcom_") {
            rows.push(format!("again,{kernel_type},{now:.3}\t,{duration:.3},N/A\r\n"));
        }
        now += duration + 0.5;
    };
    let attention = format!("\"{tokens},4,128;33,128,128;33,128,128{};{sequences},33\"", ";".repeat(11));
    kernel("GatherV2", 3.0, "");
    for _ in 0..layers {
        kernel("AddRmsNorm", 2.0, "");
        kernel("MatMulV2", 9.0, "");
        kernel("FusedInferAttentionScore", 12.0, &attention);
        kernel("MatMulV2", 7.0, "");
        kernel("hcom_allReduce_", 5.0, "");
        kernel("allReduceAicpuKernel", 1.0, "");
        kernel("SwiGlu_12", 2.0, "");
    }
    kernel("RmsNorm", 2.0, "");
    kernel("ArgMaxV2", 2.0, "");
    (rows, now)
}

struct Profile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn write(rows: &[String]) -> Profile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kernel_details.csv");
    std::fs::write(&path, format!("{HEADER}{}", rows.concat())).expect("a file");
    Profile { _folder: folder, path }
}

/// The rows of several passes, `gap` microseconds apart.
fn passes(sizes: &[(usize, u64, u64)], gap: f64) -> Vec<Vec<String>> {
    let mut begin = 1_774_512_345_000_000.0;
    let mut all = Vec::new();
    for &(layers, tokens, sequences) in sizes {
        let (rows, end) = pass(begin, layers, tokens, sequences);
        all.push(rows);
        begin = end + gap;
    }
    all
}

fn copied(cut: &Cut, at: usize) -> String {
    let mut out = Vec::new();
    cut.write(at, &mut out).expect("rows in memory");
    String::from_utf8(out).expect("rows are text")
}

#[test]
fn concatenated_passes_come_apart_again() {
    for gap in [900.0, 20.0, 5.0] {
        for sizes in [&[(12, 16, 16); 3][..], &[(12, 512, 2), (12, 2, 2), (12, 2, 2)], &[(12, 16, 16), (20, 16, 16)]] {
            // One boundary alone between unlike passes needs a gap that stands out.
            if gap < 20.0 && sizes.len() == 2 {
                continue;
            }
            let parts = passes(sizes, gap);
            let profile = write(&parts.concat());
            let cut = Cut::find(&profile.path).unwrap();
            assert_eq!(cut.method(), CutMethod::Sequence, "{gap} {sizes:?}");
            assert_eq!(cut.passes().len(), sizes.len(), "{gap} {sizes:?}: {:?}", cut.passes());
            for (at, rows) in parts.iter().enumerate() {
                assert_eq!(copied(&cut, at), format!("{HEADER}{}", rows.concat()), "{gap} {sizes:?} {at}");
                assert_eq!(cut.passes()[at].rows, rows.len() as u64);
            }
        }
    }
}

#[test]
fn rows_in_any_order_keep_the_order_of_the_file() {
    let parts = passes(&[(12, 16, 16); 2], 50.0);
    let mut rows = parts.concat();
    let last = rows.len() - 1;
    for at in 0..last / 4 {
        rows.swap(at * 2, last - at);
    }
    let profile = write(&rows);
    let cut = Cut::find(&profile.path).unwrap();
    let first: std::collections::BTreeSet<&String> = parts[0].iter().collect();
    let expected: String = rows.iter().filter(|row| first.contains(row)).map(String::as_str).collect();
    assert_eq!(copied(&cut, 0), format!("{HEADER}{expected}"));
}

#[test]
fn a_pass_that_is_cut_off_is_partial_and_not_chosen() {
    let parts = passes(&[(12, 16, 16), (12, 16, 16), (5, 16, 16)], 100.0);
    let mut rows = parts.concat();
    // The last pass ends in the middle of a layer.
    rows.truncate(rows.len() - 6);
    let profile = write(&rows);
    let cut = Cut::find(&profile.path).unwrap();
    let partial: Vec<bool> = cut.passes().iter().map(|pass| pass.partial).collect();
    assert_eq!(partial, [false, false, true]);
    assert_eq!(cut.choose(Choice::Last), Some(vec![1]));
    assert_eq!(cut.choose(Choice::All), Some(vec![0, 1, 2]));
    assert_eq!((cut.choose(Choice::Number(3)), cut.choose(Choice::Number(4))), (Some(vec![2]), None));
}

#[test]
fn figures_and_phases() {
    let parts = passes(&[(12, 512, 2), (12, 2, 2), (12, 2, 2)], 300.0);
    let profile = write(&parts.concat());
    let cut = Cut::find(&profile.path).unwrap();
    let phases: Vec<Phase> = cut.passes().iter().map(|pass| pass.phase).collect();
    assert_eq!(phases, [Phase::Prefill, Phase::Decode, Phase::Decode]);
    let pass = &cut.passes()[1];
    assert_eq!(pass.first_row, parts[0].len() as u64 + 1);
    // Neither the AICPU rows nor the second listing of the collectives count.
    assert_eq!(pass.kernels, 1 + 12 * 6 + 2);
    assert_eq!(pass.kernel_ps, (3 + 12 * (2 + 9 + 12 + 7 + 5 + 2) + 4) * 1_000_000);
    assert_eq!(pass.layers, 12);
}

#[test]
fn steps_decide_where_there_are_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.csv");
    let text = "Step Id,Type,Start Time(us),Duration(us)\n7,A,10,1\n,A,12,1\n3,A,2,1\nN/A,A,1,1\n7,XAicpuKernel,14,1\n";
    std::fs::write(&path, text).unwrap();
    let cut = Cut::find(&path).unwrap();
    assert_eq!((cut.method(), cut.passes().len()), (CutMethod::StepColumn, 2));
    let header = "Step Id,Type,Start Time(us),Duration(us)\n";
    assert_eq!(copied(&cut, 0), format!("{header}3,A,2,1\nN/A,A,1,1\n"));
    assert_eq!(copied(&cut, 1), format!("{header}7,A,10,1\n,A,12,1\n7,XAicpuKernel,14,1\n"));
}

#[test]
fn faults_name_the_column_and_the_line() {
    for (text, part) in [
        ("Type,Duration(us)\nA,1\n", "no column \"Start Time(us)\""),
        ("", "no column"),
        ("Type,Start Time(us),Duration(us)\nA,1,2\n\"B\nC\",x,2\n", ":3: Start Time(us): \"x\" is not a finite number"),
        ("Type,Start Time(us),Duration(us)\nA,1,nan\n", ":2: Duration(us)"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.csv");
        std::fs::write(&path, text).unwrap();
        let fault = Cut::find(&path).unwrap_err().to_string();
        assert!(fault.contains(part), "{text:?}: {fault}");
    }
}

#[test]
fn a_header_alone_has_no_pass() {
    let profile = write(&[]);
    let cut = Cut::find(&profile.path).unwrap();
    assert!(cut.passes().is_empty() && cut.choose(Choice::Last).is_none() && cut.choose(Choice::Median).is_none());
}

#[test]
fn rows_are_copied_whatever_their_order_and_empty_lines_are_not() {
    // Of more than a block each.
    let parts = passes(&[(1800, 16, 16); 3], 900.0);
    let in_order = parts.concat();
    assert!(in_order.concat().len() > 1 << 20);
    let mut backwards = in_order.clone();
    backwards.reverse();
    let with_empty_lines: Vec<String> = in_order.iter().map(|row| format!("{row}\r\n")).collect();
    for (rows, is_backwards) in [(&in_order, false), (&backwards, true), (&with_empty_lines, false)] {
        let profile = write(rows);
        let cut = Cut::find(&profile.path).unwrap();
        assert_eq!(cut.passes().len(), 3);
        for (at, part) in parts.iter().enumerate() {
            let mut part = part.clone();
            if is_backwards {
                part.reverse();
            }
            assert!(copied(&cut, at) == format!("{HEADER}{}", part.concat()), "{is_backwards} {at}");
        }
        let first = cut.passes()[if is_backwards { 2 } else { 0 }].clone();
        assert_eq!((first.first_row, first.rows), (1, parts[0].len() as u64));
    }
}
