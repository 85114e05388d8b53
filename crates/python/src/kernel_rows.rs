//! Rows of a table as an Arrow table.

use crate::arrow::ArrowTable;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use perfdb_query::{KernelRows, Shapes};
use std::fmt::Write as _;
use std::sync::Arc;

/// The rows that can answer.
pub(crate) fn table(rows: &KernelRows) -> Result<ArrowTable, ArrowError> {
    let (mut line, mut duration, mut ep_size) = (UInt64Builder::new(), Float64Builder::new(), Int64Builder::new());
    let [mut inputs, mut input_types, mut input_formats, mut outputs, mut output_types, mut output_formats] =
        std::array::from_fn(|_| StringBuilder::new());
    let mut kernel_type = StringBuilder::new();
    for row in rows.iter() {
        kernel_type.append_value(rows.kernel_type());
        line.append_value(row.line());
        append_shapes(&mut inputs, row.inputs());
        input_types.append_value(row.input_types().join(";"));
        input_formats.append_value(row.input_formats().join(";"));
        append_shapes(&mut outputs, row.outputs());
        output_types.append_value(row.output_types().join(";"));
        output_formats.append_value(row.output_formats().join(";"));
        duration.append_value(row.duration_us());
        ep_size.append_option(row.ep_size());
    }
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("kernel_type", Arc::new(kernel_type.finish()) as ArrayRef, false),
        ("line", Arc::new(line.finish()), false),
        ("input_shapes", Arc::new(inputs.finish()), false),
        ("input_data_types", Arc::new(input_types.finish()), false),
        ("input_formats", Arc::new(input_formats.finish()), false),
        ("output_shapes", Arc::new(outputs.finish()), false),
        ("output_data_types", Arc::new(output_types.finish()), false),
        ("output_formats", Arc::new(output_formats.finish()), false),
        ("duration_us", Arc::new(duration.finish()), false),
        ("ep_size", Arc::new(ep_size.finish()), true),
    ])?;
    Ok(ArrowTable::new(batch))
}

/// Writes shapes as they stand in tables: `16,5120;5120,768`.
fn append_shapes(texts: &mut StringBuilder, shapes: Shapes<'_>) {
    for (at, shape) in shapes.iter().enumerate() {
        let separator = if at > 0 { ";" } else { "" };
        // Writing to a builder cannot fail.
        let _ = texts.write_str(separator);
        if shape.is_empty() {
            let _ = texts.write_str("()");
        }
        for (at, dimension) in shape.iter().enumerate() {
            let separator = if at > 0 { "," } else { "" };
            let _ = write!(texts, "{separator}{dimension}");
        }
    }
    texts.append_value("");
}
