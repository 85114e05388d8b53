//! Whether a directory that was named is of the versions that were named.

use crate::database::DatabaseArguments;
use crate::database_folder::warn_without_collectives;
use crate::{Failure, warn};
use perfdb_files::escape::shown;
use perfdb_query::Database;
use perfdb_store::version::directory_name;
use std::path::Path;

/// Refuses a database of another version than was asked for; one whose name tells no version is warned about.
pub(super) fn compare(arguments: &DatabaseArguments, directory: &Path) -> Result<(), Failure> {
    let versions = arguments.versions();
    let asked =
        [&versions.vllm, &versions.torch, &versions.cann].map(|version| version.as_ref().map(|text| text.as_str()));
    // Where no directory was named, the versions have found it.
    if arguments.database_path.is_none() || asked == [None; 3] {
        return Ok(());
    }
    let name = directory.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match other_version(&name, asked) {
        Ok(None) => Ok(()),
        Ok(Some(other)) => Err(Failure::lines(vec![format!(
            "{}: other version: {other} was asked for; without version options this database answers all the same",
            shown(directory)
        )])),
        Err(UnknownVersion) => {
            warn(&format!("{}: the name of this directory tells no version to compare with", shown(directory)));
            Ok(())
        }
    }
}

/// Says where the collectives of a database are missing, or come from another version than the rest.
pub(super) fn warn_of_collectives(database: &Database, directory: &Path) {
    warn_without_collectives(database, directory);
    if let Some(collectives) = database.foreign_collectives() {
        let collectives = shown(&collectives);
        warn(&format!(
            "{collectives}: other version: the collectives were measured with another CANN than the database"
        ));
    }
}

/// A directory is not named after versions.
#[derive(Debug, PartialEq)]
struct UnknownVersion;

/// The name that the directory would have, where it has another one.
fn other_version(name: &str, [vllm, torch, cann]: [Option<&str>; 3]) -> Result<Option<String>, UnknownVersion> {
    let parts = name.strip_prefix("vllm").and_then(|rest| rest.split_once("_torch"));
    let parts = parts.and_then(|(vllm, rest)| rest.split_once("_cann").map(|(torch, cann)| [vllm, torch, cann]));
    let [own_vllm, own_torch, own_cann] = parts.ok_or(UnknownVersion)?;
    let asked = match vllm {
        // The whole name of a directory.
        Some(whole) if whole.contains("_torch") => whole.to_owned(),
        _ => directory_name(vllm.unwrap_or(own_vllm), torch.unwrap_or(own_torch), cann.unwrap_or(own_cann)),
    };
    Ok(Some(asked).filter(|asked| asked != name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "vllm0.18.0_torch2.9.0_cann8.5";

    #[test]
    fn versions_are_compared_with_the_name() {
        assert_eq!(other_version(NAME, [Some("v0.18.0"), None, None]), Ok(None));
        assert_eq!(other_version(NAME, [Some(NAME), None, None]), Ok(None));
        assert_eq!(other_version(NAME, [None, Some("2.9.0+cpu"), Some("8.5")]), Ok(None));
        let other = "vllm0.19.0_torch2.9.0_cann8.5".to_owned();
        assert_eq!(other_version(NAME, [Some("0.19.0"), None, None]), Ok(Some(other.clone())));
        assert_eq!(other_version(NAME, [Some(&other), None, None]), Ok(Some(other)));
        assert_eq!(other_version("db", [Some("0.19.0"), None, None]), Err(UnknownVersion));
    }
}
