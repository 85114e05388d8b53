//! Builds a package with all its mutants in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::mutant::Mutant;
use crate::schema::{ROOT, Schema};
use crate::sites::{Site, sites};
use crate::tree::Tree;

/// The programs of a package's tests, and the mutants that are not in them.
pub struct Built {
    pub programs: Vec<PathBuf>,
    /// The site of each mutant.
    pub sites: BTreeMap<usize, usize>,
    pub left_out: BTreeSet<usize>,
}

/// A package in a copy of the checkout.
pub struct Package<'a> {
    pub tree: &'a Tree,
    pub name: &'a str,
    pub target: PathBuf,
}

impl Package<'_> {
    /// Writes the mutants into the sources and builds the tests. Mutants that do not compile there are left out.
    pub fn build(&self, mutants: &[(usize, Mutant)]) -> Result<Built> {
        let mut files: BTreeMap<&str, Vec<(usize, Mutant)>> = BTreeMap::new();
        for (number, mutant) in mutants {
            files.entry(&mutant.file).or_default().push((*number, mutant.clone()));
        }
        let first = files.keys().next().context("no mutant")?;
        let root = format!("{}/src/lib.rs", first.split("/src/").next().unwrap_or_default());
        let root_text = self.tree.text(&root)?;
        files.entry(&root).or_default();
        let mut left_out = BTreeSet::new();
        loop {
            let (mut schemas, mut site_of) = (BTreeMap::new(), BTreeMap::new());
            for (file, mutants) in &files {
                let text = if *file == root { root_text.clone() } else { self.tree.text(file)? };
                let tried: Vec<_> = mutants.iter().filter(|(number, _)| !left_out.contains(number)).cloned().collect();
                let (sites, alone) = sites(&text, &tried).with_context(|| (*file).to_owned())?;
                left_out.extend(alone);
                let of_site =
                    |site: &Site| site.mutants.iter().map(|(number, _)| (*number, site.number())).collect::<Vec<_>>();
                site_of.extend(sites.iter().flat_map(of_site));
                let mut schema = Schema::of(&text, sites);
                schema.text.push_str(if *file == root { ROOT } else { "" });
                self.tree.write(file, &schema.text)?;
                schemas.insert((*file).to_owned(), schema);
            }
            let errors = match self.compile()? {
                Ok(programs) => return Ok(Built { programs, sites: site_of, left_out }),
                Err(errors) => errors,
            };
            let before = left_out.len();
            for error in &errors {
                left_out.extend(blamed(&schemas, error));
            }
            eprintln!("{} errors: {} mutants are left out", errors.len(), left_out.len());
            if left_out.len() == before {
                bail!("no mutant is to blame: {}", errors[0]["rendered"].as_str().unwrap_or_default());
            }
        }
    }

    /// The programs of the tests, or what the compiler says against them.
    fn compile(&self) -> Result<Result<Vec<PathBuf>, Vec<Value>>> {
        let output = Command::new("cargo")
            .args(["test", "--tests", "--no-run", "--quiet", "--package", self.name, "--message-format", "json"])
            .current_dir(&self.tree.top)
            .env("CARGO_TARGET_DIR", &self.target)
            .stderr(Stdio::inherit())
            .output()?;
        let lines = String::from_utf8(output.stdout)?;
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if output.status.success() {
            let tests = lines.filter(|line| line["profile"]["test"] == true);
            return Ok(Ok(tests.filter_map(|line| line["executable"].as_str().map(PathBuf::from)).collect()));
        }
        let has_place = |message: &Value| message["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        let errors = lines.map(|mut line| line["message"].take());
        let errors: Vec<Value> = errors.filter(|message| message["level"] == "error" && has_place(message)).collect();
        ensure!(!errors.is_empty(), "the tests do not compile");
        Ok(Err(errors))
    }
}

fn blamed(schemas: &BTreeMap<String, Schema>, error: &Value) -> Vec<usize> {
    let spans = error["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (primary, others): (Vec<&Value>, Vec<&Value>) = spans.iter().partition(|span| span["is_primary"] == true);
    let of_span = |span: &Value| {
        let schema = schemas.get(span["file_name"].as_str()?)?;
        let byte = |key: &str| span[key].as_u64().and_then(|byte| usize::try_from(byte).ok());
        Some(schema.blamed(&(byte("byte_start")?..byte("byte_end")?)))
    };
    primary.into_iter().chain(others).filter_map(of_span).find(|numbers| !numbers.is_empty()).unwrap_or_default()
}
