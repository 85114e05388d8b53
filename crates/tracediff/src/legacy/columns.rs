//! What the old rules need beside the default columns: times as doubles, labels, windows.

use super::phases::Window;
use super::times::Doubles;

/// What a loaded trace has beside its columns.
#[derive(Debug)]
pub(crate) struct LegacyColumns {
    /// Beside the kernels.
    pub(crate) times: Vec<Doubles>,
    /// Labels of groups.
    pub(crate) labels: Vec<String>,
    /// Annotated steps by start.
    pub(crate) windows: Vec<Window>,
}
