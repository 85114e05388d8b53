//! Reading tables, whoever wrote them.

mod file;
mod pages;
mod runs;
mod varint;

use crate::parquet::error::Error;
use file::CheckedFile;
use pages::CheckedPages;
use parquet::basic::{Compression, ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_files::tables::{Batch, Values};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows read at a time, so that a file that claims more than it has costs no memory.
const BATCH_ROWS: usize = 8192;

/// Cells that a file of any size may have, and those that it may have for each of its bytes beyond that.
const MOST_CELLS_OF_SMALL_FILE: u64 = 1 << 22;
const MOST_CELLS_PER_BYTE: u64 = 64;

/// A Parquet file whose columns are texts, numbers and truths.
pub struct ParquetFile {
    path: PathBuf,
    /// Bytes of text that its columns may still have.
    text_left: AtomicU64,
    reader: SerializedFileReader<CheckedFile>,
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ParquetFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ParquetFile {
    /// Opens a file and reads what it says of its columns.
    ///
    /// # Errors
    /// When it cannot be read or is not a whole Parquet file.
    pub fn open(path: &Path) -> Result<ParquetFile, Error> {
        let file = input::open(path, Kind::RegularFile).map_err(|source| Error::io(path, source))?;
        let metadata = file.metadata().map_err(|source| Error::io(path, source))?;
        let reader = SerializedFileReader::new(CheckedFile(file))
            .map_err(|source| Error::Parquet { path: path.to_owned(), source })?;
        let file = ParquetFile { path: path.to_owned(), text_left: AtomicU64::new(LARGEST_DOCUMENT_BYTES), reader };
        file.check_places(metadata.len())?;
        file.check_cells(metadata.len())?;
        Ok(file)
    }

    /// Refuses more cells than a file of this size has that somebody made: a few bytes can claim millions of equal ones.
    fn check_cells(&self, length: u64) -> Result<(), Error> {
        let metadata = self.reader.metadata();
        let columns = metadata.file_metadata().schema_descr().num_columns() as u64;
        let rows = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
        let cells = rows.fold(0, u64::saturating_add).saturating_mul(columns);
        if cells > MOST_CELLS_OF_SMALL_FILE.max(length.saturating_mul(MOST_CELLS_PER_BYTE)) {
            return Err(Error::unfit(&self.path, format!("claims {cells} cells in {length} bytes, which is damaged")));
        }
        Ok(())
    }

    /// Refuses columns that lie outside the file, which the reader takes for granted.
    fn check_places(&self, length: u64) -> Result<(), Error> {
        for group in self.reader.metadata().row_groups() {
            for column in group.columns() {
                let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
                let end = start.checked_add(column.compressed_size());
                let is_inside = start >= 0
                    && column.data_page_offset() >= start
                    && column.compressed_size() >= 0
                    && end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= length);
                if !is_inside {
                    let name = column.column_path().string();
                    return Err(Error::column(&self.path, &name, "lies outside the file, which is damaged"));
                }
            }
        }
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the columns, in order; of nested ones their leaves, parts joined by points.
    pub fn column_names(&self) -> Vec<String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.path().string()).collect()
    }

    /// What the file says under a key.
    pub fn note(&self, key: &str) -> Option<&str> {
        let notes = self.reader.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key).and_then(|note| note.value.as_deref())
    }

    /// How many rows the file says that it has.
    pub fn row_count(&self) -> Result<usize, Error> {
        let rows = self.reader.metadata().file_metadata().num_rows();
        usize::try_from(rows).map_err(|_| Error::unfit(&self.path, format!("says that it has {rows} rows")))
    }

    /// All cells of a column; `None` where the file has no such column.
    ///
    /// # Errors
    /// When the column cannot be read, is nested, or has values of a type that tables do not have.
    pub fn read_column(&self, name: &str) -> Result<Option<Values>, Error> {
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        let Some(at) = schema.columns().iter().position(|column| column.path().string() == name) else {
            return Ok(None);
        };
        let column = schema.column(at);
        if column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return Err(Error::column(&self.path, name, "is nested, which no table has"));
        }
        let mut all = Batch::default();
        for group in 0..self.reader.num_row_groups() {
            let read = || -> Result<Values, Fault> {
                check_compression(self.reader.metadata().row_group(group).column(at))?;
                let rows = self.reader.metadata().row_group(group).num_rows();
                let rows = usize::try_from(rows).map_err(|_| ParquetError::General(format!("{rows} rows")))?;
                let pages = self.reader.get_row_group(group)?.get_column_page_reader(at)?;
                let pages = CheckedPages::of(pages, &column);
                values(get_column_reader(column.clone(), Box::new(pages)), rows, &column, &self.text_left)
            };
            let values = read().map_err(|fault| match fault {
                Fault::Parquet(source) => Error::Parquet { path: self.path.clone(), source },
                Fault::Unfit(reason) => Error::column(&self.path, name, reason),
            })?;
            all.append(Batch { columns: vec![values] });
        }
        let values = all.columns.pop().unwrap_or(Values::Text(Vec::new()));
        let (found, stated) = (values.len(), self.row_count()?);
        if found != stated {
            return Err(Error::column(&self.path, name, format!("has {found} of {stated} rows")));
        }
        Ok(Some(values))
    }
}

