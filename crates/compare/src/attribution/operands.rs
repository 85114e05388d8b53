//! Shapes of a call: its operands, and what makes two calls the same work.

use bitcode::{Decode, Encode};
use perfdb_pycompat::literal;
use perfdb_pycompat::text::trim;
use perfdb_pycompat::value::Value;

/// The dimensions of one operand.
pub(crate) type Dims = Vec<i64>;

/// The dimensions of each operand; an empty list is an empty slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Operands(pub(crate) Vec<Dims>);

/// The product that a matrix multiplication computes, for any orientation of its second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GemmKey {
    pub(crate) batch: i128,
    pub(crate) m: i128,
    pub(crate) k: i64,
    pub(crate) n: i64,
}

/// What an attention kernel works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct AttentionKey {
    /// Number of query tokens.
    pub query_tokens: i64,
    /// Number of blocks of the key and value cache.
    pub kv_blocks: i64,
    /// Number of sequences; 0 if it can't be told.
    pub sequences: i64,
}

/// Tokens in a block of the cache, for kernels that do not page.
const BLOCK_TOKENS: i64 = 128;

/// Slot of the block table in the inputs of a measured attention kernel.
const BLOCK_TABLE_SLOT: usize = 14;

impl AttentionKey {
    /// `q16 kv33 b16`.
    pub(crate) fn text(&self) -> String {
        format!("q{} kv{} b{}", self.query_tokens, self.kv_blocks, self.sequences)
    }

    /// Of the simulator's operands: query, key (and value), then a block table among the rest.
    pub(crate) fn predicted(operands: &Operands) -> Option<AttentionKey> {
        let kv = operands.key_value();
        let table = kv.and_then(|(slot, kv)| {
            let mut rest = operands.0.iter().enumerate().skip(1);
            rest.find(|(at, dims)| *at != slot && dims.len() == 2 && Some(&dims[1]) <= kv.first()).map(|(_, dims)| dims)
        });
        AttentionKey::of(operands, kv.map(|(_, kv)| kv), table)
    }

    /// Of a measured kernel's inputs, with formats still unfolded.
    pub(crate) fn measured(operands: &Operands) -> Option<AttentionKey> {
        let table = operands.0.get(BLOCK_TABLE_SLOT).filter(|dims| dims.len() == 2);
        AttentionKey::of(operands, operands.key_value().map(|(_, kv)| kv), table)
    }

    fn of(operands: &Operands, kv: Option<&Dims>, table: Option<&Dims>) -> Option<AttentionKey> {
        let query = operands.0.first()?;
        let query_tokens = match query.as_slice() {
            [batch, _, tokens, _] => batch.saturating_mul(*tokens),
            [tokens, ..] => *tokens,
            [] => return None,
        };
        let kv_blocks = kv.and_then(|kv| kv.first().copied()).unwrap_or(0);
        Some(match (table, kv) {
            (Some(table), _) => AttentionKey { query_tokens, kv_blocks, sequences: table[0] },
            (None, Some(_)) => AttentionKey {
                query_tokens,
                kv_blocks: -(-kv_blocks).div_euclid(BLOCK_TOKENS),
                sequences: i64::from(kv_blocks == query_tokens),
            },
            (None, None) => AttentionKey { query_tokens, kv_blocks: 0, sequences: 0 },
        })
    }
}

impl Operands {
    /// Reads the cell of a CSV: operands apart by `;`, dimensions by `,`, literal quotes around it or not.
    pub(crate) fn parse_cell(cell: &str) -> Option<Operands> {
        let cell: String = trim(cell).trim_matches('"').chars().filter(|&character| character != ' ').collect();
        if cell.is_empty() || cell == "N/A" {
            return None;
        }
        let dims = |slot: &str| -> Option<Dims> {
            if slot.is_empty() { Some(Vec::new()) } else { slot.split(',').map(|size| size.parse().ok()).collect() }
        };
        cell.split(';').map(dims).collect::<Option<_>>().map(Operands)
    }

    /// Reads a list of lists of integers as the simulator writes it; `None` also where all slots are empty.
    pub(crate) fn parse_list(text: &str) -> Option<Operands> {
        let (Value::List(items) | Value::Tuple(items)) = literal::parse(text).ok()? else { return None };
        Operands::of_values(&items)
    }

