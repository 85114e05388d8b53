//! The user's file of devices.

use std::path::Path;

use perfdb_model::roofline::Devices;
use perfdb_pycompat::yaml;
use perfdb_trace::source::Source;

use crate::error::Error;

/// Reads peaks of devices, which count before those that are known.
///
/// ```yaml
/// devices:
///   - name: H100 80GB              # all its words stand in the name that the trace has
///     sixteen_bit_tflop_s: 740     # required, as is memory_tb_s
///     eight_bit_tflop_s: 1480      # also int8_, four_bit_, tf32_, fp32_ and fp64_tflop_s
///     memory_tb_s: 3.0
/// ```
///
/// # Errors
/// When the file cannot be read, is not a list of devices, or a peak is not a positive number.
pub fn open_devices(path: &Path) -> Result<Devices, Error> {
    let text = Source::open(path)?.read_text()?;
    let devices: Devices = yaml::from_str(&text).map_err(|source| Error::yaml(path, &source))?;
    let wrong =
        |name| Error::Yaml { path: path.to_path_buf(), reason: format!("device {name:?}: peaks are numbers above 0") };
    devices.checked().map_err(wrong)
}
