//! Whole runs over the benchmark database, file by file against the original's, with one thread and with several.

use std::fs::{self, File};
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use flate2::read::GzDecoder;
use perfdb_files::lock::LockOptions;
use perfdb_grid::{Choice, Mode, Options, Semantics, prepare};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::vectors::{self, list, text};

/// Unpacks a tar archive of plain files into `folder`.
fn unpack(archive: &Path, folder: &Path) {
    const BLOCK: usize = 512;
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(archive).expect("the archive")).read_to_end(&mut bytes).expect("gzip");
    let field = |header: &[u8], start: usize, length: usize| {
        let text = String::from_utf8_lossy(&header[start..start + length]);
        text.trim_matches(['\0', ' ']).to_owned()
    };
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + BLOCK).filter(|header| header[0] != 0) {
        let size = usize::from_str_radix(&field(header, 124, 12), 8).expect("an octal size");
        let path = folder.join(field(header, 0, 100));
        match header[156] {
            b'5' => fs::create_dir_all(path).expect("a folder"),
            _ => fs::write(path, &bytes[at + BLOCK..at + BLOCK + size]).expect("a file"),
        }
        at += BLOCK + size.div_ceil(BLOCK) * BLOCK;
    }
}

/// The options of a run that is described by command-line arguments.
fn options(arguments: &[Value], directory: &Path) -> Options {
    let mut options = Options {
        directory: directory.to_owned(),
        models: None,
        rows: 1000.into(),
        choice: Choice::Random,
        seed: 0.into(),
        max_hbm_gib: 32.0,
        config: None,
        semantics: Semantics::Upstream,
        threads: None,
    };
    for pair in arguments.chunks(2) {
        let value = pair[1].as_str().expect("a text");
        match pair[0].as_str().expect("a text") {
            "--rows" => options.rows = value.parse().expect("an integer"),
            "--seed" => options.seed = value.parse().expect("an integer"),
            "--max-hbm-gb" => options.max_hbm_gib = value.parse().expect("a number"),
            "--target-models" => options.models = Some(value.split(',').map(Into::into).collect()),
            other => panic!("unknown argument {other}"),
        }
    }
    options
}

fn check(run: &Value, threads: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    unpack(&vectors::file("bench-db.tar.gz"), folder.path());
    let directory = folder.path().join("bench-db");
    let options = Options { threads: NonZeroUsize::new(threads), ..options(list(run, "args"), &directory) };
    let locking = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };
    let prepared = prepare(&options, Mode::Write(&locking), None, &|_, _| {}).expect("a run");
    let summary = prepared.commit(Vec::new()).expect("new files");
    assert_eq!(Some(summary.appended()), run["appended"].as_u64(), "{}", run["args"]);
    for (name, _) in run["sha256"].as_object().expect("a mapping") {
        let bytes = fs::read(directory.join(name)).expect("a table");
        let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(digest, text(&run["sha256"], name), "{name} after {}", run["args"]);
    }
    let left: Vec<_> =
        fs::read_dir(&directory).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn every_file_has_the_bytes_of_the_original() {
    let file = vectors::json("bench-expected.json");
    for (index, run) in list(&file, "runs").iter().enumerate() {
        check(run, 1 + index % 3);
    }
}

#[test]
fn the_number_of_threads_makes_no_difference() {
    let file = vectors::json("bench-expected.json");
    let runs = list(&file, "runs");
    let capped = runs.iter().find(|run| run["args"].to_string().contains("2000")).expect("a capped run");
    for threads in [1, 7] {
        check(capped, threads);
    }
}
