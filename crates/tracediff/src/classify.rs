//! Kernel classes: which operation a kernel belongs to, judged by its name.
//!
//! The tables are data ([`table`], [`host_operator`], [`wafer_0_1_33`], [`wafer_0_1_35`]); [`condition`] is the one
//! engine that reads them. Users put their own patterns in front with a [`Registry`].

pub(crate) mod condition;
mod default;
mod glob;
mod host_operator;
mod operation;
mod registry;
mod table;
mod terms;
mod wafer_0_1_33;
mod wafer_0_1_33_rows;
mod wafer_0_1_35;
mod words;

pub use operation::Operation;
pub(crate) use operation::{ATTENTION, COLLECTIVES, COMMUNICATION, CUDA_GRAPH, MATRIX_PRODUCTS, OTHER, STATE_SPACE};
pub use registry::{Registry, Vendor};

use crate::device::Platform;
use crate::rules::Rules;
use condition::{Subject, first_match};

/// The kind of collective that a host operator or a call of a communication library stands for.
pub(crate) fn collective_by_host(operator: &str) -> Option<&'static str> {
    host_operator::classify(operator).filter(|class| COLLECTIVES.contains(class))
}

/// Class of one kernel.
///
/// `host_operator` is the `cpu_op` that launched the kernel, used by the default rules only when the name is generic.
///
/// ```
/// use perfdb_tracediff::{Platform, Rules, classify};
/// assert_eq!(classify("nvjet_tst_256x128_64x4_TNN", Platform::Nvidia, None, Rules::Perfdb).name, "Dense GEMM");
/// assert_eq!(classify("opaque_kernel", Platform::Amd, Some("aten::addmm"), Rules::Perfdb).name, "Dense GEMM");
/// ```
pub fn classify(name: &str, platform: Platform, host_operator: Option<&str>, rules: Rules) -> Operation {
    classify_name(name, platform, rules).unwrap_or_else(|| classify_by_host(name, host_operator))
}

/// Class of a kernel whose name the default table does not know.
pub(crate) fn classify_by_host(name: &str, host_operator: Option<&str>) -> Operation {
    let by_host = host_operator.and_then(host_operator::classify);
    Operation::plain(by_host.or_else(|| default::classify_rare(name)).unwrap_or(OTHER))
}

/// Class by the name alone; `None` only under the default rules, where the host operator decides then.
pub(crate) fn classify_name(name: &str, platform: Platform, rules: Rules) -> Option<Operation> {
    match rules {
        Rules::Perfdb => default::classify(name).map(Operation::plain),
        Rules::Wafer0133 => Some(wafer_0_1_33::classify(&Subject::new(name, platform))),
        Rules::Wafer0135 => first_match(wafer_0_1_35::ROWS, &Subject::new(name, platform)),
    }
}
