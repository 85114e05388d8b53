//! Collectives that were measured with another version than the database they answer for.

use crate::state::State;
use std::path::PathBuf;

/// Where the collectives of a database are, if the name of that directory tells another CANN version than that of the database does.
pub(crate) fn foreign_collectives(state: &State) -> Option<PathBuf> {
    let elsewhere = state.directory.join(state.mapping.communication_data_ref.as_ref()?).canonicalize().ok()?;
    let directory = state.directory.canonicalize().ok()?;
    let own = version_of(directory.file_name()?.to_str()?.rsplit_once("_cann")?.1)?;
    let other = version_of(elsewhere.file_name()?.to_str()?.strip_prefix('v')?)?;
    // A version with fewer parts leaves the others open.
    own.iter().zip(&other).any(|(own, other)| own != other).then_some(elsewhere)
}

/// The numbers with which a version begins.
fn version_of(text: &str) -> Option<Vec<u32>> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let numbers: Vec<u32> = text[..end].split('.').map_while(|number| number.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_version_is_foreign() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for (own, other, is_foreign) in [
            ("vllm0.18.0_torch2.9.0_cann8.5", "v8.5", false),
            ("vllm0.18.0_torch2.9.0_cann8.5.RC1_shape_generated", "v8.5.0", false),
            ("vllm0.18.0_torch2.9.0_cann8.5", "v8.3", true),
            ("vllm0.18.0_torch2.9.0_cann8.5", "v8.50", true),
            ("vllm0.18.0_torch2.9.0_cann8.5", "comm", false),
            ("db", "v8.3", false),
        ] {
            let folder = folder.path().canonicalize()?;
            let (database, collectives) = (folder.join(own), folder.join("hccl").join(other));
            std::fs::create_dir_all(&database)?;
            std::fs::create_dir_all(&collectives)?;
            std::fs::write(database.join("op_mapping.yaml"), format!("communication_data_ref: ../hccl/{other}\n"))?;
            let state = State::open(&database, None)?;
            let expected = is_foreign.then_some(collectives);
            assert_eq!(foreign_collectives(&state), expected, "{own} {other}");
        }
        Ok(())
    }
}