    fn of_values(items: &[Value]) -> Option<Operands> {
        let dims = |item: &Value| -> Option<Dims> {
            let (Value::List(sizes) | Value::Tuple(sizes)) = item else { return None };
            let size = |size: &Value| if let Value::Int(size) = size { Some(*size) } else { None };
            sizes.iter().map(size).collect()
        };
        Operands(items.iter().map(dims).collect::<Option<_>>()?).without_trailing_empty()
    }

    fn without_trailing_empty(mut self) -> Option<Operands> {
        while self.0.last().is_some_and(Vec::is_empty) {
            self.0.pop();
        }
        (!self.0.is_empty()).then_some(self)
    }

    /// Formats folded to plain matrices, trailing empty slots cut. Without a format, a slot that looks like FRACTAL_NZ is.
    pub(crate) fn canonical(self, formats: &[&str]) -> Option<Operands> {
        let folded = self.0.into_iter().enumerate().map(|(slot, dims)| fold(dims, formats.get(slot).copied()));
        Operands(folded.collect()).without_trailing_empty()
    }

    /// `16,512;512,768`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (slot, dims) in self.0.iter().enumerate() {
            if slot > 0 {
                text.push(';');
            }
            for (axis, size) in dims.iter().enumerate() {
                if axis > 0 {
                    text.push(',');
                }
                text.push_str(&size.to_string());
            }
        }
        text
    }

    /// The first of the second and third operand that has two dimensions, with its slot.
    fn key_value(&self) -> Option<(usize, &Dims)> {
        self.0.iter().enumerate().skip(1).take(2).find(|(_, dims)| dims.len() >= 2)
    }

    /// Batch, M, K and N from the first two operands.
    pub(crate) fn gemm_key(&self) -> Option<GemmKey> {
        let [a, b, ..] = self.0.as_slice() else { return None };
        let (&k, rows) = a.split_last().filter(|(_, rows)| !rows.is_empty())?;
        let [batch @ .., b_rows, b_columns] = b.as_slice() else { return None };
        let n = match (*b_rows == k, *b_columns == k) {
            (true, _) => *b_columns,
            (_, true) => *b_rows,
            _ => return None,
        };
        let batch = product(batch);
        Some(GemmKey { batch, m: product(rows).checked_div(batch.max(1)).unwrap_or(0), k, n })
    }

    /// The first two operands.
    pub(crate) fn first_two(&self) -> Operands {
        Operands(self.0.iter().take(2).cloned().collect())
    }

    /// The first operand that has dimensions, less leading ones down to a matrix.
    fn leading(&self) -> Option<&[i64]> {
        let mut dims = self.0.iter().find(|dims| !dims.is_empty())?.as_slice();
        while dims.len() > 2 && dims[0] == 1 {
            dims = &dims[1..];
        }
        Some(dims)
    }

    /// Rows of the first operand.
    pub(crate) fn tokens(&self) -> Option<i64> {
        self.leading().map(|dims| dims[0])
    }

    /// Elements of the first operand.
    pub(crate) fn elements(&self) -> Option<i128> {
        self.leading().map(product)
    }

    /// Elements of the very first operand, which may be a scalar.
    pub(crate) fn first_elements(&self) -> i128 {
        self.0.first().map_or(1, |dims| product(dims))
    }

    /// Width of the very first operand.
    pub(crate) fn width(&self) -> Option<i64> {
        self.0.first()?.last().copied()
    }

    /// How unlike two lists are: sum of |a − b| / max(a, b) over all sizes, 2 for an operand of another rank, 1 for each
    /// operand more or fewer.
    pub(crate) fn distance(&self, other: &Operands) -> f64 {
        let mut distance = self.0.len().abs_diff(other.0.len()) as f64;
        for (one, other) in self.0.iter().zip(&other.0) {
            if one.len() != other.len() {
                distance += 2.0;
                continue;
            }
            let sizes = one.iter().zip(other);
            distance += sizes.map(|(&a, &b)| a.abs_diff(b) as f64 / a.max(b).max(1) as f64).sum::<f64>();
        }
        distance
    }
}

fn product(sizes: &[i64]) -> i128 {
    sizes.iter().fold(1i128, |product, &size| product.saturating_mul(i128::from(size)))
}

