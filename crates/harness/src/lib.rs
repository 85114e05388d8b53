//! What must hold for any bytes the tools are given: [`properties`] of readers for tests and fuzz targets, [`reliability`] of whole programs.
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod properties;
pub mod reliability;

use std::path::Path;
use std::{fs, io};

/// Copies a folder with all that is in it.
///
/// # Errors
/// When something cannot be read or written.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
