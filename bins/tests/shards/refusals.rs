//! Sets that are none, and machines that fail.

use super::support::{TestResult, copy_folder, perfdb, testdata, text};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const TOOL: [&str; 5] = ["generate-op-comparison", "--scenarios", "list.yaml", "--data-dir", "data"];

fn folder() -> Result<TempDir, Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    copy_folder(&testdata("scenarios"), &folder.path().join("data"))?;
    let list = fs::read_to_string(testdata("scenarios.yaml"))?.replace("scenarios/", "data/");
    fs::write(folder.path().join("list.yaml"), list)?;
    Ok(folder)
}

fn do_shard(folder: &Path, shard: &str, further: &[&str]) -> TestResult {
    let output = perfdb(folder, &[&TOOL[..], &["--shard", shard], further].concat()).output()?;
    if output.status.success() { Ok(()) } else { Err(text(&output.stderr).into()) }
}

/// The merge fails with one line that holds the text, and writes nothing.
fn refused(folder: &Path, reason: &str) -> TestResult {
    let output = perfdb(folder, &["merge-shards", "shards"]).output()?;
    let errors: Vec<String> =
        text(&output.stderr).lines().filter(|line| line.starts_with("error: ")).map(str::to_owned).collect();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert_eq!((errors.len(), text(&output.stdout)), (1, String::new()), "{errors:?}");
    assert!(errors[0].contains(reason), "{}", errors[0]);
    assert!(!folder.join("results").exists());
    Ok(())
}

#[test]
fn missing_shards_are_named_as_a_job_array_wants_them() -> TestResult {
    let folder = folder()?;
    for shard in ["1/7", "5/7"] {
        do_shard(folder.path(), shard, &[])?;
    }
    refused(folder.path(), "error: shards: 5 of 7 shards missing: 2-4,6-7")
}

#[test]
fn another_number_of_shards_between_runs_is_refused() -> TestResult {
    let folder = folder()?;
    for shard in ["1/2", "2/2", "1/3"] {
        do_shard(folder.path(), shard, &[])?;
    }
    refused(folder.path(), "shards and")
}

#[test]
fn other_options_and_other_inputs_are_refused() -> TestResult {
    let folder = folder()?;
    do_shard(folder.path(), "1/2", &["--jobs", "1", "-q"])?;
    do_shard(folder.path(), "2/2", &["--sort=delta"])?;
    refused(folder.path(), "options `")?;
    fs::write(folder.path().join("data/op_mapping.yaml"), "operator_mappings: {}\n")?;
    do_shard(folder.path(), "2/2", &[])?;
    refused(folder.path(), "another content of data/op_mapping.yaml")?;
    do_shard(folder.path(), "1/2", &[])?;
    fs::write(folder.path().join("list.yaml"), "[]")?;
    refused(folder.path(), "made of another job: another content of list.yaml")
}

#[test]
fn an_input_of_a_case_that_has_changed_since_is_refused() -> TestResult {
    let folder = folder()?;
    do_shard(folder.path(), "1/1", &[])?;
    fs::write(folder.path().join("data/qwen3_32b_decode/trace.json"), "{}")?;
    refused(folder.path(), "data/qwen3_32b_decode/trace.json: has changed since shard 1/1 has read it")
}

#[test]
fn shards_of_another_version_are_refused() -> TestResult {
    let folder = folder()?;
    do_shard(folder.path(), "1/1", &[])?;
    let path = folder.path().join("shards/shard-1-of-1/manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    manifest["version"] = "0.0.9".into();
    fs::write(&path, manifest.to_string())?;
    refused(folder.path(), "shards: made by perfdb 0.0.9, and this is ")
}

#[test]
fn a_manifest_that_is_cut_short_is_refused() -> TestResult {
    let folder = folder()?;
    do_shard(folder.path(), "1/1", &[])?;
    let path = folder.path().join("shards/shard-1-of-1/manifest.json");
    let manifest = fs::read_to_string(&path)?;
    fs::write(&path, &manifest[..manifest.len() / 2])?;
    refused(folder.path(), "shard-1-of-1/manifest.json: damaged or cut short")
}

#[test]
fn a_full_disk_leaves_no_shard_and_the_others_as_they_are() -> TestResult {
    let folder = folder()?;
    do_shard(folder.path(), "1/2", &[])?;
    // A limit on the size of files stands for the full disk: writing fails on the way, and the signal is ignored.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let explain = [
        "explain-prediction",
        "--scenarios",
        "list.yaml",
        "--data-dir",
        "data",
        "--shard",
        "1/1",
        "--shard-dir",
        "full",
    ];
    let program = assert_cmd::cargo::cargo_bin("perfdb");
    let output = Command::new("sh").args(["-c", script]).arg(program).args(explain).current_dir(&folder).output()?;
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: full/shard-1-of-1/results.bin: "), "{stderr}");
    let left = fs::read_dir(folder.path().join("full")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "something is left behind");
    refused(folder.path(), "1 of 2 shards missing: 2")?;
    do_shard(folder.path(), "2/2", &[])?;
    assert!(perfdb(folder.path(), &["merge-shards", "shards"]).output()?.status.success());
    Ok(())
}

#[test]
fn a_merge_tells_as_much_as_it_is_asked_to() -> TestResult {
    let folder = folder()?;
    fs::create_dir(folder.path().join("empty"))?;
    let tool = ["generate-op-comparison", "--scenarios", "list.yaml", "--data-dir", "empty", "--shard", "1/1"];
    assert!(perfdb(folder.path(), &tool).output()?.status.success());
    let told = |arguments: &[&str]| {
        let output = perfdb(folder.path(), arguments).output()?;
        assert!(output.status.success(), "{}", text(&output.stderr));
        Ok::<_, Box<dyn std::error::Error>>(text(&output.stderr))
    };
    assert!(told(&["merge-shards", "shards"])?.contains("warning: empty/op_mapping.yaml: "));
    for quietly in [&["merge-shards", "shards", "-q"][..], &["-q", "merge-shards", "shards"]] {
        assert_eq!(told(quietly)?, "");
    }
    Ok(())
}

#[test]
fn what_has_no_cases_has_no_shards() -> TestResult {
    let folder = folder()?;
    let cases: [&[&str]; 7] = [
        &["explain-prediction", "--tc-trace", "t.json", "--prof-trace", "p.csv", "--shard", "1/2"],
        &["compare-traces", "a.json", "b.json", "--shard", "1/2"],
        &["start-microbench", "--prof-path", "p", "--shard", "1/2"],
        &["start-microbench", "--resume", "--shard", "1/2"],
        &["op-replay", "Add", "--plan", "--shard", "1/2"],
        &["generate-op-comparison", "--shard", "3/2"],
        &["generate-op-comparison", "--shard-dir", "s"],
    ];
    for arguments in cases {
        let output = perfdb(folder.path(), arguments).output()?;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(!folder.path().join("shards").exists());
    }
    let nothing = perfdb(folder.path(), &["merge-shards", "data"]).output()?;
    assert!(text(&nothing.stderr).contains("error: data: no shards here"), "{}", text(&nothing.stderr));
    Ok(())
}
