//! Puts the version, and the commit where there is one, into `--version`.

#[path = "build/commit.rs"]
mod commit;

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/commit.rs");
    println!("cargo::rerun-if-env-changed=PERFDB_COMMIT");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let version = variable("CARGO_PKG_VERSION");
    let given = Some(variable("PERFDB_COMMIT")).filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| {
        // Debug builds name none: they would be built again after every commit.
        if variable("PROFILE") == "debug" {
            return None;
        }
        let found = commit::of_repository(&Path::new(&variable("CARGO_MANIFEST_DIR")).join(".."))?;
        for path in found.told_by {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        Some(found.hash)
    });
    let commit = commit.map(|hash| format!(" ({})", hash.get(..12).unwrap_or(&hash))).unwrap_or_default();
    println!("cargo::rustc-env=PERFDB_VERSION={version}{commit}");
}
