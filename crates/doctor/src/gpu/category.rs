//! What kinds of events a GPU trace has.

use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::scan::Value;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    Kernel,
    Copy,
    Call,
    Operator,
    Frame,
    Annotation,
    Other,
}

/// The category of an event, and whether it has the name that old profilers gave it.
pub(super) fn category(event: &Event<'_>) -> (Category, bool) {
    let Some(Value::Text(text)) = event.field(Field::Category) else { return (Category::Other, false) };
    let decoded;
    let name = if text.is_escaped() {
        decoded = text.decode_lossy();
        decoded.as_bytes()
    } else {
        text.raw()
    };
    match name {
        b"kernel" => (Category::Kernel, false),
        b"cpu_op" => (Category::Operator, false),
        b"cuda_runtime" | b"cuda_driver" => (Category::Call, false),
        b"python_function" => (Category::Frame, false),
        b"user_annotation" => (Category::Annotation, false),
        b"gpu_memcpy" | b"gpu_memset" => (Category::Copy, false),
        b"Kernel" => (Category::Kernel, true),
        b"Memcpy" | b"Memset" => (Category::Copy, true),
        b"Operator" => (Category::Operator, true),
        b"Runtime" => (Category::Call, true),
        b"async" => (Category::Other, true),
        _ => (Category::Other, false),
    }
}
