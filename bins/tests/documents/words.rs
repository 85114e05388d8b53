//! Phrases that texts for people avoid: `testdata/words` lists them, with those that are right in their place.

use regex::{Regex, RegexBuilder};
use std::path::{Path, PathBuf};

/// Where people read: documentation, and the sources whose messages and doc comments count.
const ROOTS: [&str; 5] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "crates"];
const MORE_ROOTS: [&str; 1] = ["bins"];

/// Folders that hold no text of the product.
const LEFT_OUT: [&str; 5] = ["target", "testdata", "tests", "snapshots", "fuzz"];

/// Texts of a program that are shorter than this are names and the like.
const SHORTEST: usize = 12;

struct Phrase {
    text: String,
    pattern: Regex,
    instead: String,
    /// Words behind it with which it is right.
    except: Vec<String>,
}

struct Allowed {
    place: String,
    phrase: String,
}

/// Every line with a phrase that is not allowed there.
pub(crate) fn found(root: &Path) -> Result<Vec<String>, String> {
    let phrases = phrases(root)?;
    let allowed = allowed(root)?;
    let mut files = Vec::new();
    for place in ROOTS.iter().chain(&MORE_ROOTS) {
        collect(&root.join(place), &mut files)?;
    }
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        for (number, line) in (1..).zip(text.lines()) {
            for text in texts(&path, line) {
                let Some((phrase, hit)) = phrases.iter().find_map(|phrase| Some((phrase, phrase.hit(&text)?))) else {
                    continue;
                };
                let folded = hit.to_lowercase();
                let is_allowed =
                    allowed.iter().any(|one| name.starts_with(&one.place) && folded.starts_with(&one.phrase));
                if !is_allowed {
                    found.push(format!("{name}:{number}: {hit:?}: write {:?} ({})", phrase.instead, phrase.text));
                }
            }
        }
    }
    Ok(found)
}

impl Phrase {
    fn hit<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_right =
            |hit: &str| self.except.iter().any(|word| hit.trim_end().to_lowercase().ends_with(&format!(" {word}")));
        self.pattern.find_iter(text).map(|hit| hit.as_str()).find(|hit| !is_right(hit))
    }
}

fn lines(root: &Path, name: &str) -> Result<Vec<String>, String> {
    let path = root.join("testdata/words").join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

fn phrases(root: &Path) -> Result<Vec<Phrase>, String> {
    let except = lines(root, "except.txt")?;
    let except: Vec<(&str, &str)> = except.iter().filter_map(|line| line.split_once(" => ")).collect();
    let parse = |line: String| {
        let (text, instead) = line.split_once(" => ").ok_or_else(|| format!("phrases.txt: {line}"))?;
        let pattern = RegexBuilder::new(text).case_insensitive(true).build().map_err(|error| error.to_string())?;
        let words = except.iter().filter(|(beginning, _)| text.contains(beginning));
        let except = words.flat_map(|(_, words)| words.split(", ")).map(str::to_owned).collect();
        Ok(Phrase { text: text.to_owned(), pattern, instead: instead.to_owned(), except })
    };
    lines(root, "phrases.txt")?.into_iter().map(parse).collect()
}

fn allowed(root: &Path) -> Result<Vec<Allowed>, String> {
    let parse = |line: String| match line.split(" | ").collect::<Vec<_>>()[..] {
        [place, phrase, reason] if !reason.is_empty() => {
            Ok(Allowed { place: place.to_owned(), phrase: phrase.to_owned() })
        }
        _ => Err(format!("allowed.txt: {line}: a place, a phrase and a reason are needed")),
    };
    lines(root, "allowed.txt")?.into_iter().map(parse).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    if !path.is_dir() {
        files.extend(is_read(path).then(|| path.to_owned()));
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))? {
        let entry = entry.map_err(|error| error.to_string())?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !LEFT_OUT.contains(&name.as_str()) {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

fn is_read(path: &Path) -> bool {
    let suffix = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    match suffix.as_str() {
        "md" | "rs" | "html" | "js" | "j2" => true,
        "json" => path.components().any(|part| part.as_os_str() == "schemas"),
        _ => false,
    }
}

/// What people read of a line: all of it; of a source its doc comment or its longer texts.
fn texts(path: &Path, line: &str) -> Vec<String> {
    if path.extension().is_none_or(|suffix| suffix != "rs") {
        return vec![line.to_owned()];
    }
    let said = line.trim_start();
    if said.starts_with("///") || said.starts_with("//!") {
        return vec![said.to_owned()];
    }
    let mut texts = Vec::new();
    let mut current: Option<String> = None;
    let mut characters = said.chars();
    while let Some(character) = characters.next() {
        match (&mut current, character) {
            (None, '"') => current = Some(String::new()),
            (Some(_), '"') => texts.extend(current.take()),
            (Some(text), '\\') => {
                text.push('\\');
                text.extend(characters.next());
            }
            (Some(text), character) => text.push(character),
            (None, _) => {}
        }
    }
    texts.retain(|text| text.chars().count() >= SHORTEST);
    texts
}
