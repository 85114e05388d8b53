//! Read-only mappings of whole files; the one place of this project with `unsafe` code.
#![allow(unsafe_code)]

use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a regular file.
#[derive(Debug)]
pub(super) struct Mapping(Mmap);

impl Mapping {
    /// Maps `file`, which must not be empty.
    pub(super) fn new(file: &File) -> io::Result<Mapping> {
        // SAFETY: a mapping is sound as long as the mapped bytes do not change while a `&[u8]` to them lives. The mapping is
        // private and read-only, so this process cannot change them. Another process that writes to the file while it is
        // being read can: that is the same contract as for any reader of a mapped file, and nothing here depends on two
        // looks at a byte being equal for memory safety: no `str` is made without checking the very slice it is made of,
        // every index is checked, and what is read ends up in owned values or errors. A file that is cut short meanwhile
        // ends the process with SIGBUS, as the system does for every mapping, and never with a wrong result.
        let map = unsafe { Mmap::map(file) }?;
        // Only a hint; a kernel without it reads ahead less.
        let _ = map.advise(Advice::Sequential);
        Ok(Mapping(map))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
