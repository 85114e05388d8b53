//! New rows, made after one of their table.

use super::leaves::tensors;
use perfdb_query::{Argument, DType, Query, Results, Tensor};
use perfdb_store::columns::{
    INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, is_measurement,
};
use perfdb_store::registry::class_of;
use perfdb_store::registry::parts::SWIGLU;
use perfdb_store::row_identity::{IdentityColumns, RowIdentity};
use perfdb_store::slots::{dimensions, normal_shape, split};
use perfdb_store::table::Table;
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// A row that would answer a question.
pub(super) struct NewRow {
    pub(super) kernel_type: String,
    pub(super) path: PathBuf,
    pub(super) inputs: String,
    pub(super) cells: Vec<(String, String)>,
    /// Whether the table has it already, without a duration.
    pub(super) is_waiting: bool,
}

impl NewRow {
    pub(super) fn new(kernel_type: &str, table: &Table, cells: Vec<String>, is_waiting: bool) -> NewRow {
        let inputs = table.column(INPUT_SHAPES).map(|at| cells[at].trim_matches('"').to_owned());
        NewRow {
            kernel_type: kernel_type.to_owned(),
            path: table.path().to_owned(),
            inputs: inputs.unwrap_or_default(),
            cells: table.columns().iter().cloned().zip(cells).collect(),
            is_waiting,
        }
    }
}

/// The layout of matrices in blocks.
const FRACTAL_NZ: &str = "FRACTAL_NZ";
/// Where an attention call has its lengths, and those of its queries.
const LENGTHS: usize = 6;
const QUERY_LENGTHS: usize = 7;

type Shape = Vec<i64>;

/// A slot of the row that is followed.
struct Slot {
    shape: Shape,
    format: String,
}

impl Slot {
    /// As a matrix, for any layout.
    fn matrix(&self) -> Shape {
        match (self.is_blocks(), self.shape.as_slice()) {
            (true, [rest @ .., h, w, block_h, block_w]) => {
                rest.iter().copied().chain([h * block_w, w * block_h]).collect()
            }
            _ => self.shape.clone(),
        }
    }

    fn is_blocks(&self) -> bool {
        self.format == FRACTAL_NZ && self.shape.len() >= 4
    }

    /// A matrix in the layout of this slot; `None` where it does not fit into its blocks.
    fn laid_out(&self, matrix: &[i64]) -> Option<Shape> {
        let [.., block_h, block_w] = self.shape[..] else { return Some(matrix.to_vec()) };
        if !self.is_blocks() {
            return Some(matrix.to_vec());
        }
        let [rest @ .., a, b] = matrix else { return None };
        let is_whole = block_w > 0 && block_h > 0 && a % block_w == 0 && b % block_h == 0;
        is_whole.then(|| rest.iter().copied().chain([a / block_w, b / block_h, block_h, block_w]).collect())
    }
}

/// What a row could look like: the weights as they lie in the row that is followed, then the other way round.
pub(super) fn variants(table: &Table, pattern: usize, query: &Query) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> =
        [false, true].into_iter().filter_map(|turned| variant(table, pattern, query, turned)).collect();
    all.dedup();
    all
}

fn variant(table: &Table, pattern: usize, query: &Query, turned: bool) -> Option<Vec<String>> {
    let cell = |name: &str| table.column(name).map(|at| table.cell(pattern, at)).unwrap_or_default();
    let slots = slots(cell(INPUT_SHAPES), cell(INPUT_FORMATS))?;
    let outputs = slots_of_outputs(cell(OUTPUT_SHAPES), cell(OUTPUT_FORMATS))?;
    let is_attention = ["Runtime avg_seq_len", "avg_seq_len"].iter().any(|name| table.column(name).is_some());
    let asked = operands(query, &slots, table, is_attention)?;
    let stem = table.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_product = class_of(stem).is_product();
    if turned && !is_product {
        return None;
    }
    let lies = is_product.then(|| Lies::of(table, pattern, turned));
    let inputs = inputs(&slots, &asked, lies)?;
    let results = results(query);
    let new_outputs = new_outputs(&slots, &inputs, &outputs, &results);
    let types = |name: &str, shapes: &[Slot], dtypes: &mut dyn Iterator<Item = DType>| {
        let mut types: Vec<String> = split(cell(name)).into_iter().map(str::to_owned).collect();
        for (own, _) in types.iter_mut().zip(shapes).filter(|(_, slot)| !slot.shape.is_empty()) {
            let Some(dtype) = dtypes.next() else { break };
            if profiler_name(dtype).is_some_and(|name| name != own && !is_alike(own, dtype)) {
                *own = profiler_name(dtype).unwrap_or_default().to_owned();
            }
        }
        types.join(";")
    };
    let input_types = types(INPUT_TYPES, &slots, &mut asked.iter().map(|(_, dtype)| *dtype));
    let output_types = types(OUTPUT_TYPES, &outputs, &mut results.iter().map(|tensor| tensor.dtype));
    let quoted = |shapes: &[Shape], old: &str| {
        let text: Vec<String> = shapes.iter().map(|shape| text_of(shape)).collect();
        if old.starts_with('"') { format!("\"{}\"", text.join(";")) } else { text.join(";") }
    };
    let lengths = Lengths::of(query).filter(|_| is_attention);
    let cells = table.columns().iter().enumerate().map(|(at, name)| {
        let old = table.cell(pattern, at);
        match name.as_str() {
            INPUT_SHAPES => quoted(&inputs, old),
            OUTPUT_SHAPES => quoted(&new_outputs, old),
            INPUT_TYPES => input_types.clone(),
            OUTPUT_TYPES => output_types.clone(),
            name if is_measurement(name) => String::new(),
            name => lengths.as_ref().and_then(|lengths| lengths.cell(name, old)).unwrap_or_else(|| old.to_owned()),
        }
    });
    Some(cells.collect())
}

