//! The page that tells an assistant which command answers which question.

use perfdb_files::replace::{Parents, Staged, commit};
use std::path::Path;

pub(super) const EXAMPLES: &str = "\
Examples:
  perfdb skill --to ~/.claude/skills
  perfdb skill --to .claude/skills      # for one repository";

const PAGE: &str = include_str!("skill/SKILL.md");

/// Writes the page below a folder of skills; what is printed then.
pub(super) fn install(folder: &Path) -> Result<String, perfdb_files::Error> {
    let path = folder.join("perfdb/SKILL.md");
    commit(vec![Staged::with(&path, PAGE.as_bytes(), Parents::Create)?])?;
    Ok(format!("wrote {}\n", perfdb_files::escape::shown(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfdb::OWN_COMMANDS;

    #[test]
    fn the_page_names_commands_that_there_are() {
        assert!(PAGE.lines().count() <= 60 && PAGE.starts_with("---\nname: perfdb\ndescription: "));
        let commands = PAGE.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("perfdb "));
        let mut count = 0;
        for command in commands {
            let mut words = command.split(' ');
            let [first, second] = [words.next().unwrap(), words.next().unwrap_or_default()];
            let is_known = match crate::doors::door(first) {
                Some(door) => door.is_command() || door.find(second).is_some(),
                None => OWN_COMMANDS.contains(&first),
            };
            assert!(is_known, "{command}");
            count += 1;
        }
        assert!(count > 15);
    }
}
