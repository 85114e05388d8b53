//! A database table of a plain CSV: sizes, a duration, and one line that says which column is which.

use crate::dtype::DType;
use crate::duration::is_valid;
use crate::parquet::COMPUTE_COLUMNS;
use crate::parquet::database::Target;
use crate::parquet::error::Error;
use crate::registry::parts::MATMUL;
use crate::table::{LineEnd, ReadOptions, Row, Table, push_csv_row};
use perfdb_files::lock::LockOptions;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How the columns of a CSV are the inputs, the outputs and the duration of a kernel.
///
/// ```
/// use perfdb_store::parquet::plain_csv::Layout;
/// let layout: Layout = "MatMulV2 m,k:bf16 n,k:bf16 -> m,n:bf16 = latency ms".parse()?;
/// assert_eq!(layout.kernel_type(), "MatMulV2");
/// assert!("MatMulV2 m,k".parse::<Layout>().is_err());
/// # Ok::<(), perfdb_store::parquet::plain_csv::MalformedLayout>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    kernel_type: String,
    inputs: Vec<TensorLayout>,
    outputs: Vec<TensorLayout>,
    duration: String,
    /// Microseconds in one of its units.
    unit_us: f64,
}

/// A tensor whose dimensions are columns or numbers.
#[derive(Debug, Clone, PartialEq)]
struct TensorLayout {
    dimensions: Vec<String>,
    dtype: DType,
}

/// A layout that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{reason}; write KERNEL TENSOR... [-> TENSOR...] = COLUMN [us|ms|s|ns], such as \"{MATMUL} m,k:bf16 n,k:bf16 = us\""
)]
pub struct MalformedLayout {
    reason: String,
}

impl MalformedLayout {
    fn new(reason: impl Into<String>) -> MalformedLayout {
        MalformedLayout { reason: reason.into() }
    }
}

impl FromStr for TensorLayout {
    type Err = MalformedLayout;

    fn from_str(text: &str) -> Result<TensorLayout, MalformedLayout> {
        let missing = || MalformedLayout::new(format!("'{text}' has no ':' before the data type"));
        let (dimensions, dtype) = text.split_once(':').ok_or_else(missing)?;
        let dtype = dtype.parse().map_err(|error| MalformedLayout::new(format!("'{text}': {error}")))?;
        Ok(TensorLayout { dimensions: dimensions.split(',').map(|name| name.trim().to_owned()).collect(), dtype })
    }
}

impl FromStr for Layout {
    type Err = MalformedLayout;

    fn from_str(text: &str) -> Result<Layout, MalformedLayout> {
        let (call, duration) =
            text.rsplit_once('=').ok_or_else(|| MalformedLayout::new("no '=' before the column of durations"))?;
        let mut duration = duration.split_whitespace();
        let column = duration.next().ok_or_else(|| MalformedLayout::new("no column of durations"))?;
        let unit_us = match (duration.next().unwrap_or("us"), duration.next()) {
            ("us", None) => 1.0,
            ("ms", None) => 1e3,
            ("s", None) => 1e6,
            ("ns", None) => 1e-3,
            (other, _) => return Err(MalformedLayout::new(format!("'{other}' is not a unit of time"))),
        };
        let (inputs, outputs) = call.split_once("->").unwrap_or((call, ""));
        let mut words = inputs.split_whitespace();
        let kernel_type = words.next().ok_or_else(|| MalformedLayout::new("no kernel"))?;
        if kernel_type.contains([':', ',', '/']) || kernel_type.starts_with('.') {
            return Err(MalformedLayout::new(format!("'{kernel_type}' cannot be the name of a kernel")));
        }
        let inputs = words.map(str::parse).collect::<Result<Vec<TensorLayout>, _>>()?;
        if inputs.is_empty() {
            return Err(MalformedLayout::new("no inputs"));
        }
        let outputs = outputs.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Layout { kernel_type: kernel_type.to_owned(), inputs, outputs, duration: column.to_owned(), unit_us })
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The table.
    pub table: PathBuf,
    /// Its rows.
    pub rows: usize,
    /// Rows without a duration, which no table takes.
    pub without_duration: usize,
}

/// Makes a table of a CSV in a database folder, which is created. A table that is there is not replaced.
///
/// # Errors
/// When the CSV cannot be read, lacks a column, has a size that is not a whole number, or no row has a duration.
pub fn import(source: &Path, layout: &Layout, target: &Path, lock: &LockOptions<'_>) -> Result<Converted, Error> {
    let table = Table::read(source, &ReadOptions::database())?;
    let columns = Columns { source, table: &table };
    let mut content = Vec::new();
    push_csv_row(&mut content, COMPUTE_COLUMNS, LineEnd::CrLf);
    let (mut rows, mut without_duration) = (0, 0);
    let duration = columns.find(&layout.duration)?;
    for row in table.rows() {
        let text = row.cell(duration).trim();
        let duration_us = match text {
            "" => f64::NAN,
            text => text.parse::<f64>().map_err(|_| columns.unfit(&row, &layout.duration, text, "a number"))?,
        } * layout.unit_us;
        if !is_valid(duration_us) {
            without_duration += 1;
            continue;
        }
        let [input_shapes, input_types, input_formats] = columns.cells(&row, &layout.inputs)?;
        let [output_shapes, output_types, output_formats] = columns.cells(&row, &layout.outputs)?;
        let duration_us = duration_us.to_string();
        let cells =
            [&input_shapes, &input_types, &input_formats, &output_shapes, &output_types, &output_formats, &duration_us];
        push_csv_row(&mut content, cells.map(String::as_str), LineEnd::CrLf);
        rows += 1;
    }
    if rows == 0 {
        return Err(Error::unfit(source, "no row has a duration"));
    }
    let path = target.join(format!("{}.csv", layout.kernel_type));
    let mut files = Target::open(target, lock)?;
    files.add(&path, &content)?;
    files.commit()?;
    Ok(Converted { table: path, rows, without_duration })
}

