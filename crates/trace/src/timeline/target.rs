//! Where a trace goes: as it is, or compressed.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::Path;

/// A file for a trace.
#[derive(Debug)]
pub struct Target<W: Write>(Form<W>);

#[derive(Debug)]
enum Form<W: Write> {
    Plain(W),
    Gzip(Box<GzEncoder<W>>),
}

impl<W: Write> Target<W> {
    /// Compresses what goes to a file whose name ends in `.gz`. The same text gives the same bytes.
    pub fn of_name(name: &Path, out: W) -> Target<W> {
        if name.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) {
            Target(Form::Gzip(Box::new(GzEncoder::new(out, Compression::fast()))))
        } else {
            Target(Form::Plain(out))
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Form::Plain(out) => Ok(out),
            Form::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Target<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::Plain(out) => out.write(bytes),
            Form::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Form::Plain(out) => out.flush(),
            Form::Gzip(encoder) => encoder.flush(),
        }
    }
}
