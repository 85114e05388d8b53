//! Links to this program, named after the tools.

use crate::all_tools::TOOLS;
use std::fmt;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb install-links ~/.local/bin
  perfdb install-links \"$(dirname \"$(command -v perfdb)\")\"";

/// Why links were not made. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    /// The folder does not exist.
    #[error("{path}: no such directory; make it first (mkdir -p)")]
    NoDirectory { path: PathBuf },
    /// A file of a tool's name is something else than a link to perfdb.
    #[error("{path}: is not a link to perfdb{}; no link was made", more(.others))]
    InTheWay { path: PathBuf, others: usize },
    /// The place takes no link.
    #[error("{path}: no symbolic link can be made here ({source}); `perfdb TOOL` runs every tool without links")]
    NoLinks { path: PathBuf, source: io::Error },
}

fn more(others: &usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and neither is 1 other file of a tool's name".to_owned(),
        others => format!(", and neither are {others} other files of tools' names"),
    }
}

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Installed {
    directory: PathBuf,
    made: usize,
    replaced: usize,
    unchanged: usize,
}

impl fmt::Display for Installed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Installed { directory, made, replaced, unchanged } = self;
        writeln!(
            formatter,
            "{}: {made} links made, {replaced} replaced, {unchanged} there already",
            directory.display()
        )
    }
}

/// What stands at the place of a link.
enum Place {
    Free,
    Link(PathBuf),
    Other,
}

/// Makes a link to `program` for every tool: all or none.
pub(super) fn install(directory: &Path, program: &Path) -> Result<Installed, LinkError> {
    if !directory.is_dir() {
        return Err(LinkError::NoDirectory { path: directory.to_owned() });
    }
    let target = target(directory, program);
    let places: Vec<(PathBuf, Place)> = TOOLS
        .iter()
        .map(|tool| directory.join(tool.name))
        .map(|path| {
            let place = place(&path, &target);
            (path, place)
        })
        .collect();
    let in_the_way: Vec<&PathBuf> =
        places.iter().filter(|(_, place)| matches!(place, Place::Other)).map(|(path, _)| path).collect();
    if let Some((first, others)) = in_the_way.split_first() {
        return Err(LinkError::InTheWay { path: (*first).clone(), others: others.len() });
    }
    let mut installed = Installed { directory: directory.to_owned(), made: 0, replaced: 0, unchanged: 0 };
    let mut done: Vec<(&Path, Option<&Path>)> = Vec::new();
    for (path, place) in &places {
        let old = match place {
            Place::Link(old) if *old == target => {
                installed.unchanged += 1;
                continue;
            }
            Place::Link(old) => Some(old.as_path()),
            Place::Free | Place::Other => None,
        };
        if let Err(source) = put(path, &target, old.is_some()) {
            // As it was before, as far as the file system lets us.
            for (path, old) in done.into_iter().rev() {
                let _ = match old {
                    Some(old) => put(path, old, true),
                    None => std::fs::remove_file(path),
                };
            }
            return Err(LinkError::NoLinks { path: path.clone(), source });
        }
        *(if old.is_some() { &mut installed.replaced } else { &mut installed.made }) += 1;
        done.push((path, old));
    }
    Ok(installed)
}

/// What links point to: beside the program its name alone, so that the folder can be moved.
fn target(directory: &Path, program: &Path) -> PathBuf {
    let same = program.parent().and_then(|parent| parent.canonicalize().ok()) == directory.canonicalize().ok();
    match program.file_name() {
        Some(name) if same => PathBuf::from(name),
        _ => program.to_owned(),
    }
}

/// A link whose target is called like the target of ours, or `perfdb`, is one to perfdb, wherever that stood.
fn place(path: &Path, target: &Path) -> Place {
    match std::fs::read_link(path) {
        Ok(old) if old.file_name() == target.file_name() || old.file_name().is_some_and(|name| name == "perfdb") => {
            Place::Link(old)
        }
        Ok(_) => Place::Other,
        Err(_) if path.symlink_metadata().is_ok() => Place::Other,
        Err(_) => Place::Free,
    }
}

/// Makes a link; in the place of an old one in one step.
fn put(path: &Path, target: &Path, replaces: bool) -> io::Result<()> {
    if !replaces {
        return symlink(target, path);
    }
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    symlink(target, &new)?;
    std::fs::rename(&new, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn links(directory: &Path) -> Vec<(String, PathBuf)> {
        let mut links: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_link(&path).unwrap()))
            .collect();
        links.sort();
        links
    }

    #[test]
    fn every_tool_gets_a_link_and_a_second_time_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let program = Path::new("/opt/perfdb/bin/perfdb");
        let installed = install(place.path(), program).unwrap();
        assert_eq!((installed.made, installed.replaced, installed.unchanged), (TOOLS.len(), 0, 0));
        let made = links(place.path());
        assert_eq!(made.len(), TOOLS.len());
        assert!(made.iter().all(|(name, target)| TOOLS.iter().any(|tool| tool.name == name) && target == program));
        let again = install(place.path(), program).unwrap();
        assert_eq!((again.made, again.replaced, again.unchanged), (0, 0, TOOLS.len()));
    }

    #[test]
    fn links_beside_the_program_can_be_moved_with_it() {
        let place = tempfile::tempdir().unwrap();
        install(place.path(), &place.path().join("perfdb")).unwrap();
        assert!(links(place.path()).iter().all(|(_, target)| target == Path::new("perfdb")));
    }

    #[test]
    fn links_to_another_perfdb_are_replaced() {
        let place = tempfile::tempdir().unwrap();
        install(place.path(), Path::new("/old/perfdb")).unwrap();
        let installed = install(place.path(), Path::new("/new/perfdb")).unwrap();
        assert_eq!((installed.made, installed.replaced), (0, TOOLS.len()));
        assert!(links(place.path()).iter().all(|(_, target)| target == Path::new("/new/perfdb")));
    }

    #[test]
    fn another_file_of_a_tools_name_stays_and_no_link_is_made() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("trace-to-csv"), "mine").unwrap();
        symlink("/bin/true", place.path().join("op-replay")).unwrap();
        let error = install(place.path(), Path::new("/opt/perfdb")).unwrap_err();
        assert!(matches!(error, LinkError::InTheWay { others: 1, .. }), "{error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
        assert_eq!(fs::read_to_string(place.path().join("trace-to-csv")).unwrap(), "mine");
    }

    #[test]
    fn a_place_that_takes_no_links_is_named_and_what_was_made_is_taken_back() {
        let place = tempfile::tempdir().unwrap();
        // The name of the temporary of the last link is taken, which that link needs.
        let last = TOOLS[TOOLS.len() - 1].name;
        symlink("/old/perfdb", place.path().join(last)).unwrap();
        fs::create_dir(place.path().join(format!("{last}.new-{}", std::process::id()))).unwrap();
        let error = install(place.path(), Path::new("/opt/perfdb")).unwrap_err();
        assert!(error.to_string().contains("no symbolic link can be made here"), "{error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
        assert_eq!(fs::read_link(place.path().join(last)).unwrap(), Path::new("/old/perfdb"));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let place = tempfile::tempdir().unwrap();
        let error = install(&place.path().join("none"), Path::new("/opt/perfdb")).unwrap_err();
        assert!(matches!(error, LinkError::NoDirectory { .. }));
    }
}
