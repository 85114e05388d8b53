//! The GitHub action: its steps run here as a runner runs them.

use perfdb_pycompat::yaml::{Node, parse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

use super::runs::{Server, USUAL, runs};

const ACTION: &str = "../.github/actions/trace-diff";

/// The member of a map, which must be there.
fn member<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    node.as_map()?.iter().find(|(key, _)| key.to_string() == name).map(|(_, value)| value)
}

fn text(node: &Node, name: &str) -> Option<String> {
    member(node, name).and_then(Node::as_text).map(str::to_owned)
}

/// A job with the action.
struct Job<'a> {
    action: Node,
    folder: &'a Path,
    inputs: BTreeMap<&'a str, &'a str>,
    /// Names and values that the compare step has written.
    outputs: BTreeMap<String, String>,
}

impl Job<'_> {
    /// The value of an expression between `${{` and `}}`.
    fn value(&self, expression: &str) -> String {
        if let Some(name) = expression.strip_prefix("inputs.") {
            let input = member(&self.action, "inputs").and_then(|inputs| member(inputs, name));
            let input = input.unwrap_or_else(|| panic!("there is no input {name}"));
            let default = || self.filled(&text(input, "default").unwrap_or_default());
            return self.inputs.get(name).map_or_else(default, |value| (*value).to_owned());
        }
        if let Some(name) = expression.strip_prefix("steps.compare.outputs.") {
            return self.outputs.get(name).cloned().unwrap_or_default();
        }
        let action = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(ACTION);
        match expression {
            "github.action_path" => action.display().to_string(),
            "github.token" => "a token".to_owned(),
            "github.repository" => "somebody/server".to_owned(),
            "github.event.pull_request.number" => "47".to_owned(),
            _ => panic!("{expression} is not known"),
        }
    }

    fn filled(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").expect("an end of the expression");
            filled += &self.value(expression.trim());
            filled += rest;
        }
        filled
    }

    /// Terms `a == 'b'`, or `a` for what is not empty, all of which must hold.
    fn holds(&self, condition: &str) -> bool {
        condition.split("&&").all(|term| match term.split_once("==") {
            Some((one, other)) => self.value(one.trim()) == other.trim().trim_matches('\''),
            None => !self.value(term.trim()).is_empty(),
        })
    }

    /// Runs the steps until one fails: its name and exit status.
    fn run(&mut self) -> Option<(String, i32)> {
        let steps = member(&self.action, "runs").and_then(|runs| member(runs, "steps")).and_then(Node::as_list);
        let steps: Vec<Node> = steps.expect("steps").to_vec();
        for step in &steps {
            if text(step, "if").is_some_and(|condition| !self.holds(&condition)) {
                continue;
            }
            assert_eq!(text(step, "shell").as_deref(), Some("bash"));
            let environment = member(step, "env").and_then(Node::as_map);
            let environment = environment
                .into_iter()
                .flat_map(|map| map.iter())
                .map(|(name, value)| (name.to_string(), self.filled(value.as_text().unwrap_or_default())));
            let script = text(step, "run").expect("a script");
            assert!(
                !script.contains("${{"),
                "values belong into the environment, where they are no commands: {script}"
            );
            let programs = self.folder.join("programs");
            let path = std::env::var("PATH").unwrap_or_default();
            let status = Command::new("bash")
                .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &script])
                .current_dir(self.folder)
                .envs(environment)
                .env("PATH", format!("{}:{path}", programs.display()))
                .env("GITHUB_OUTPUT", self.folder.join("outputs"))
                .env("GITHUB_STEP_SUMMARY", self.folder.join("summary.md"))
                .output()
                .expect("bash");
            let written = std::fs::read_to_string(self.folder.join("outputs")).unwrap_or_default();
            self.outputs.extend(
                written
                    .lines()
                    .filter_map(|line| line.split_once('='))
                    .map(|(name, value)| (name.to_owned(), value.to_owned())),
            );
            if !status.status.success() {
                return Some((text(step, "name").unwrap_or_default(), status.status.code().unwrap_or(-1)));
            }
        }
        None
    }
}

