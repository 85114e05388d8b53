//! Sets of shards: whole ones give every result once, and what is no set is refused with the reason.

use perfdb_files::shards::{Case, Error, InputFile, Job, Shard, ShardSet, ShardWriter};
use proptest::prelude::*;
use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn job(cases: usize) -> Job {
    Job {
        tool: "square".to_owned(),
        version: "1".to_owned(),
        arguments: vec!["--exact".to_owned()],
        inputs: Vec::new(),
        cases: (0..cases).map(|case| format!("case {case}")).collect(),
    }
}

/// Makes a shard whose results are the squares of the numbers of its cases.
fn make(folder: &Path, number: u32, of: u32, job: Job) -> Result<PathBuf, Error> {
    let shard = Shard::new(number, of).expect("a shard");
    let mut writer = ShardWriter::create(folder, shard, job.clone())?;
    for case in (0..job.cases.len()).filter(|&case| job.is_of(case, shard)) {
        writer.record(Case::done(case), &(case as u64 * case as u64))?;
    }
    writer.finish()
}

fn squares(folder: &Path, job: &Job) -> Result<Vec<u64>, Error> {
    let mut results = ShardSet::open(&[folder.to_owned()])?.results(job)?;
    (0..job.cases.len()).map(|case| results.take(case)).collect()
}

fn refusal(folders: &[PathBuf], job: &Job) -> String {
    let checked = ShardSet::open(folders).and_then(|set| set.check(job));
    checked.expect_err("the set is refused").to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_result_comes_once_and_in_order(
        cases in 0_usize..40,
        of in 1_u32..12,
        killed in proptest::collection::vec(any::<proptest::sample::Index>(), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for at in killed {
            // A run that ends before it is finished, after it has written results.
            let shard = Shard::new(u32::try_from(at.index(of as usize)).unwrap() + 1, of).unwrap();
            let mut writer = ShardWriter::create(folder.path(), shard, job(cases)).unwrap();
            writer.record(Case::done(0), &7_u64).unwrap();
            std::mem::forget(writer);
        }
        for number in 1..=of {
            make(folder.path(), number, of, job(cases)).unwrap();
        }
        let expected: Vec<u64> = (0..cases as u64).map(|case| case * case).collect();
        prop_assert_eq!(squares(folder.path(), &job(cases)).unwrap(), expected);
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        prop_assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
    }
}

#[test]
fn missing_shards_are_named() -> TestResult {
    let folder = tempfile::tempdir()?;
    for number in [1, 3, 7] {
        make(folder.path(), number, 8, job(5))?;
    }
    let text = refusal(&[folder.path().to_owned()], &job(5));
    assert!(text.ends_with("5 of 8 shards missing: 2,4-6,8"), "{text}");
    Ok(())
}

#[test]
fn a_shard_that_is_there_twice_is_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    make(&one, 1, 1, job(5))?;
    make(&other, 1, 1, job(5))?;
    let text = refusal(&[one.clone(), other.clone()], &job(5));
    assert!(text.contains("shard 1/1 is also in"), "{text}");
    let text = refusal(&[one.clone(), one], &job(5));
    assert!(text.contains("shard 1/1 is also in"), "{text}");
    Ok(())
}