fn slots(shapes: &str, formats: &str) -> Option<Vec<Slot>> {
    let formats = split(formats);
    let slot = |(at, text): (usize, &str)| {
        let shape = dimensions(&normal_shape(text))?;
        Some(Slot { shape, format: formats.get(at).copied().unwrap_or_default().to_owned() })
    };
    split(shapes).into_iter().enumerate().map(slot).collect()
}

fn slots_of_outputs(shapes: &str, formats: &str) -> Option<Vec<Slot>> {
    if split(shapes).is_empty() { Some(Vec::new()) } else { slots(shapes, formats) }
}

fn text_of(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// The shapes that the slots get, in their order: those of the call, arranged as the kernel has them.
fn operands(query: &Query, slots: &[Slot], table: &Table, is_attention: bool) -> Option<Vec<(Shape, DType)>> {
    let given: Vec<(Shape, DType)> =
        tensors(query).into_iter().map(|tensor| (tensor.shape.clone(), tensor.dtype)).collect();
    let count = slots.iter().filter(|slot| !slot.shape.is_empty()).count();
    if is_attention {
        return attention_operands(query);
    }
    let is_swiglu = table.path().file_stem().is_some_and(|stem| stem == SWIGLU);
    match (given.as_slice(), count) {
        ([(one, dtype), (other, _)], 1) if is_swiglu => {
            let mut whole = one.clone();
            *whole.last_mut()? += other.last()?;
            Some(vec![(whole, *dtype)])
        }
        ([key, value, (cache, dtype), slots], 5) if cache.first() == Some(&2) => {
            let one = |(shape, dtype): &(Shape, DType)| match shape.as_slice() {
                [tokens, size] => (vec![*tokens, 1, *size], *dtype),
                _ => (shape.clone(), *dtype),
            };
            let cache = (cache[1..].to_vec(), *dtype);
            Some(vec![one(key), one(value), cache.clone(), cache, slots.clone()])
        }
        (given, count) => Some(given.iter().take(count).cloned().collect()),
    }
}

/// Query, key and value of an attention call, the query by heads.
fn attention_operands(query: &Query) -> Option<Vec<(Shape, DType)>> {
    let tensor = |at: usize| query.positional().get(at).and_then(Argument::as_tensor);
    let (q, key) = (tensor(0)?, tensor(1));
    let size = key.and_then(|key| key.shape.last()).copied().unwrap_or(0);
    let by_heads = match q.shape.as_slice() {
        [tokens, hidden] if size > 0 && hidden % size == 0 => vec![*tokens, hidden / size, size],
        shape => shape.to_vec(),
    };
    let caches = [key, tensor(2)].into_iter().flatten().map(|tensor| (tensor.shape.clone(), tensor.dtype));
    Some(std::iter::once((by_heads, q.dtype)).chain(caches).collect())
}

/// The new inputs; slots for which the call has nothing stay as they are. `lies`, of products: how weights shall lie.
fn inputs(slots: &[Slot], asked: &[(Shape, DType)], lies: Option<Lies>) -> Option<Vec<Shape>> {
    let inner = asked.first().and_then(|(shape, _)| shape.last());
    let mut asked = asked.iter();
    let mut is_first = true;
    slots
        .iter()
        .map(|slot| {
            let next = if slot.shape.is_empty() { None } else { asked.next() };
            let Some((shape, _)) = next else { return Some(slot.shape.clone()) };
            let old = slot.matrix();
            let mut new = of_rank(shape, old.len());
            let is_weight = !std::mem::take(&mut is_first) && old.len() == new.len() && old.len() >= 2;
            // The call may have its weight as (N, K) already.
            let is_turned = new.last() == inner && old.len() >= 2 && new.get(new.len().wrapping_sub(2)) != inner;
            if is_weight && lies.is_some_and(|lies| is_turned != (lies == Lies::Turned)) {
                let count = new.len();
                new.swap(count - 1, count - 2);
            }
            slot.laid_out(&new)
        })
        .collect()
}

/// How the weights of a product lie in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lies {
    /// (K, N): the rows of a weight are the columns of the first input.
    Plain,
    /// (N, K).
    Turned,
}

