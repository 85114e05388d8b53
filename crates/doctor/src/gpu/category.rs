//! What kinds of events a GPU trace has.

use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::scan::Value;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    Kernel,
    Copy,
    Call,
    Operator,
    Frame,
    Annotation,
    /// Work of a device whose events are not read.
    OtherDevice,
    Other,
}

/// The category of an event, and whether it has the name that old profilers gave it.
#[inline]
pub(super) fn category(event: &Event<'_>) -> (Category, bool) {
    match event.field(Field::Category) {
        Some(Value::Text(text)) if text.is_escaped() => category_named(text.decode_lossy().as_bytes()),
        Some(Value::Text(text)) => category_named(text.raw()),
        _ => (Category::Other, false),
    }
}

fn category_named(name: &[u8]) -> (Category, bool) {
    match name {
        b"kernel" => (Category::Kernel, false),
        b"cpu_op" => (Category::Operator, false),
        b"cuda_runtime" | b"cuda_driver" => (Category::Call, false),
        b"mlu_runtime"
        | b"xpu_runtime"
        | b"xpu_driver"
        | b"mtia_runtime"
        | b"privateuse1_runtime"
        | b"privateuse1_driver" => (Category::Call, false),
        b"python_function" => (Category::Frame, false),
        b"user_annotation" => (Category::Annotation, false),
        b"mtia_ccp_events" | b"hpu_op" => (Category::OtherDevice, false),
        b"gpu_memcpy" | b"gpu_memset" => (Category::Copy, false),
        b"Kernel" => (Category::Kernel, true),
        b"Memcpy" | b"Memset" => (Category::Copy, true),
        b"Operator" => (Category::Operator, true),
        b"Runtime" => (Category::Call, true),
        b"async" => (Category::Other, true),
        _ => (Category::Other, false),
    }
}
