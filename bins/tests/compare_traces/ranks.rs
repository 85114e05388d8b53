//! Traces of all ranks of a run.

use super::{KERNEL, demo_ranks, run, trace};
use tempfile::TempDir;

#[test]
fn ranks_go_into_files_beside_the_text() {
    let folder = TempDir::new().expect("a folder");
    let ranks = demo_ranks().canonicalize().expect("a folder").display().to_string();
    let of = |arguments: &[&str]| run(folder.path(), &[&["--ranks", ranks.as_str()], arguments].concat());
    let both = of(&["--result-json", "r.json", "--result-csv", "r.csv"]);
    assert_eq!((both.code, both.stdout), (0, of(&[]).stdout), "{}", both.stderr);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a result");
    assert_eq!(read("r.json"), of(&["--format", "json"]).stdout);
    assert_eq!(read("r.csv"), of(&["--format", "csv"]).stdout);
    assert_eq!(of(&["--output", "r.txt", "--json", "-"]).stdout, read("r.json"));
    assert_eq!(read("r.txt"), of(&[]).stdout);
    let rank = demo_ranks().join("rank0.json").display().to_string();
    assert_eq!(of(&["--result-json", &rank]).code, 1);
}

#[test]
fn jobs_change_no_digit() {
    let of = |jobs, format| run(&demo_ranks(), &["--ranks", ".", "--jobs", jobs, "--format", format]).stdout;
    for format in ["text", "json", "csv"] {
        assert!(!of("1", format).is_empty());
        assert_eq!(of("1", format), of("4", format));
    }
}

#[test]
fn ranks_that_are_none_are_one_line() {
    let folder = TempDir::new().expect("a folder");
    let demo = |name: &str| demo_ranks().join(name).display().to_string();
    trace(folder.path(), "kernels.json", KERNEL);
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    for (arguments, expected) in [
        (vec!["empty".to_owned()], "empty: traces of two ranks or more are needed, there is 0"),
        (vec![demo("rank0.json")], "there is 1"),
        (vec!["missing".to_owned()], "missing: No such file or directory"),
        (vec![demo("rank0.json"), "kernels.json".to_owned()], "kernels.json: no collective kernels"),
        (vec![demo("rank0.json"), "missing.json".to_owned()], "missing.json: No such file"),
        (vec![demo("rank0.json"), demo("rank0.json")], "both are of rank 0"),
    ] {
        let arguments: Vec<&str> = std::iter::once("--ranks").chain(arguments.iter().map(String::as_str)).collect();
        let run = run(folder.path(), &arguments);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(expected), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}
