//! Version texts, the names of version directories, and finding out what is installed.

use crate::error::Error;
use perfdb_pycompat::text::trim;
use regex::Regex;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// A version as people give it: trimmed, letters and digits with single `.`, `_`, `+` or `-` between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionText(String);

static VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[0-9A-Za-z]+([._+-][0-9A-Za-z]+)*$"));

/// A pattern of this file.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern that tests use")
}

impl VersionText {
    /// Reads a version.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let trimmed = trim(text);
        if VERSION.is_match(trimmed) {
            Ok(VersionText(trimmed.to_owned()))
        } else {
            Err(Error::BadVersion("a version is letters and digits with single . _ + or - between them".to_owned()))
        }
    }

    /// The text, trimmed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the whole name of a version directory: `vllm…_torch…_cann…`.
    pub(crate) fn is_directory_name(&self) -> bool {
        let Some(rest) = self.0.strip_prefix("vllm") else { return false };
        // Some `_torch` with something before it, and some `_cann` with something on both sides behind that.
        rest.match_indices("_torch").any(|(torch, word)| {
            let behind = &rest[torch + word.len()..];
            torch > 0 && behind.match_indices("_cann").any(|(cann, word)| cann > 0 && cann + word.len() < behind.len())
        })
    }
}

/// The versions that a user gives.
#[derive(Debug, Clone, Default)]
pub struct VersionArguments {
    /// vLLM-Ascend: a version, or the whole name of a version directory.
    pub vllm: Option<VersionText>,
    /// PyTorch.
    pub torch: Option<VersionText>,
    /// CANN.
    pub cann: Option<VersionText>,
}

