//! Files of a checkout that Git LFS has not fetched.

/// How the pointer begins that Git LFS leaves in a file's place.
pub const POINTER_START: &[u8] = b"version https://git-lfs";

/// Whether the content of a file, or its beginning, is such a pointer. A byte order mark in front does not count.
///
/// ```
/// assert!(perfdb_files::lfs::is_pointer(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"));
/// assert!(!perfdb_files::lfs::is_pointer(b"Input Shapes,Average Duration(us)\n"));
/// ```
pub fn is_pointer(content: &[u8]) -> bool {
    content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content).starts_with(POINTER_START)
}
