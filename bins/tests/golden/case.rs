//! One case: its files, its command, what must come of it.

use crate::comparison::{How, difference};
use crate::strict;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// `case.json`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    tool: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    stdin: Option<String>,
    expect: Expected,
    #[serde(default)]
    compare: BTreeMap<String, How>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(default)]
    exit: i32,
    stdout: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    stderr_contains: Vec<String>,
}

pub(crate) struct Case {
    folder: PathBuf,
    description: Description,
}

impl Case {
    pub(crate) fn read(folder: &Path) -> Result<Case, Box<dyn std::error::Error>> {
        let text = fs::read_to_string(folder.join("case.json"))?;
        Ok(Case { folder: folder.to_owned(), description: serde_json::from_str(&text)? })
    }

    /// Whether the case needs the folder of real data.
    pub(crate) fn needs_data(&self) -> bool {
        let mut texts = self.description.args.iter().chain(self.description.env.values());
        texts.any(|text| text.contains("../../../data/") || text.contains("{DATA}"))
    }

    /// What differs from what is expected, and what is no JSON.
    pub(crate) fn run(&self, name: &str, data: Option<&Path>) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let temporary = tempfile::Builder::new().prefix("golden-").tempdir()?;
        let work = temporary.path().canonicalize()?.join("case");
        copy_tree(&self.folder, &work)?;
        let output = self.execute(&work, data)?;
        let mut differences = self.differences(&work, &output)?;
        differences.extend(strict::faults(name, &work, &self.folder, &output.stdout)?);
        Ok(differences)
    }

    fn execute(&self, work: &Path, data: Option<&Path>) -> io::Result<Output> {
        let substitute = |text: &str| {
            let data = data.map(|data| data.display().to_string()).unwrap_or_default();
            let text = text.replace("../../../data/", &format!("{data}/")).replace("{DATA}", &data);
            text.replace("{CASE}", &work.display().to_string())
        };
        let mut command = Command::new(bin_dir()?.join(&self.description.tool));
        command.current_dir(work).args(self.description.args.iter().map(|argument| substitute(argument)));
        for (name, value) in &self.description.env {
            let value = substitute(value);
            command.env(name, if name == "PATH" { search_path(&value, work) } else { value });
        }
        let stdin = match &self.description.stdin {
            Some(name) => Stdio::from(fs::File::open(work.join(name))?),
            None => Stdio::null(),
        };
        command.stdin(stdin).output()
    }

    fn differences(&self, work: &Path, output: &Output) -> io::Result<Vec<String>> {
        let expected = &self.description.expect;
        let how = |name: &str| self.description.compare.get(name).copied().unwrap_or_default();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let mut differences = Vec::new();
        if output.status.code() != Some(expected.exit) {
            differences.push(format!("{}, expected {}: {}", output.status, expected.exit, stderr.trim()));
        }
        if let Some(name) = &expected.stdout {
            let want = fs::read(self.folder.join(name))?;
            differences.extend(difference(&output.stdout, &want, how("stdout")).map(|what| format!("stdout: {what}")));
        }
        for (name, want) in &expected.files {
            let want = fs::read(self.folder.join(want))?;
            match fs::read(work.join(name)) {
                Ok(got) => {
                    differences.extend(difference(&got, &want, how(name)).map(|what| format!("{name}: {what}")));
                }
                Err(error) => differences.push(format!("{name}: {error}")),
            }
        }
        let written = expected.absent.iter().filter(|name| work.join(name).exists());
        differences.extend(written.map(|name| format!("{name}: should not exist")));
        let missing = expected.stderr_contains.iter().filter(|part| !stderr.contains(part.as_str()));
        differences.extend(missing.map(|part| format!("stderr lacks {part:?}: {}", stderr.trim())));
        if stderr.contains("panicked at") {
            differences.push(format!("panicked: {}", stderr.trim()));
        }
        Ok(differences)
    }
}

/// The folder of the built tools: the one above the test binary's.
fn bin_dir() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let folder = test.parent().and_then(Path::parent).map(Path::to_owned);
    folder.ok_or_else(|| io::Error::other("the test binary lies in no folder"))
}

/// A search path of the case's own: relative parts are below the case, the usual path follows unless it is named.
fn search_path(value: &str, work: &Path) -> String {
    let usual = std::env::var("PATH").unwrap_or_default();
    let own = value.replace("$PATH", &usual);
    let mut parts: Vec<String> =
        own.split(':').filter(|part| !part.is_empty()).map(|part| work.join(part).display().to_string()).collect();
    if !value.contains("$PATH") {
        parts.push(usual);
    }
    parts.join(":")
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