impl Layout {
    /// The kernel type, which is the name of the table.
    pub fn kernel_type(&self) -> &str {
        &self.kernel_type
    }
}

/// The columns of a CSV.
struct Columns<'t> {
    source: &'t Path,
    table: &'t Table,
}

impl Columns<'_> {
    fn find(&self, name: &str) -> Result<usize, Error> {
        self.table.columns().iter().position(|column| column.trim() == name).ok_or_else(|| {
            let known = self.table.columns().join(", ");
            Error::column(self.source, name, format!("is missing (there are: {known})"))
        })
    }

    /// The shapes, types and formats of tensors.
    fn cells(&self, row: &Row<'_>, tensors: &[TensorLayout]) -> Result<[String; 3], Error> {
        let shapes = tensors.iter().map(|tensor| self.shape(row, tensor)).collect::<Result<Vec<_>, _>>()?.join(";");
        let types = tensors.iter().map(|tensor| type_name(tensor.dtype)).collect::<Vec<_>>().join(";");
        Ok([shapes, types, vec!["ND"; tensors.len()].join(";")])
    }

    fn shape(&self, row: &Row<'_>, tensor: &TensorLayout) -> Result<String, Error> {
        let dimension = |name: &String| -> Result<String, Error> {
            if name.parse::<u64>().is_ok() {
                return Ok(name.clone());
            }
            let text = row.cell(self.find(name)?).trim();
            // Columns with gaps are often written as 16.0.
            let whole: Result<u64, _> = text.strip_suffix(".0").unwrap_or(text).parse();
            whole.map(|size| size.to_string()).map_err(|_| self.unfit(row, name, text, "a whole number"))
        };
        Ok(tensor.dimensions.iter().map(dimension).collect::<Result<Vec<_>, _>>()?.join(","))
    }

    fn unfit(&self, row: &Row<'_>, column: &str, text: &str, wanted: &str) -> Error {
        let line = row.line().unwrap_or_default();
        let text = perfdb_files::escape::excerpt(text);
        Error::column(self.source, column, format!("line {line}: {text} is not {wanted}"))
    }
}

/// The name of a type as the profiler writes it.
fn type_name(dtype: DType) -> String {
    match (dtype, dtype.database_name()) {
        (DType::BFloat16 | DType::Float16, Some(name)) => format!("DT_{name}"),
        (_, Some(name)) => name.to_owned(),
        (_, None) => dtype.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> LockOptions<'static> {
        LockOptions { tool: "test", timeout: std::time::Duration::ZERO, notice: &|_| {} }
    }

    fn imported(csv: &str, layout: &str) -> Result<(String, Converted), String> {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("gemm.csv");
        std::fs::write(&source, csv).unwrap();
        let layout: Layout = layout.parse().map_err(|error: MalformedLayout| error.to_string())?;
        let done = import(&source, &layout, &folder.path().join("db"), &lock()).map_err(|error| error.to_string())?;
        Ok((std::fs::read_to_string(&done.table).unwrap(), done))
    }

    #[test]
    fn sizes_become_shapes() {
        let csv = "m,n,k,us\n16,512,1024,12.5\n32.0,512,1024,25\n64,512,1024,\n";
        let (table, done) = imported(csv, "MatMulV2 m,k:bf16 n,k:fp32 -> m,n:bf16 = us").unwrap();
        assert_eq!((done.rows, done.without_duration), (2, 1));
        let expected = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\r\n\
                        \"16,1024;512,1024\",DT_BF16;FLOAT,ND;ND,\"16,512\",DT_BF16,ND,12.5\r\n\
                        \"32,1024;512,1024\",DT_BF16;FLOAT,ND;ND,\"32,512\",DT_BF16,ND,25\r\n";
        assert_eq!(table, expected);
        let (table, _) = imported("tokens,latency\n16,0.5\n", "Add 2,tokens:bf16 = latency ms").unwrap();
        assert!(table.ends_with("\"2,16\",DT_BF16,ND,,,,500\r\n"), "{table}");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (csv, layout, part) in [
            ("m,us\n1,2\n", "K m,n:bf16 = us", "column n: is missing (there are: m, us)"),
            ("m,us\n1,2\n", "K m:bf16 = ms", "column ms: is missing"),
            ("m,us\n1.5,2\n", "K m:bf16 = us", "column m: line 2: 1.5 is not a whole number"),
            ("m,us\n1,x\n", "K m:bf16 = us", "column us: line 2: x is not a number"),
            ("m,us\n1,0\n", "K m:bf16 = us", "no row has a duration"),
            ("m,us\n1,2\n", "K m = us", "'m' has no ':' before the data type; write KERNEL"),
            ("m,us\n1,2\n", "K m:bf17 = us", "bf17"),
            ("m,us\n1,2\n", "K m:bf16", "no '='"),
            ("m,us\n1,2\n", "../K m:bf16 = us", "cannot be the name of a kernel"),
            ("m,us\n1,2\n", "K m:bf16 = us hours", "'hours' is not a unit of time"),
        ] {
            let error = imported(csv, layout).unwrap_err();
            assert!(error.contains(part), "{layout}: {error}");
        }
    }
}