fn job<'a>(folder: &'a Path, inputs: &[(&'a str, &'a str)]) -> Job<'a> {
    let action = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(ACTION).join("action.yml");
    let action = parse(&std::fs::read_to_string(action).expect("the action")).expect("YAML");
    let _ = std::fs::remove_file(folder.join("outputs"));
    Job { action, folder, inputs: inputs.iter().copied().collect(), outputs: BTreeMap::new() }
}

#[test]
fn the_action_comments_and_fails_beyond_the_limit() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let programs = folder.join("programs");
    std::fs::create_dir(&programs).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_perfdb"), programs.join("perfdb")).expect("a link");
    let gh = programs.join("gh");
    std::fs::write(&gh, "#!/bin/sh\nprintf '%s\\n' \"$GH_TOKEN\" \"$GH_REPO\" \"$@\" >gh.txt\n").expect("a program");
    std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    runs(folder, "main runs", USUAL);
    runs(folder, "change", Server { attention: 1.1, ..USUAL });

    let both = [("before", "main runs\n"), ("after", "\nchange/run0.json\nchange/run1.json\nchange/run2.json\n")];
    let mut open = job(folder, &both);
    assert_eq!(open.run(), None, "without a limit nothing fails");
    assert_eq!(open.outputs.get("verdict").map(String::as_str), Some("slower"));
    let said = std::fs::read_to_string(folder.join("gh.txt")).expect("a comment");
    let expected =
        "a token\nsomebody/server\npr\ncomment\n47\n--body-file\nperfdb/comment.md\n--edit-last\n--create-if-none\n";
    assert_eq!(said, expected);
    let comment = std::fs::read_to_string(folder.join("perfdb/comment.md")).expect("a comment");
    assert!(comment.starts_with("**perfdb trace diff: slower by ") && comment.lines().count() <= 40, "{comment}");
    assert_eq!(std::fs::read_to_string(folder.join("summary.md")).expect("a summary"), comment);

    // The stored runs of main are the baseline of the next job, which has a limit.
    let mut kept = job(folder, &[("after", "main runs"), ("folder", "kept"), ("comment", "false")]);
    std::fs::remove_file(folder.join("gh.txt")).expect("a file");
    assert_eq!(kept.run(), None);
    let gated = [("baseline", "kept/result.json"), ("after", "change"), ("fail-slower", "2%"), ("comment", "false")];
    let mut gated = job(folder, &gated);
    assert_eq!(gated.run(), Some(("Limit".to_owned(), 3)));
    assert_eq!(gated.outputs.get("status").map(String::as_str), Some("3"));
    assert!(!folder.join("gh.txt").exists(), "no comment was asked for");

    let mut wrong = job(folder, &[("before", "main runs"), ("after", "change"), ("options", "--no-such-option")]);
    assert_eq!(wrong.run(), Some(("Compare".to_owned(), 2)));
}

#[test]
fn the_example_workflow_gives_inputs_that_the_action_has() {
    let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/trace-diff-workflow.yaml");
    let workflow = parse(&std::fs::read_to_string(example).expect("the example")).expect("YAML");
    let job = member(&workflow, "jobs").and_then(|jobs| member(jobs, "trace-diff")).expect("a job");
    let steps = member(job, "steps").and_then(Node::as_list).expect("steps");
    let ours = steps.iter().find(|step| text(step, "uses").is_some_and(|uses| uses.contains("trace-diff")));
    let ours = ours.expect("a step with the action");
    let action = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(ACTION).join("action.yml");
    let action = parse(&std::fs::read_to_string(action).expect("the action")).expect("YAML");
    let inputs = member(&action, "inputs").expect("inputs");
    for (name, _) in member(ours, "with").and_then(Node::as_map).expect("inputs").iter() {
        let name = name.to_string();
        assert!(member(inputs, &name).is_some(), "{name}");
    }
    let path = text(ours, "uses").unwrap_or_default();
    assert!(path.contains("/.github/actions/trace-diff@"), "{path}");
}
