//! Writing tables.

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use perfdb_files::replace::Staged;
use perfdb_files::tables::{Batch, Kind, Schema, Values, Writer};
use std::io;
use std::sync::Arc;

/// Rows of a row group: what a reader takes at a time, and what is held in memory here.
const GROUP_ROWS: usize = 1 << 17;

/// The key under which a file names its table.
pub(crate) const TABLE: &str = "perfdb.table";

/// Begins a Parquet file: all columns optional, compressed with snappy, which every reader has.
///
/// # Errors
/// When the file's beginning cannot be written.
pub fn open(file: Staged, schema: &Schema) -> io::Result<Box<dyn Writer>> {
    let column = |(name, kind): &(String, Kind)| {
        let (physical, logical) = match kind {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (PhysicalType::INT64, None),
            Kind::Real => (PhysicalType::DOUBLE, None),
            Kind::Truth => (PhysicalType::BOOLEAN, None),
        };
        let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let columns = schema.columns.iter().map(column).collect::<Result<Vec<_>>>().map_err(io::Error::other)?;
    let root = Type::group_type_builder("table").with_fields(columns).build().map_err(io::Error::other)?;
    let notes = schema.notes.iter().cloned();
    let notes = std::iter::once((TABLE.to_owned(), schema.table.clone())).chain(notes);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("perfdb version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(notes.map(|(key, value)| KeyValue::new(key, value)).collect()))
        .build();
    let writer = SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties)).map_err(io::Error::other)?;
    Ok(Box::new(ParquetWriter { writer, waiting: schema.batch() }))
}

struct ParquetWriter {
    writer: SerializedFileWriter<Staged>,
    /// Rows that do not fill a row group yet.
    waiting: Batch,
}

impl ParquetWriter {
    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for values in &mut self.waiting.columns {
            let kind = values.kind();
            let values = std::mem::replace(values, Values::new(kind));
            let Some(mut column) = group.next_column()? else { break };
            write_column(column.untyped(), values)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Writes the cells that are there, and for each cell whether it is.
fn write_column(writer: &mut ColumnWriter<'_>, values: Values) -> Result<()> {
    fn split<T>(cells: Vec<Option<T>>) -> (Vec<i16>, Vec<T>) {
        let present = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        (present, cells.into_iter().flatten().collect())
    }
    match (writer, values) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(cells)) => {
            let (present, cells) = split(cells);
            let cells: Vec<ByteArray> = cells.into_iter().map(|cell| ByteArray::from(cell.into_bytes())).collect();
            writer.write_batch(&cells, Some(&present), None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::Integer(cells)) => {
            let (present, cells) = split(cells);
            writer.write_batch(&cells, Some(&present), None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Values::Real(cells)) => {
            let (present, cells) = split(cells);
            writer.write_batch(&cells, Some(&present), None)?;
        }
        (ColumnWriter::BoolColumnWriter(writer), Values::Truth(cells)) => {
            let (present, cells) = split(cells);
            writer.write_batch(&cells, Some(&present), None)?;
        }
        _ => return Err(ParquetError::General("cells of another kind than their column".to_owned())),
    }
    Ok(())
}

impl Writer for ParquetWriter {
    fn write(&mut self, rows: Batch) -> io::Result<()> {
        self.waiting.append(rows);
        if self.waiting.row_count() >= GROUP_ROWS { self.write_group().map_err(into_io) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<Staged> {
        if self.waiting.row_count() > 0 {
            self.write_group().map_err(into_io)?;
        }
        // Writes the file's end, too.
        self.writer.into_inner().map_err(into_io)
    }
}

/// The system's own reason, where it was one.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(system) => *system,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