impl Lies {
    /// As in the row that is followed, or, `turned`, the other way round. A square weight leaves it open: then as in the other rows of the table,
    /// those with the same data types and formats before all others.
    fn of(table: &Table, pattern: usize, turned: bool) -> Lies {
        let column = |name: &str| table.column(name);
        let cell = |row: usize, name: &str| column(name).map(|at| table.cell(row, at)).unwrap_or_default();
        let is_alike =
            |row: &usize| [INPUT_TYPES, INPUT_FORMATS].into_iter().all(|name| cell(*row, name) == cell(pattern, name));
        let lies = |row: usize| Lies::of_slots(&slots(cell(row, INPUT_SHAPES), cell(row, INPUT_FORMATS))?);
        let most = |rows: &mut dyn Iterator<Item = usize>| {
            let (mut turned, mut count) = (0, 0);
            for found in rows.filter_map(lies) {
                count += 1;
                turned += usize::from(found == Lies::Turned);
            }
            (count > 0).then_some(if 2 * turned > count { Lies::Turned } else { Lies::Plain })
        };
        let all = || 0..table.row_count();
        let own = lies(pattern).or_else(|| most(&mut all().filter(is_alike))).or_else(|| most(&mut all()));
        match (own.unwrap_or(Lies::Plain), turned) {
            (Lies::Plain, false) | (Lies::Turned, true) => Lies::Plain,
            _ => Lies::Turned,
        }
    }

    /// `None` where the first weight is square, or is not one.
    fn of_slots(slots: &[Slot]) -> Option<Lies> {
        let mut matrices = slots.iter().filter(|slot| !slot.shape.is_empty()).map(Slot::matrix);
        let (first, weight) = (matrices.next()?, matrices.next()?);
        let inner = first.last()?;
        match weight.as_slice() {
            [.., rows, columns] if rows == columns => None,
            [.., _, columns] if columns == inner => Some(Lies::Turned),
            [.., rows, _] if rows == inner => Some(Lies::Plain),
            _ => None,
        }
    }
}

/// A shape with as many dimensions as another, if that is the same tensor: leading dimensions of 1 come and go, and the first two are one.
fn of_rank(shape: &[i64], rank: usize) -> Shape {
    let mut new = shape.to_vec();
    while new.len() > rank && new.first() == Some(&1) {
        new.remove(0);
    }
    if new.len() == 3 && rank == 2 {
        new = vec![new[0] * new[1], new[2]];
    }
    if new.len() == 4 && rank == 3 && new[2] == 1 {
        new.remove(2);
    }
    while new.len() < rank && !shape.is_empty() && rank <= shape.len() + 1 {
        new.insert(0, 1);
    }
    new
}

fn results(query: &Query) -> Vec<&Tensor> {
    match query.returns() {
        Results::Unknown => Vec::new(),
        Results::One(Argument::List(values)) | Results::Many(values) => {
            values.iter().filter_map(Argument::as_tensor).collect()
        }
        Results::One(value) => value.as_tensor().into_iter().collect(),
    }
}

/// The new outputs: the results of the call where there are as many, else dimensions that follow from those of the inputs.
fn new_outputs(slots: &[Slot], inputs: &[Shape], outputs: &[Slot], results: &[&Tensor]) -> Vec<Shape> {
    if !outputs.is_empty() && outputs.len() == results.len() {
        let rank = |slot: &Slot| slot.shape.len();
        return outputs.iter().zip(results).map(|(slot, result)| of_rank(&result.shape, rank(slot))).collect();
    }
    let pairs: Vec<(i64, i64)> = slots
        .iter()
        .zip(inputs)
        .flat_map(|(slot, new)| slot.shape.iter().copied().zip(new.iter().copied()).collect::<Vec<_>>())
        .collect();
    let first: Option<(&Shape, &Shape)> = slots.iter().map(|slot| &slot.shape).zip(inputs).next();
    let of_dimension = |at: usize, old: i64| {
        let same_place =
            first.and_then(|(before, after)| (before.get(at) == Some(&old)).then(|| after.get(at).copied()).flatten());
        let anywhere = || pairs.iter().find(|(before, _)| *before == old && old != 1).map(|(_, after)| *after);
        same_place.or_else(anywhere).unwrap_or(old)
    };
    outputs.iter().map(|slot| slot.shape.iter().enumerate().map(|(at, old)| of_dimension(at, *old)).collect()).collect()
}

