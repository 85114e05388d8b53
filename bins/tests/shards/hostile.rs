//! Shards are data of whoever made them: they start nothing, and write nothing outside the current folder.

use super::support::{TestResult, copy_folder, perfdb, testdata, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const TOOL: [&str; 5] = ["explain-prediction", "--scenarios", "list.yaml", "--data-dir", "data"];

/// A folder with a whole set of one shard.
fn set(further: &[&str]) -> Result<TempDir, Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    copy_folder(&testdata("scenarios"), &folder.path().join("data"))?;
    let list = fs::read_to_string(testdata("scenarios.yaml"))?.replace("scenarios/", "data/");
    fs::write(folder.path().join("list.yaml"), list)?;
    let output = perfdb(folder.path(), &[&TOOL[..], further, &["--shard", "1/1"]].concat()).output()?;
    if output.status.success() { Ok(folder) } else { Err(text(&output.stderr).into()) }
}

fn edit(folder: &Path, change: impl Fn(&mut Value)) -> TestResult {
    let path = folder.join("shards/shard-1-of-1/manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    change(&mut manifest);
    Ok(fs::write(path, manifest.to_string())?)
}

/// The merge fails with a line that holds the text.
fn refused(folder: &Path, words: &[&str], reason: &str) -> TestResult {
    let output = perfdb(folder, &[&["merge-shards", "shards"], words].concat()).output()?;
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}{stderr}", text(&output.stdout));
    assert!(stderr.contains(reason) && stderr.starts_with("error: "), "{stderr}");
    Ok(())
}

#[test]
fn outputs_of_edited_options_are_not_written_elsewhere() -> TestResult {
    let elsewhere = TempDir::new()?;
    let folder = set(&[])?;
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("link"))?;
    let absolute = elsewhere.path().join("o.json").display().to_string();
    for place in [absolute.as_str(), "../o.json", "link/o.json", "data/op_mapping.yaml"] {
        edit(folder.path(), |manifest| {
            manifest["arguments"] = json!([&TOOL[1..], &["--json", place]].concat());
        })?;
        refused(folder.path(), &[], "the options that the shards remember are not used")?;
    }
    assert_eq!(fs::read_dir(elsewhere.path())?.count(), 0);
    Ok(())
}

#[test]
fn what_somebody_has_typed_is_compared_with_what_the_shards_remember() -> TestResult {
    let elsewhere = TempDir::new()?;
    let output = elsewhere.path().join("o.json").display().to_string();
    let folder = set(&["--json", &output])?;
    refused(folder.path(), &[], "lies outside the current folder")?;
    let asked = [&["--"], &TOOL[..], &["--json", &output]].concat();
    refused(folder.path(), &[&asked[..], &["--csv", "o.csv"]].concat(), "the shards were made with")?;
    refused(
        folder.path(),
        &["--", "op-replay", "Add"],
        "the shards were made by explain-prediction, not by op-replay",
    )?;
    let merged = perfdb(folder.path(), &[&["merge-shards", "shards"], &asked[..]].concat()).output()?;
    assert!(merged.status.success(), "{}", text(&merged.stderr));
    assert!(Path::new(&output).is_file());
    Ok(())
}

#[test]
fn no_program_of_a_manifest_is_started() -> TestResult {
    let folder = set(&[])?;
    let program = folder.path().join("run");
    fs::write(&program, "#!/bin/sh\ntouch started\n")?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    for arguments in [
        json!(["--device", "HOST_CPU", "--python", "./run"]),
        json!(["--database-path", "db", "--backend", "torch-cpu", "--python", "./run", "--worker", "./run"]),
    ] {
        edit(folder.path(), |manifest| {
            manifest["tool"] = "start-microbench".into();
            manifest["arguments"] = arguments.clone();
        })?;
        let output = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(!folder.path().join("started").exists(), "{arguments}");
    }
    edit(folder.path(), |manifest| manifest["tool"] = "perfdb".into())?;
    refused(folder.path(), &[], "no tool with shards has this name")
}

#[test]
fn results_are_regular_files_of_the_shard() -> TestResult {
    let folder = set(&[])?;
    let results = folder.path().join("shards/shard-1-of-1/results.bin");
    let content = fs::read(&results)?;
    fs::remove_file(&results)?;
    assert!(Command::new("mkfifo").arg(&results).status()?.success());
    refused(folder.path(), &[], "results.bin: is a pipe, not a regular file")?;
    fs::remove_file(&results)?;
    fs::write(folder.path().join("elsewhere"), content)?;
    std::os::unix::fs::symlink("../../elsewhere", &results)?;
    refused(folder.path(), &[], "results.bin: is a link, not a regular file")?;
    fs::remove_file(&results)?;
    fs::rename(folder.path().join("elsewhere"), &results)?;
    edit(folder.path(), |manifest| manifest["files"][0]["name"] = "../../list.yaml".into())?;
    refused(folder.path(), &[], "a file outside its folder")
}

#[test]
fn any_number_of_shards_can_be_missing() -> TestResult {
    let folder = set(&[])?;
    edit(folder.path(), |manifest| manifest["of"] = 4_000_000_000_u32.into())?;
    let script = "ulimit -v 1000000; exec \"$0\" merge-shards shards";
    let program = assert_cmd::cargo::cargo_bin("perfdb");
    let output = Command::new("sh").args(["-c", script]).arg(program).current_dir(&folder).output()?;
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("3999999999 of 4000000000 shards missing: 2-4000000000"), "{stderr}");
    Ok(())
}

#[test]
fn tables_that_are_there_are_not_replaced_by_shards_alone() -> TestResult {
    let folder = TempDir::new()?;
    let inputs = perfdb_harness::reliability::world::inputs().map_err(|error| error.to_string())?;
    perfdb_harness::reliability::files::write(&inputs, folder.path()).map_err(|error| error.to_string())?;
    let tool = ["parse-kernel-details", "--profiling-path", "kd", "--database-path", "db"];
    let output = perfdb(folder.path(), &[&tool[..], &["--shard", "1/1"]].concat()).output()?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = fs::read(folder.path().join("db/Add.csv"))?;
    refused(folder.path(), &[], "db: has tables already")?;
    assert_eq!(fs::read(folder.path().join("db/Add.csv"))?, table);
    let merged = perfdb(folder.path(), &[&["merge-shards", "shards", "--"], &tool[..]].concat()).output()?;
    assert!(merged.status.success(), "{}", text(&merged.stderr));
    assert_ne!(fs::read(folder.path().join("db/Add.csv"))?, table);
    Ok(())
}