/// `[…, a, b, c, d]` in FRACTAL_NZ is the matrix `[…, b·c, a·d]`.
fn fold(mut dims: Dims, format: Option<&str>) -> Dims {
    let [.., a, b, c, d] = dims[..] else { return dims };
    let is_fractal = match format {
        Some(format) => format == "FRACTAL_NZ",
        None => c == 16 && matches!(d, 8 | 16 | 32 | 64),
    };
    if is_fractal {
        dims.truncate(dims.len() - 4);
        dims.extend([b.saturating_mul(c), a.saturating_mul(d)]);
    }
    dims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> Operands {
        Operands::parse_cell(text).unwrap()
    }

    #[test]
    fn cells_and_lists() {
        assert_eq!(cell("\"16,512; ;512\""), Operands(vec![vec![16, 512], vec![], vec![512]]));
        for text in ["", "N/A", "\"\"", "16,x", "1.5", "16,,2"] {
            assert_eq!(Operands::parse_cell(text), None, "{text}");
        }
        assert_eq!(Operands::parse_list("[[16, 512], (512,), []]"), Some(Operands(vec![vec![16, 512], vec![512]])));
        for text in ["", "[]", "[[]]", "[16]", "[[True]]", "[[1.5]]", "x", "[['a']]"] {
            assert_eq!(Operands::parse_list(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_two_of_more_or_fewer() {
        assert_eq!(cell("1,2;3;4").first_two(), cell("1,2;3"));
        assert_eq!(cell("1,2").first_two(), cell("1,2"));
    }

    #[test]
    fn folded_and_cut() {
        let canonical = |text: &str, formats: &[&str]| cell(text).canonical(formats).map(|operands| operands.text());
        assert_eq!(canonical("320,200,16,16", &["FRACTAL_NZ"]).as_deref(), Some("3200,5120"));
        assert_eq!(canonical("320,200,16,16", &["ND"]).as_deref(), Some("320,200,16,16"));
        assert_eq!(canonical("16,2;320,200,16,32;;", &["ND"]).as_deref(), Some("16,2;3200,10240"));
        assert_eq!(canonical("320,200,16,24", &[]).as_deref(), Some("320,200,16,24"));
        assert_eq!(canonical("1,2;;3", &[]).as_deref(), Some("1,2;;3"));
        assert_eq!(canonical(";", &[]), None);
    }

    #[test]
    fn products() {
        let key = |text: &str| cell(text).gemm_key().map(|key| (key.batch, key.m, key.k, key.n));
        assert_eq!(key("16,512;768,512"), Some((1, 16, 512, 768)));
        assert_eq!(key("16,512;512,768;768"), Some((1, 16, 512, 768)));
        assert_eq!(key("16,512;512,512"), Some((1, 16, 512, 512)));
        assert_eq!(key("8,16,128;8,128,512"), Some((8, 16, 128, 512)));
        assert_eq!(key("2,8,128;128,512"), Some((1, 16, 128, 512)));
        for text in ["16,512", "512;512,4", "16,512;4,4", "16,512;512"] {
            assert_eq!(key(text), None, "{text}");
        }
    }

    #[test]
    fn attention() {
        let measured = cell("16,4,128;33,128,128;33,128,128;;2048,2048;1;1;;;;;;;;16,33");
        assert_eq!(AttentionKey::measured(&measured).unwrap().text(), "q16 kv33 b16");
        let predicted = cell("16,512;33,128,1,128;33,128,1,128;16,33;17;16;16");
        assert_eq!(AttentionKey::predicted(&predicted).unwrap().text(), "q16 kv33 b16");
        assert_eq!(AttentionKey::measured(&cell("2,8,16,128;300,8,128")).unwrap().text(), "q32 kv3 b0");
        assert_eq!(AttentionKey::measured(&cell("300,8,128;300,8,128")).unwrap().text(), "q300 kv3 b1");
        assert_eq!(AttentionKey::measured(&cell("16,4")).unwrap().text(), "q16 kv0 b0");
    }

    #[test]
    fn work() {
        assert_eq!((cell("1,16,512").tokens(), cell("1,16,512").elements()), (Some(16), Some(8192)));
        assert_eq!((cell(";1,5").tokens(), cell("7").elements()), (Some(1), Some(7)));
        assert_eq!(cell("16,512;4").distance(&cell("8,512")), 1.5);
        assert_eq!(cell("16,512").distance(&cell("8")), 2.0);
    }
}