impl VersionArguments {
    /// Refuses a whole directory name beside other versions, which would give a doubled name. A usage error.
    pub fn check(&self) -> Result<(), Error> {
        match &self.vllm {
            Some(vllm) if vllm.is_directory_name() && (self.torch.is_some() || self.cann.is_some()) => {
                Err(Error::VersionsBesideDirectory(vllm.as_str().to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The name of the version directory; what is not given is looked for on this machine.
    pub fn directory_name(&self, machine: &Machine<'_>) -> Result<String, Error> {
        self.check()?;
        if let Some(vllm) = self.vllm.as_ref().filter(|vllm| vllm.is_directory_name()) {
            return Ok(vllm.as_str().to_owned());
        }
        let given = |text: &Option<VersionText>| text.as_ref().map(|text| text.as_str().to_owned());
        let (mut vllm, mut torch, mut cann) = (given(&self.vllm), given(&self.torch), given(&self.cann));
        if vllm.is_none() || torch.is_none() || cann.is_none() {
            let found = machine.python_versions(vllm.is_none(), torch.is_none(), cann.is_none());
            let usable = |version: Option<String>| version.filter(|version| is_usable_part(version));
            vllm = vllm.or(usable(found.vllm));
            torch = torch.or(usable(found.torch));
            cann = cann.or(usable(found.cann)).or_else(|| usable(machine.cann_version()));
        }
        let missing: Vec<&'static str> = [("vLLM-Ascend", &vllm), ("PyTorch", &torch), ("CANN", &cann)]
            .into_iter()
            .filter(|(_, version)| version.is_none())
            .map(|(name, _)| name)
            .collect();
        match (vllm, torch, cann) {
            (Some(vllm), Some(torch), Some(cann)) => Ok(directory_name(&vllm, &torch, &cann)),
            _ => Err(Error::UnknownVersions { missing }),
        }
    }
}

/// What stands in a file name must not leave the folder.
fn is_usable_part(version: &str) -> bool {
    !trim(version).is_empty() && !version.contains(['/', '\\', '\0'])
}

/// The name of the directory for three versions, each with or without its own prefix.
///
/// ```
/// use perfdb_store::version::directory_name;
/// assert_eq!(directory_name(" v0.18.0rc1 ", "torch2.9.0+cpu", "8.5"), "vllm0.18.0rc1_torch2.9.0_cann8.5");
/// ```
pub fn directory_name(vllm: &str, torch: &str, cann: &str) -> String {
    let vllm = trim(vllm);
    let vllm = without_prefix(vllm, "vllm").unwrap_or_else(|| without_prefix(vllm, "v").unwrap_or(vllm));
    let torch = trim(torch);
    let torch = without_prefix(torch, "torch").unwrap_or(torch);
    let torch = torch.split('+').next().unwrap_or_default();
    let cann = trim(cann);
    let cann = without_prefix(cann, "cann").unwrap_or(cann);
    format!("vllm{vllm}_torch{torch}_cann{cann}")
}

fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// What detection looks at.
pub struct Machine<'a> {
    /// The interpreter to ask.
    pub python: OsString,
    /// How long the interpreter may take.
    pub python_timeout: Duration,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Machine").field("python", &self.python).finish_non_exhaustive()
    }
}

/// The versions in the Python environment of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
struct Found {
    vllm: Option<String>,
    torch: Option<String>,
    cann: Option<String>,
}

/// Asks for what the arguments name and answers with one JSON line behind a marker, because modules may print while they are imported.
const QUESTION: &str = r#"
import importlib, json, sys
from importlib import metadata

def distribution(*names):
    for name in names:
        try:
            return name, metadata.version(name)
        except Exception:
            pass
    return None, None

def version(module, *names):
    found = distribution(*names)[1]
    if not found:
        try:
            found = getattr(importlib.import_module(module), "__version__", None)
        except Exception:
            found = None
    return str(found) if found else None

answer = {}
if "vllm" in sys.argv:
    answer["vllm"] = version("vllm_ascend", "vllm-ascend", "vllm_ascend")
if "torch" in sys.argv:
    answer["torch"] = version("torch", "torch")
if "cann" in sys.argv and distribution("torch_npu", "torch-npu")[0]:
    try:
        torch_npu = importlib.import_module("torch_npu")
        found = getattr(getattr(torch_npu, "version", None), "cann", None) or getattr(torch_npu, "cann_version", None)
        answer["cann"] = str(found) if found else None
    except Exception:
        pass
print("\nperfdb-versions:" + json.dumps(answer), flush=True)
"#;

const INSTALL_VARIABLES: [&str; 4] =
    ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_TOOLKIT_HOME_PATH", "ASCEND_INSTALL_PATH"];

const INSTALL_ROOTS: [&str; 5] = [
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/ascend-toolkit",
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/latest",
    "/usr/local/Ascend",
];

const VERSION_FILES: [&str; 10] = [
    "ascend_toolkit_install.info",
    "version.info",
    "latest/version.info",
    "latest/ascend_toolkit_install.info",
    "ascend-toolkit/latest/version.info",
    "ascend-toolkit/latest/ascend_toolkit_install.info",
    "ascend-toolkit/version.info",
    "ascend-toolkit/ascend_toolkit_install.info",
    "arm64-linux/ascend_toolkit_install.info",
    "x86_64-linux/ascend_toolkit_install.info",
];

impl Machine<'_> {
    fn python_versions(&self, vllm: bool, torch: bool, cann: bool) -> Found {
        let wanted = [("vllm", vllm), ("torch", torch), ("cann", cann)];
        let wanted = wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name);
        let output = match self.ask_python(wanted) {
            Ok(output) => output,
            Err(error) => {
                tracing::debug!("{}: {error}", self.python.to_string_lossy());
                return Found::default();
            }
        };
        let text = String::from_utf8_lossy(&output);
        let answer = text.lines().rev().find_map(|line| line.strip_prefix("perfdb-audit:"));
        answer.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }

    fn ask_python<'n>(&self, wanted: impl Iterator<Item = &'n str>) -> std::io::Result<Vec<u8>> {
        let mut command = Command::new(&self.python);
        command.args(["-c", QUESTION]).args(wanted).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = perfdb_files::process::spawn(&mut command)?;
        let stdout = child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut output = Vec::new();
            let _ = stdout.map(|mut stdout| stdout.read_to_end(&mut output));
            output
        });
        let deadline = Instant::now() + self.python_timeout;
        while child.try_wait()?.is_none() {
            if Instant::now() >= deadline {
                child.kill()?;
                child.wait()?;
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        reader.join().map_err(|_| std::io::Error::other("reader failed"))
    }

    /// The version in the first file of a CANN installation that states one.
    fn cann_version(&self) -> Option<String> {
        let is_blank = |value: &OsStr| trim(&value.to_string_lossy()).is_empty();
        let variable = |name: &str| (self.variable)(name).filter(|value| !is_blank(value)).map(PathBuf::from);
        let named = INSTALL_VARIABLES.iter().filter_map(|name| variable(name));
        let at_home = variable("HOME").map(|home| home.join("Ascend/cann"));
        let roots = named.chain(at_home).chain(INSTALL_ROOTS.iter().map(PathBuf::from));
        roots.flat_map(|root| VERSION_FILES.map(|file| root.join(file))).find_map(|file| version_in_file(&file))
    }
}

