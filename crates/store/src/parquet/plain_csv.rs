//! A database table of a plain CSV: sizes, a duration, and one line that says which column is which.

mod product;

use crate::dtype::DType;
use crate::duration::is_valid;
use crate::parquet::COMPUTE_COLUMNS;
use crate::parquet::database::Target;
use crate::parquet::error::Error;
use crate::registry::{KernelClass, Registry, TableType, is_known, with_operator, with_tables};
use crate::table::{LineEnd, ReadOptions, Row, Table, push_csv_row};
use perfdb_files::lock::LockOptions;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How the columns of a CSV are the inputs, the outputs and the duration of a kernel.
///
/// ```
/// use perfdb_store::parquet::plain_csv::Layout;
/// let layout: Layout = "gemm m,k:bf16 n,k:bf16 -> m,n:bf16 = latency ms".parse()?;
/// assert_eq!(layout.kernel_type(), "gemm");
/// assert!("gemm m,k".parse::<Layout>().is_err());
/// # Ok::<(), perfdb_store::parquet::plain_csv::MalformedLayout>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    kernel_type: String,
    /// What the mapping of the database will say of the table; nothing where its name tells, or nobody does.
    table: Option<TableType>,
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
    dtype: TypeLayout,
}

/// The data type of a tensor.
#[derive(Debug, Clone, PartialEq)]
enum TypeLayout {
    Fixed(DType),
    /// A column has it.
    Column(String),
}

/// A layout that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{reason}; write KERNEL[:CLASS] TENSOR... [-> TENSOR...] = COLUMN [us|ms|s|ns], such as \"gemm m,k:bf16 n,k:bf16 -> m,n:bf16 = us\""
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
        let dtype = dtype.parse().map_or_else(|_| TypeLayout::Column(dtype.to_owned()), TypeLayout::Fixed);
        Ok(TensorLayout { dimensions: dimensions.split(',').map(|name| name.trim().to_owned()).collect(), dtype })
    }
}

impl FromStr for Layout {
    type Err = MalformedLayout;

    fn from_str(text: &str) -> Result<Layout, MalformedLayout> {
        let (call, duration) =
            text.rsplit_once('=').ok_or_else(|| MalformedLayout::new("no '=' before the column of durations"))?;
        let duration = duration.trim();
        let with_unit = duration.rsplit_once(char::is_whitespace);
        let with_unit = with_unit.and_then(|(column, unit)| Some((column.trim_end(), unit_us(unit)?)));
        let (column, unit_us) = with_unit.unwrap_or_else(|| (duration, unit_of_name(duration)));
        if column.is_empty() {
            return Err(MalformedLayout::new("no column of durations"));
        }
        let (inputs, outputs) = call.split_once("->").unwrap_or((call, ""));
        let mut words = inputs.split_whitespace();
        let kernel = words.next().ok_or_else(|| MalformedLayout::new("no kernel"))?;
        let (kernel_type, class) = kernel.split_once(':').map_or((kernel, None), |(name, class)| (name, Some(class)));
        if kernel_type.is_empty() || kernel_type.contains([',', '/']) || kernel_type.starts_with('.') {
            return Err(MalformedLayout::new(format!("'{kernel_type}' cannot be the name of a kernel")));
        }
        let inputs = words.map(str::parse).collect::<Result<Vec<TensorLayout>, _>>()?;
        if inputs.is_empty() {
            return Err(MalformedLayout::new("no inputs"));
        }
        let outputs = outputs.split_whitespace().map(str::parse).collect::<Result<Vec<TensorLayout>, _>>()?;
        let table = match class.map(class_named).transpose()? {
            Some(class) => Some(TableType { class, ..TableType::default() }),
            None if is_known(kernel_type) => None,
            None => product::of(&inputs, &outputs),
        };
        Ok(Layout { kernel_type: kernel_type.to_owned(), table, inputs, outputs, duration: column.to_owned(), unit_us })
    }
}

/// A unit of time in microseconds.
fn unit_us(name: &str) -> Option<f64> {
    Some(match name {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "ns" => 1e-3,
        _ => return None,
    })
}

/// The unit at the end of a column's name, such as `latency_ms` or `Time (ms)`; else microseconds.
fn unit_of_name(column: &str) -> f64 {
    let mut words = column.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.next_back().and_then(unit_us).unwrap_or(1.0)
}