#[test]
fn shards_of_two_jobs_make_no_set() -> TestResult {
    let input = |content: &str| -> Result<Vec<InputFile>, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("list.yaml");
        fs::write(&path, content)?;
        Ok(vec![InputFile { path: "list.yaml".to_owned(), ..InputFile::shared(&path)? }])
    };
    let first = || -> Result<Job, Box<dyn std::error::Error>> { Ok(Job { inputs: input("a")?, ..job(5) }) };
    let others = [
        (Job { version: "2".to_owned(), ..first()? }, "versions 2 and 1"),
        (Job { tool: "cube".to_owned(), ..first()? }, "tools cube and square"),
        (Job { arguments: vec!["--fast".to_owned()], ..first()? }, "options `--fast` and `--exact`"),
        (Job { inputs: input("b")?, ..first()? }, "another content of list.yaml"),
        (Job { inputs: Vec::new(), ..first()? }, "another content of list.yaml"),
        (Job { cases: job(6).cases, ..first()? }, "other cases"),
    ];
    for (other, reason) in others {
        let folder = tempfile::tempdir()?;
        make(folder.path(), 1, 2, first()?)?;
        make(folder.path(), 2, 2, other.clone())?;
        let text = refusal(&[folder.path().to_owned()], &first()?);
        assert!(text.contains("no set with") && text.ends_with(reason), "{text}");
        // The same, where the job has changed after all shards were made.
        make(folder.path(), 2, 2, first()?)?;
        let text = refusal(&[folder.path().to_owned()], &other);
        assert!(text.contains("made of another job"), "{text}");
    }
    Ok(())
}

#[test]
fn another_number_of_shards_makes_no_set() -> TestResult {
    let folder = tempfile::tempdir()?;
    make(folder.path(), 1, 2, job(5))?;
    make(folder.path(), 2, 2, job(5))?;
    make(folder.path(), 1, 4, job(5))?;
    let text = refusal(&[folder.path().to_owned()], &job(5));
    assert!(text.contains("shards and"), "{text}");
    Ok(())
}

#[test]
fn what_is_cut_short_is_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    let set = [folder.path().to_owned()];
    let shard = make(folder.path(), 1, 1, job(5))?;
    let (manifest, results) = (shard.join("manifest.json"), shard.join("results.bin"));
    let whole = fs::read(&manifest)?;
    for length in [0, 1, whole.len() / 2, whole.len() - 3] {
        fs::write(&manifest, &whole[..length])?;
        let text = refusal(&set, &job(5));
        assert!(text.contains("manifest.json: damaged or cut short"), "{text}");
    }
    fs::write(&manifest, String::from_utf8(whole.clone())?.replace("perfdb.shard/1", "perfdb.shard/9"))?;
    assert!(refusal(&set, &job(5)).contains("perfdb.shard/9"));
    fs::write(&manifest, &whole)?;
    let all = fs::read(&results)?;
    fs::write(&results, &all[..all.len() - 1])?;
    assert!(refusal(&set, &job(5)).contains("results.bin: damaged or cut short"));
    fs::remove_file(&manifest)?;
    assert!(refusal(&set, &job(5)).contains("is not complete; run it again"));
    fs::remove_dir_all(&shard)?;
    assert!(refusal(&set, &job(5)).contains("no shards here"));
    Ok(())
}

#[test]
fn a_shard_that_is_made_again_replaces_the_earlier_one() -> TestResult {
    let folder = tempfile::tempdir()?;
    make(folder.path(), 1, 1, job(3))?;
    make(folder.path(), 1, 1, job(4))?;
    assert_eq!(squares(folder.path(), &job(4))?, [0, 1, 4, 9]);
    Ok(())
}

#[test]
fn an_input_of_a_case_that_changes_afterwards_is_named() -> TestResult {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.json");
    fs::write(&trace, "{}")?;
    let shard = Shard::new(1, 1).ok_or("a shard")?;
    let mut writer = ShardWriter::create(&folder.path().join("shards"), shard, job(1))?;
    writer.record(Case { number: 0, files: &[&trace], failed: false }, &0_u64)?;
    writer.finish()?;
    let set = ShardSet::open(&[folder.path().join("shards")])?;
    set.check(&job(1))?;
    fs::write(&trace, "[]")?;
    let error = set.check(&job(1)).expect_err("the trace has changed");
    assert!(error.to_string().contains("trace.json: has changed since shard 1/1 has read it"), "{error}");
    assert!(error.source().is_none());
    // Where the shards are put together, traces need not be.
    fs::remove_file(&trace)?;
    set.check(&job(1))?;
    Ok(())
}
