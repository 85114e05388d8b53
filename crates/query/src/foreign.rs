//! Collectives that were measured with another version than the database they answer for.

use perfdb_store::op_mapping::OpMapping;
use std::path::{Path, PathBuf};

/// Where the collectives of a database are, if the name of that directory tells another CANN version than that of the database does.
pub(crate) fn foreign_collectives(directory: &Path, mapping: &OpMapping) -> Option<PathBuf> {
    let elsewhere = directory.join(mapping.communication_data_ref.as_ref()?).canonicalize().ok()?;
    let directory = directory.canonicalize().ok()?;
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
            let mapping = OpMapping::load(&database.join("op_mapping.yaml"))?.ok_or("no mapping")?;
            let expected = is_foreign.then_some(collectives);
            assert_eq!(foreign_collectives(&database, &mapping), expected, "{own} {other}");
        }
        Ok(())
    }

    #[test]
    fn an_answer_says_that_its_collective_is_of_another_version() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let database = folder.path().join("vllm0.18.0_torch2.9.0_cann8.5");
        std::fs::create_dir(&database)?;
        let question = serde_json::json!({"op": "a", "inputs": [{"shape": [64], "dtype": "bf16"}], "devices": 2});
        for (version, is_other) in [("v8.5", false), ("v8.3", true)] {
            let collectives = folder.path().join("hccl").join(version);
            std::fs::create_dir_all(&collectives)?;
            let rows = "message_bytes,num_devices,Average Duration(us)\n128,2,7.5\n256,2,8\n";
            std::fs::write(collectives.join("hcom_x_.csv"), rows)?;
            let mapping = format!(
                "communication_data_ref: ../hccl/{version}\noperator_mappings: {{a: {{kernel_type: hcom_x_, category: communication}}}}\n"
            );
            std::fs::write(database.join("op_mapping.yaml"), mapping)?;
            let answer = crate::Database::open(&database)?.lookup(&crate::Query::from_json(&question)?);
            let json = crate::answer_to_json(&answer);
            assert_eq!(answer?.is_of_other_version(), is_other, "{json}");
            assert_eq!(json.get("other_version").is_some(), is_other, "{json}");
        }
        Ok(())
    }
}
