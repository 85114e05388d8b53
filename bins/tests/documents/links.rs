//! Links between pages, and the list of pages that the book is made of.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Links that lead nowhere, in README, CONTRIBUTING and all pages below `docs`.
pub(crate) fn broken(root: &Path) -> Result<Vec<String>, String> {
    let mut pages = pages_below(&root.join("docs"))?;
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    let mut broken = Vec::new();
    for page in pages {
        let text = read(&page)?;
        let folder = page.parent().unwrap_or(root);
        for target in targets(&text) {
            let file = target.split('#').next().unwrap_or_default();
            // Made when the book is.
            let is_made = file.ends_with("reference.md");
            if !file.is_empty() && !is_made && !folder.join(file).exists() {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    Ok(broken)
}

/// Pages below `docs` that `docs/SUMMARY.md` does not list. With `UPDATE_SUMMARY=1` they are put among those of their folder.
pub(crate) fn unlisted(root: &Path) -> Result<Vec<String>, String> {
    let docs = root.join("docs");
    let summary = docs.join("SUMMARY.md");
    let mut text = read(&summary)?;
    let listed: BTreeSet<PathBuf> = targets(&text).map(|target| normal(&docs.join(target))).collect();
    let pages = pages_below(&docs)?.into_iter().filter(|page| *page != summary && !listed.contains(&normal(page)));
    let mut unlisted: Vec<PathBuf> = pages.collect();
    unlisted.sort();
    if std::env::var_os("UPDATE_SUMMARY").is_some() {
        for page in unlisted.drain(..) {
            let name = page.strip_prefix(&docs).unwrap_or(&page).display().to_string();
            text = with_entry(&text, &name, title(&read(&page)?));
        }
        std::fs::write(&summary, text).map_err(|error| error.to_string())?;
    }
    Ok(unlisted.iter().map(|page| format!("{} (UPDATE_SUMMARY=1 adds it)", page.display())).collect())
}

/// The summary with one more page, before the first of its folder with a later name.
fn with_entry(summary: &str, name: &str, title: &str) -> String {
    let folder = name.split_once('/').map_or("", |(folder, _)| folder);
    let mut lines: Vec<String> = summary.lines().map(str::to_owned).collect();
    let of_folder = |line: &String| line.contains(&format!("]({folder}/"));
    let later = lines.iter().position(|line| of_folder(line) && targets(line).any(|other| other > name));
    let at = later.or_else(|| lines.iter().rposition(of_folder).map(|last| last + 1)).unwrap_or(lines.len());
    lines.insert(at, format!("- [{title}]({name})"));
    lines.join("\n") + "\n"
}

fn title(page: &str) -> &str {
    page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Untitled")
}

/// Where the links of a page lead, except to other sites. Blocks of code have no links.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let is_prose = |(at, _): &(usize, &str)| at % 2 == 0;
    let prose = text.split("\n```").enumerate().filter(is_prose).map(|(_, part)| part);
    let links = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    links.filter(|target| !target.contains("://"))
}

fn pages_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            pages.extend(pages_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(pages)
}

fn normal(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