/// A class by its name. Tables of collectives have sizes of messages, not tensors.
fn class_named(name: &str) -> Result<KernelClass, MalformedLayout> {
    let classes = || KernelClass::ALL.into_iter().filter(|class| *class != KernelClass::Collective);
    classes().find(|class| class.name() == name).ok_or_else(|| {
        let known = classes().map(KernelClass::name).collect::<Vec<_>>().join(", ");
        MalformedLayout::new(format!("'{name}' is not a class of tensors (there are: {known})"))
    })
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The table.
    pub table: PathBuf,
    /// What the database or the registry says that it is.
    pub class: Option<KernelClass>,
    /// The operator that is looked up in it from now on.
    pub operator: Option<&'static str>,
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
    let mut operator = None;
    if let Some(kind) = &layout.table {
        let tables = BTreeMap::from([(layout.kernel_type.clone(), kind.clone())]);
        files.change_mapping(target, |mapping| {
            let described = with_tables(mapping, &tables)?;
            let own = kind.class.operator().filter(|_| layout.inputs.len() == 2);
            let with = own.and_then(|own| with_operator(&described, own, &layout.kernel_type));
            operator = own.filter(|_| with.is_some());
            Some(with.unwrap_or(described))
        })?;
    }
    files.commit()?;
    let described = Registry::of_database(target).ok().and_then(|registry| registry.described(&layout.kernel_type));
    Ok(Converted { table: path, class: described.map(|kind| kind.class), operator, rows, without_duration })
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
        let types = tensors.iter().map(|tensor| self.type_name(row, tensor)).collect::<Result<Vec<_>, _>>()?.join(";");
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

    /// The data type as the profiler writes it.
    fn type_name(&self, row: &Row<'_>, tensor: &TensorLayout) -> Result<&'static str, Error> {
        let dtype = match &tensor.dtype {
            TypeLayout::Fixed(dtype) => *dtype,
            TypeLayout::Column(name) => {
                let text = row.cell(self.find(name)?).trim();
                let found = text.parse().or_else(|_| text.to_ascii_lowercase().parse());
                found.map_err(|_| self.unfit(row, name, text, "a data type"))?
            }
        };
        Ok(dtype.table_name())
    }

    fn unfit(&self, row: &Row<'_>, column: &str, text: &str, wanted: &str) -> Error {
        let line = row.line().unwrap_or_default();
        let text = perfdb_files::escape::excerpt(text);
        Error::column(self.source, column, format!("line {line}: {text} is not {wanted}"))
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
        for (column, duration) in [
            ("latency", "latency ms"),
            ("latency_ms", "latency_ms"),
            ("Time (ms)", "Time (ms)"),
            ("Time (us)", "Time (us) ms"),
        ] {
            let (table, _) =
                imported(&format!("tokens,{column}\n16,0.5\n"), &format!("Add 2,tokens:bf16 = {duration}")).unwrap();
            assert!(table.ends_with("\"2,16\",DT_BF16,ND,,,,500\r\n"), "{duration}: {table}");
        }
    }

    #[test]
    fn the_mapping_says_what_the_table_is() {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("times.csv"), folder.path().join("db"));
        std::fs::write(&source, "m,n,type,us\n16,512,bf16,12.5\n16,512,FP8,7\n").unwrap();
        let mapping = || std::fs::read_to_string(target.join("op_mapping.yaml")).unwrap_or_default();
        let take = |layout: &str| import(&source, &layout.parse().unwrap(), &target, &lock()).map(|done| done.rows);
        assert_eq!(take("Add m,n:type m,n:type -> m,n:bf16 = us").unwrap(), 2);
        assert_eq!(mapping(), "", "the registry knows this name");
        assert_eq!(take("tiles m,n:type 64,n:type -> m,64:bf16 = us").unwrap(), 2);
        assert_eq!(take("decode:attention_decode m,1,8,64:bf16 m,n,1,64:type m,n,1,64:type = us").unwrap(), 2);
        let expected = "kernel_tables:\n  \"decode\": {class: attention_decode}\n  \"tiles\": {class: matmul, layout: n_k}\n\
                        operator_mappings:\n  aten.mm.default: {kernel_type: \"tiles\"}\n";
        assert_eq!(mapping(), expected);
        let tiles = std::fs::read_to_string(target.join("tiles.csv")).unwrap();
        assert!(
            tiles.ends_with("\"16,512;64,512\",FLOAT8_E4M3FN;FLOAT8_E4M3FN,ND;ND,\"16,64\",DT_BF16,ND,7\r\n"),
            "{tiles}"
        );

        std::fs::write(target.join("op_mapping.yaml"), "kernel_tables: {decode: {class: copy}}\n").unwrap();
        let error = take("other:copy m,n:bf16 = us").unwrap_err().to_string();
        assert!(error.contains("with its kernel_tables as a table a line"), "{error}");
        assert!(!target.join("other.csv").exists());
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
            ("m,us\n1,2\n", "K:gemm m:bf16 = us", "'gemm' is not a class of tensors (there are: matmul, "),
            ("m,us\n1,2\n", "K:collective m:bf16 = us", "'collective' is not a class of tensors"),
            ("m,type,us\n1,int9,2\n", "K m:type = us", "column type: line 2: int9 is not a data type"),
            ("m,us\n1,2\n", "K m:bf16 = us hours", "column us hours: is missing (there are: m, us)"),
            ("m,us\n1,2\n", "K m:bf16 = ", "no column of durations"),
        ] {
            let error = imported(csv, layout).unwrap_err();
            assert!(error.contains(part), "{layout}: {error}");
        }
    }
}