/// The spelling in tables that a call of this type matches.
fn profiler_name(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::BFloat16 | DType::Float16 => Some("DT_BF16"),
        other => other.database_name(),
    }
}

/// Whether a spelling in a table means the type already.
fn is_alike(own: &str, dtype: DType) -> bool {
    DType::from_database(own) == Some(dtype)
}

/// The lengths of an attention call.
struct Lengths {
    kv: Vec<i64>,
    query: Option<Vec<i64>>,
}

impl Lengths {
    fn of(query: &Query) -> Option<Lengths> {
        let values = |at: usize| query.positional().get(at).and_then(|lengths| lengths.as_tensor()?.values.clone());
        let kv = values(LENGTHS).filter(|lengths| !lengths.is_empty())?;
        let query = values(QUERY_LENGTHS).filter(|lengths| lengths.len() == kv.len());
        Some(Lengths { kv, query })
    }

    /// The text of a cell that depends on the lengths; a list that the row before has and that the call does not tell is left empty.
    fn cell(&self, name: &str, old: &str) -> Option<String> {
        let list = |values: &[i64]| values.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let mean = self.kv.iter().sum::<i64>() / self.kv.len() as i64;
        match name.strip_prefix("Runtime ").unwrap_or(name) {
            "avg_seq_len" => Some(mean.to_string()),
            "batch_size" => (!old.is_empty()).then(|| self.kv.len().to_string()),
            "actual_seq_lengths_kv_values" => (!old.is_empty()).then(|| list(&self.kv)),
            "actual_seq_lengths_values" => (!old.is_empty()).then(|| {
                let mut sum = 0;
                let sums = self.query.iter().flatten().map(|length| {
                    sum += length;
                    sum
                });
                list(&sums.collect::<Vec<_>>())
            }),
            "block_table_valid_blocks" => Some(String::new()),
            _ => None,
        }
    }
}

/// A table, and what its rows are.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) table: Table,
    columns: IdentityColumns,
    identities: FxHashSet<RowIdentity>,
}

impl Known {
    pub(super) fn of(table: Table) -> Known {
        let columns = IdentityColumns::of(table.columns());
        let identities = table.rows().map(|row| columns.of_row(|column| row.cell(column).into())).collect();
        Known { table, columns, identities }
    }

    /// Whether a row with these cells is there already.
    pub(super) fn has(&self, cells: &[String]) -> bool {
        self.identities.contains(&self.columns.of_row(|column| cells[column].as_str().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_store::table::ReadOptions;

    #[test]
    fn a_row_is_there_where_all_but_measurements_and_spelling_is_equal() -> Result<(), perfdb_store::Error> {
        let text = "Input Shapes,Input Data Types,Runtime topk,OP State,Average Duration(us)\n\"4,8; 8\",INT8;INT8,2,static,5\n";
        let known = Known::of(Table::parse("Add.csv".as_ref(), text.into(), &ReadOptions::database())?);
        let has = |cells: [&str; 5]| known.has(&cells.map(str::to_owned));
        assert!(has(["\"4,8;8\"", "INT8; INT8", "2.0", "static", ""]));
        assert!(!has(["\"4,8;8\"", "INT8;INT8", "3", "static", ""]));
        assert!(!has(["\"4,8;8;8\"", "INT8;INT8;INT8", "2", "static", ""]));
        Ok(())
    }

    #[test]
    fn shapes_take_the_rank_that_the_kernel_has() {
        assert_eq!(of_rank(&[1, 24, 512], 2), [24, 512]);
        assert_eq!(of_rank(&[2, 24, 512], 2), [48, 512]);
        assert_eq!(of_rank(&[24, 512], 3), [1, 24, 512]);
        assert_eq!(of_rank(&[24, 512], 2), [24, 512]);
    }

    #[test]
    fn blocks_hold_a_matrix() {
        let slot = Slot { shape: vec![320, 48, 16, 16], format: FRACTAL_NZ.to_owned() };
        assert_eq!(slot.matrix(), [5120, 768]);
        assert_eq!(slot.laid_out(&[512, 2048]), Some(vec![32, 128, 16, 16]));
        assert_eq!(slot.laid_out(&[512, 2040]), None);
        let narrow = Slot { shape: vec![224, 96, 16, 32], format: FRACTAL_NZ.to_owned() };
        assert_eq!((narrow.matrix(), narrow.laid_out(&[7168, 1536])), (vec![7168, 1536], Some(vec![224, 96, 16, 32])));
    }
}