static WHOLE_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?im)^[ \t]*(?:package_version|version)[ \t]*[=:][ \t]*(\S+)[ \t\r]*$"));
static ANYWHERE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:package_version|version)\s*[:=]\s*([0-9A-Za-z._+-]+)"));

fn version_in_file(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
    [&WHOLE_LINE, &ANYWHERE].into_iter().find_map(|pattern| {
        let found = pattern.captures(&text)?;
        Some(found.get(1)?.as_str().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn version(text: &str) -> Option<VersionText> {
        VersionText::parse(text).ok()
    }

    #[test]
    fn a_version_matches_in_full() {
        for good in ["0.18.0", " 8.5.RC1 ", "2.9.0+cpu", "vllm0.18.0_torch2.9.0_cann8.5"] {
            assert!(version(good).is_some(), "{good}");
        }
        for bad in ["", " ", "1..2", "-1", "1.", "a/b", "1 2", "1\n"] {
            assert_eq!(version(bad).is_some(), bad == "1\n", "{bad}");
        }
    }

    #[test]
    fn a_directory_name_stands_alone() -> TestResult {
        let whole = "vllm0.18.0_torch2.9.0_cann8.5_shape_generated";
        let nowhere = Machine { python: "/nonexistent".into(), python_timeout: Duration::ZERO, variable: &|_| None };
        let mut arguments = VersionArguments { vllm: version(whole), ..Default::default() };
        assert_eq!(arguments.directory_name(&nowhere)?, whole);
        arguments.cann = version("8.5");
        assert!(matches!(arguments.directory_name(&nowhere), Err(Error::VersionsBesideDirectory(_))));
        for part in ["vllm_torch_cann", "vllm1_torch_cann2", "vllm1_torch2_cann"] {
            assert!(version(part).is_none_or(|part| !part.is_directory_name()), "{part}");
        }
        Ok(())
    }

    #[test]
    fn missing_parts_are_named() {
        let nowhere = Machine { python: "/nonexistent".into(), python_timeout: Duration::ZERO, variable: &|_| None };
        let arguments = VersionArguments { vllm: version("0.18.0"), cann: version("8"), ..Default::default() };
        let message = arguments.directory_name(&nowhere).map_err(|error| error.to_string());
        let expected = "could not determine runtime version(s): PyTorch";
        assert_eq!(message, Err(expected.to_owned()));
    }

    #[test]
    fn prefixes_go_in_any_case_and_only_once() {
        assert_eq!(directory_name("VLLMv1", "Torch2+a+b", "CANNcann8"), "vllmv1_torch2_canncann8");
        assert_eq!(directory_name("V0.1", "2", "8"), "vllm0.1_torch2_cann8");
        assert_eq!(directory_name("é", "2", "8"), "vllmé_torch2_cann8");
    }

    #[test]
    fn a_version_file_states_a_whole_line_or_a_word() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("version.info");
        for (text, expected) in [
            ("x=1\r\nPackage_Version : 8.5.0\r\nversion=9\r\n", Some("8.5.0")),
            ("# version: 7 and more\nVersion = 8.3.RC1  \n", Some("8.3.RC1")),
            ("toolkit [version: 8.1-beta] of today", Some("8.1-beta")),
            ("my_version=3", None),
            ("nothing", None),
        ] {
            std::fs::write(&path, text)?;
            assert_eq!(version_in_file(&path).as_deref(), expected, "{text}");
        }
        std::fs::write(&path, b"\xff\xfeversion=\xff8.5\n")?;
        assert_eq!(version_in_file(&path).as_deref(), Some("8.5"));
        Ok(())
    }

    #[test]
    fn the_first_root_with_a_version_counts() -> TestResult {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("b/latest"))?;
        std::fs::write(folder.path().join("b/latest/version.info"), "version=8.2")?;
        let variable = |name: &str| match name {
            "ASCEND_HOME_PATH" => Some("  ".into()),
            "ASCEND_TOOLKIT_HOME" => Some(folder.path().join("a").into_os_string()),
            "ASCEND_INSTALL_PATH" => Some(folder.path().join("b").into_os_string()),
            _ => None,
        };
        let machine = Machine { python: "none".into(), python_timeout: Duration::ZERO, variable: &variable };
        assert_eq!(machine.cann_version().as_deref(), Some("8.2"));
        Ok(())
    }
}