enum Fault {
    Parquet(ParquetError),
    Unfit(String),
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Fault {
        Fault::Parquet(error)
    }
}

/// Names a compression that is not read, and those that are: the reader's own words are about how it was compiled.
fn check_compression(column: &ColumnChunkMetaData) -> Result<(), Fault> {
    let name = match column.compression() {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_) => return Ok(()),
        Compression::GZIP(_) => "gzip",
        Compression::LZ4 | Compression::LZ4_RAW => "lz4",
        Compression::BROTLI(_) => "brotli",
        Compression::LZO => "lzo",
    };
    Err(Fault::Unfit(format!("is compressed with {name}, which is not read: write it with snappy, zstd or nothing")))
}

fn values(
    reader: ColumnReader,
    rows: usize,
    column: &ColumnDescriptor,
    text_left: &AtomicU64,
) -> Result<Values, Fault> {
    if is_scaled(column) {
        return Err(Fault::Unfit("decimal numbers are not read".to_owned()));
    }
    let is_optional = column.max_def_level() > 0;
    Ok(match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            let texts = cells(reader, rows, is_optional)?;
            let text = |bytes: ByteArray| {
                let taken = |left: u64| left.checked_sub(bytes.len() as u64);
                if text_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_err() {
                    let mebibytes = LARGEST_DOCUMENT_BYTES >> 20;
                    return Err(Fault::Unfit(format!("is longer than {mebibytes} MiB, with the columns before it")));
                }
                match std::str::from_utf8(bytes.data()) {
                    Ok(text) => Ok(text.to_owned()),
                    Err(_) => Err(Fault::Unfit("has bytes that are not UTF-8".to_owned())),
                }
            };
            Values::Text(texts.into_iter().map(|cell| cell.map(text).transpose()).collect::<Result<_, _>>()?)
        }
        ColumnReader::Int32ColumnReader(reader) => {
            let cells = cells(reader, rows, is_optional)?.into_iter();
            Values::Integer(cells.map(|cell| cell.map(i64::from)).collect())
        }
        ColumnReader::Int64ColumnReader(reader) => Values::Integer(cells(reader, rows, is_optional)?),
        ColumnReader::FloatColumnReader(reader) => {
            let cells = cells(reader, rows, is_optional)?.into_iter();
            Values::Real(cells.map(|cell| cell.map(f64::from)).collect())
        }
        ColumnReader::DoubleColumnReader(reader) => Values::Real(cells(reader, rows, is_optional)?),
        ColumnReader::BoolColumnReader(reader) => Values::Truth(cells(reader, rows, is_optional)?),
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            return Err(Fault::Unfit(format!("values of the type {} are not read", column.physical_type())));
        }
    })
}

/// Whether what is stored is not the number that is meant.
fn is_scaled(column: &ColumnDescriptor) -> bool {
    column.converted_type() == ConvertedType::DECIMAL
        || matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
}

fn cells<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    is_optional: bool,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let mut all = Vec::new();
    while all.len() < rows {
        let (mut present, mut found) = (Vec::new(), Vec::new());
        let wanted = BATCH_ROWS.min(rows - all.len());
        let levels = is_optional.then_some(&mut present);
        let (records, ..) = reader.read_records(wanted, levels, None, &mut found)?;
        if records == 0 {
            break;
        }
        let mut found = found.into_iter();
        if is_optional {
            all.extend(present.iter().map(|level| if *level > 0 { found.next() } else { None }))
        } else {
            all.extend(found.map(Some))
        }
    }
    Ok(all)
}
