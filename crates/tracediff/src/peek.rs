//! A look at the head of a trace.

use std::path::Path;

use perfdb_trace::chrome::{Item, ReadOptions, Reader};
use perfdb_trace::source::Source;
use serde::Serialize;

use crate::device::{Device, MEMBERS, Members, Platform};
use crate::error::Error;
use crate::rules::DeviceRule;

/// What a trace says about itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceMeta {
    /// Vendor of the GPU.
    pub platform: Platform,
    /// The GPU.
    pub device: Device,
    /// Whether the trace has device properties; the platform is a guess otherwise.
    pub has_device_properties: bool,
    /// Size of the file in bytes, as it lies on the disk.
    pub file_bytes: u64,
}

/// Platform and GPU of a trace file.
///
/// Stops at the first event when the device properties stood before it, as profilers write them; reads on otherwise.
///
/// # Errors
/// When the file cannot be read or is not a trace, as far as it was read.
pub fn peek(path: impl AsRef<Path>) -> Result<TraceMeta, Error> {
    let path = path.as_ref();
    let file_bytes = std::fs::metadata(path).map_err(|source| Error::io(path, source))?.len();
    let mut source = Source::open(path)?;
    let options = ReadOptions::profiler().members(MEMBERS);
    let mut reader = Reader::new(&mut source, &options);
    let mut members = Members::default();
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Member { name, value } => crate::read::take_member(&mut members, &name, &value),
            Item::Event(_) if members.has_properties() => break,
            Item::Event(_) | Item::Restart => {}
        }
    }
    let (platform, device) = members.device(DeviceRule::Any);
    Ok(TraceMeta { platform, device, has_device_properties: members.has_properties(), file_bytes })
}
