//! Rule files: which shapes each kernel can see.
//!
//! ```
//! use perfdb_grid::rules::RuleFile;
//!
//! let rules = RuleFile::built_in();
//! assert_eq!(rules.assignment("MatMulV3"), Some("matmul"));
//!
//! let text = "patterns: {p: {iterators: {M: NO_GRID}, inputs: ['(M,)'], outputs: ['(M,)']}}";
//! let error = RuleFile::parse("rules.yaml".as_ref(), text).unwrap_err();
//! assert_eq!(error.to_string(), "rules.yaml: patterns.p.iterators.M: unknown grid 'NO_GRID' (line 1)");
//! ```

mod nodes;
mod read;
mod read_template;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use perfdb_store::registry::SHAPE_PATTERNS;
use perfdb_trace::source::Source;

use crate::error::Error;
use crate::generators::Generator;
use crate::template::Template;

/// The name that stands in place of a file name for the built-in rules.
pub(crate) const BUILT_IN_NAME: &str = "config.yaml";

const PATTERNS: &str = include_str!("rules/default.yaml");

/// The assignment that stands for no rule.
const SKIP: &str = "skip";

/// A checked rule file.
#[derive(Clone, Debug)]
pub struct RuleFile {
    path: PathBuf,
    patterns: IndexMap<String, Pattern>,
    assignments: IndexMap<String, String>,
    warnings: Vec<String>,
}

/// How a rule makes its candidates.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// From iterators and shapes.
    Template(Box<Template>),
    /// By one of the special generators.
    Generator(Generator),
}

impl RuleFile {
    /// The rules that come with the program.
    #[must_use]
    pub fn built_in() -> Self {
        match Self::parse(Path::new(BUILT_IN_NAME), &format!("{PATTERNS}\n{SHAPE_PATTERNS}")) {
            Ok(rules) => rules,
            // A test reads the same text.
            Err(error) => unreachable!("the built-in rules are valid: {error}"),
        }
    }

    /// Reads and checks a rule file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or does not validate; the error names the file, the place and the offending word.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(path, &Source::open(path)?.read_text()?)
    }

    /// Checks the text of a rule file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// A text that does not validate.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        read::rule_file(path, text)
    }

    /// The file, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Things in the file that have no effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The pattern with this name.
    #[must_use]
    pub fn pattern(&self, name: &str) -> Option<&Pattern> {
        self.patterns.get(name)
    }

    /// All patterns by name, in the order of the file.
    pub fn patterns(&self) -> impl Iterator<Item = (&str, &Pattern)> {
        self.patterns.iter().map(|(name, pattern)| (name.as_str(), pattern))
    }

    /// The name of the pattern that a kernel is assigned to, or `skip`; `None` for a kernel that the file does not mention.
    #[must_use]
    pub fn assignment(&self, kernel: &str) -> Option<&str> {
        self.assignments.get(kernel).map(String::as_str)
    }

    /// The name and the pattern that an assignment stands for; `None` for `skip`.
    pub(crate) fn rule<'a>(&'a self, assignment: &'a str) -> Option<(&'a str, &'a Pattern)> {
        if assignment == SKIP { None } else { self.pattern(assignment).map(|pattern| (assignment, pattern)) }
    }

    /// Assigns a kernel to another pattern.
    pub(crate) fn reassign(&mut self, kernel: &str, pattern: &str) {
        self.assignments.insert(kernel.to_owned(), pattern.to_owned());
    }
}
