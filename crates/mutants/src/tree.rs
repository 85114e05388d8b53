//! A copy of the checkout, in which mutants are tried: the checkout itself is never changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The copy.
pub struct Tree {
    pub top: PathBuf,
    checkout: PathBuf,
    names: Vec<String>,
}

impl Tree {
    /// Copies the files that git knows or would add. A file that is the same already keeps its time, so that cargo builds nothing anew for it.
    pub fn copy(checkout: &Path, top: &Path) -> Result<Tree> {
        let listed =
            Command::new("git").args(["ls-files", "-zco", "--exclude-standard"]).current_dir(checkout).output()?;
        ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
        let names = String::from_utf8(listed.stdout)?.split_terminator('\0').map(str::to_owned).collect();
        let tree = Tree { top: top.to_owned(), checkout: checkout.to_owned(), names };
        tree.restore()?;
        Ok(tree)
    }

    /// Makes every file that of the checkout again.
    pub fn restore(&self) -> Result<()> {
        self.names.iter().try_for_each(|name| self.copy_one(name).with_context(|| name.clone()))
    }

    fn copy_one(&self, name: &str) -> Result<()> {
        let (from, to) = (self.checkout.join(name), self.top.join(name));
        let Ok(kind) = from.symlink_metadata() else {
            // Known to git, and deleted.
            return fs::remove_file(&to).or_else(|error| if to.exists() { Err(error.into()) } else { Ok(()) });
        };
        fs::create_dir_all(to.parent().unwrap_or(&self.top))?;
        if kind.is_symlink() {
            let target = fs::read_link(&from)?;
            if fs::read_link(&to).ok().as_ref() != Some(&target) {
                let _ = fs::remove_file(&to);
                std::os::unix::fs::symlink(target, &to)?;
            }
            return Ok(());
        }
        let wanted = fs::read(&from)?;
        if fs::read(&to).ok().as_ref() != Some(&wanted) {
            fs::write(&to, wanted)?;
        }
        Ok(())
    }

    /// The text of a file as it is in the checkout.
    pub fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.checkout.join(name)).with_context(|| name.to_owned())
    }

    /// Writes a file of the copy, where it is another one.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.top.join(name);
        if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            fs::write(&path, text).with_context(|| name.to_owned())?;
        }
        Ok(())
    }
}
