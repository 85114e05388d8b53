//! What is done to an input: small damage of the kinds that files meet, and values that nobody expects.

use crate::reliability::draws::Draws;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

type Mutation = fn(&mut Vec<u8>, &mut Draws);

const MUTATIONS: &[(&str, Mutation)] = &[
    ("flip bits", |bytes, draws| flip_bits(bytes, draws)),
    ("cut", cut),
    ("delete a range", delete_range),
    ("repeat a range", repeat_range),
    ("insert odd bytes", insert_odd_bytes),
    ("overwrite with zeros", |bytes, draws| overwrite_with_zeros(bytes, draws)),
    ("swap lines", swap_lines),
    ("delete a line", delete_line),
    ("repeat a line", repeat_line),
    ("repeat a line often", repeat_line_often),
    ("swap cells", swap_cells),
    ("replace a cell", replace_cell),
    ("delete a cell", delete_cell),
    ("repeat a column's name", repeat_column_name),
    ("replace a number", replace_number),
    ("replace a number", replace_number),
    ("replace a text", replace_text),
    ("swap texts", swap_texts),
    ("nest deeply", nest_deeply),
    ("lengthen a text", lengthen_text),
    ("UTF-16", to_utf16),
    ("byte order mark", add_byte_order_mark),
    ("other line ends", other_line_ends),
    ("no last line end", no_last_line_end),
    ("empty", empty),
    ("append odd bytes", append_odd_bytes),
    ("YAML alias", yaml_alias),
];

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1e309",
    "-1e309",
    "1e-320",
    "NaN",
    "Infinity",
    "-inf",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999",
    "1e18",
    "0.1e-5",
    "007",
    "0x10",
    "1_000",
    "1,5",
    "null",
    "true",
    "\"\"",
    "\"12\"",
    "[]",
    "{}",
    "4294967296",
    "2147483648",
    "-9223372036854775808",
    "1e400000000",
    "١٢",
    "1e",
    ".",
];

const TEXTS: &[&str] = &[
    "",
    " ",
    "../../outside",
    "/etc/passwd",
    "a/b",
    ".",
    "..",
    "CON",
    "-",
    "--help",
    "\u{1b}[31m",
    "\u{0}",
    "\u{7}",
    "\u{202e}abc",
    "\u{feff}",
    "=1+1",
    "@x",
    "N/A",
    "nan",
    "null",
    "DT_BF16",
    "DT_NOTHING",
    "ND;ND;ND",
    ";;;;",
    "\"\"",
    "16,5120;5120,",
    "0,0;0,0",
    "-1,-1",
    "4294967296,4294967296",
    "99999999999999999999",
    "1;",
    "\\ud800",
    "\\u0000",
    "é",
    "日本",
    "a\nb",
    "a\r\nb",
    "a,b",
    "MatMulV2",
    "hcom_allReduce_",
    "FusedInferAttentionScore",
    "aten.mm.default",
    "X",
    "M",
    "traceEvents",
    "<script>",
];

const ODD_BYTES: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\"",
    b"'",
    b",",
    b"\n",
    b"\r",
    b"\n\n\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"\\",
    b"#",
    b"&a ",
    b"*a",
    b"!!python/object:os.system x",
    b"- ",
    b"\t",
    b"\x1b[2J",
    b"\x1a",
    b"\x1f\x8b\x08\x00",
    b"PAR1",
    b"version https://git-lfs",
];

/// What an input may grow to.
const LARGEST_BYTES: usize = 8 << 20;

/// Applies one to three mutations and names them. What is inside a gzip file is mutated, or the file itself.
pub fn mutate(bytes: &mut Vec<u8>, draws: &mut Draws) -> Vec<&'static str> {
    if bytes.starts_with(b"\x1f\x8b") && draws.one_in(2) {
        let mut inner = Vec::new();
        let limit = u64::try_from(LARGEST_BYTES).unwrap_or(u64::MAX);
        if GzDecoder::new(bytes.as_slice()).take(limit).read_to_end(&mut inner).is_ok() {
            let mut names = apply(&mut inner, draws);
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            if let Ok(outer) = encoder.write_all(&inner).and_then(|()| encoder.finish()) {
                *bytes = outer;
                names.push("within gzip");
                return names;
            }
        }
    }
    apply(bytes, draws)
}

fn apply(bytes: &mut Vec<u8>, draws: &mut Draws) -> Vec<&'static str> {
    let mut names = Vec::new();
    for _ in 0..=draws.below(3) {
        let (name, mutation) = draws.one_of(MUTATIONS);
        mutation(bytes, draws);
        bytes.truncate(LARGEST_BYTES);
        names.push(*name);
    }
    names
}

/// A range of at most `longest` bytes.
fn range(bytes: &[u8], longest: usize, draws: &mut Draws) -> std::ops::Range<usize> {
    let from = draws.below(bytes.len());
    let to = from + draws.below(longest.min(bytes.len() - from) + 1);
    from..to
}

/// The parts between separators: the range of one of them.
fn part(bytes: &[u8], is_separator: impl Fn(u8) -> bool, draws: &mut Draws) -> std::ops::Range<usize> {
    let at = draws.below(bytes.len());
    let from = bytes.iter().take(at).rposition(|&byte| is_separator(byte)).map_or(0, |before| before + 1);
    let to = bytes.iter().skip(from).position(|&byte| is_separator(byte)).map_or(bytes.len(), |length| from + length);
    from..to
}

/// One of the lines, with its end.
fn line(bytes: &[u8], draws: &mut Draws) -> std::ops::Range<usize> {
    let found = part(bytes, |byte| byte == b'\n', draws);
    found.start..(found.end + 1).min(bytes.len())
}

fn cell(bytes: &[u8], draws: &mut Draws) -> std::ops::Range<usize> {
    part(bytes, |byte| matches!(byte, b',' | b'\n' | b'\r'), draws)
}

/// A run of bytes of one sort, the first behind a drawn place.
fn token(bytes: &[u8], is_of_it: impl Fn(u8) -> bool, draws: &mut Draws) -> Option<std::ops::Range<usize>> {
    let start = draws.below(bytes.len());
    let from = start + bytes.iter().skip(start).position(|&byte| is_of_it(byte))?;
    let to = bytes.iter().skip(from).position(|&byte| !is_of_it(byte)).map_or(bytes.len(), |length| from + length);
    Some(from..to)
}

fn number(bytes: &[u8], draws: &mut Draws) -> Option<std::ops::Range<usize>> {
    token(bytes, |byte| byte.is_ascii_digit() || byte == b'.', draws)
}

/// What stands between two quotes, else a word.
fn text(bytes: &[u8], draws: &mut Draws) -> Option<std::ops::Range<usize>> {
    let start = draws.below(bytes.len());
    let quote = |from: usize| bytes.iter().skip(from).position(|&byte| byte == b'"').map(|length| from + length);
    let quoted = quote(start).and_then(|open| Some(open + 1..quote(open + 1)?));
    quoted.or_else(|| token(bytes, |byte| byte.is_ascii_alphanumeric() || byte == b'_', draws))
}

fn replace(bytes: &mut Vec<u8>, range: std::ops::Range<usize>, by: &[u8]) {
    bytes.splice(range, by.iter().copied());
}

fn flip_bits(bytes: &mut [u8], draws: &mut Draws) {
    for _ in 0..=draws.below(8) {
        let at = draws.below(bytes.len());
        let bit = draws.below(8);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
}

fn cut(bytes: &mut Vec<u8>, draws: &mut Draws) {
    bytes.truncate(draws.below(bytes.len()));
}

fn delete_range(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let range = range(bytes, 200, draws);
    bytes.drain(range);
}

fn repeat_range(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let range = range(bytes, 2000, draws);
    let repeated = bytes[range.clone()].repeat(1 + draws.below(20));
    replace(bytes, range.end..range.end, &repeated);
}

fn insert_odd_bytes(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let at = draws.below(bytes.len() + 1);
    let odd = draws.one_of(ODD_BYTES);
    replace(bytes, at..at, odd);
}

fn append_odd_bytes(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let odd = draws.one_of(ODD_BYTES);
    bytes.extend_from_slice(odd);
}

fn overwrite_with_zeros(bytes: &mut [u8], draws: &mut Draws) {
    let range = range(bytes, 5000, draws);
    bytes[range].fill(0);
}

fn swap_lines(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let (one, other) = (line(bytes, draws), line(bytes, draws));
    swap(bytes, one, other);
}

fn swap_cells(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let (one, other) = (cell(bytes, draws), cell(bytes, draws));
    swap(bytes, one, other);
}

fn swap_texts(bytes: &mut Vec<u8>, draws: &mut Draws) {
    if let (Some(one), Some(other)) = (text(bytes, draws), text(bytes, draws)) {
        swap(bytes, one, other);
    }
}

fn swap(bytes: &mut Vec<u8>, one: std::ops::Range<usize>, other: std::ops::Range<usize>) {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    if first.end <= second.start {
        let (before, behind) = (bytes[first.clone()].to_vec(), bytes[second.clone()].to_vec());
        replace(bytes, second, &before);
        replace(bytes, first, &behind);
    }
}

fn delete_line(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let line = line(bytes, draws);
    bytes.drain(line);
}

fn repeat_line(bytes: &mut Vec<u8>, draws: &mut Draws) {
    repeat(bytes, 1, draws);
}

fn repeat_line_often(bytes: &mut Vec<u8>, draws: &mut Draws) {
    repeat(bytes, 2000, draws);
}

fn repeat(bytes: &mut Vec<u8>, times: usize, draws: &mut Draws) {
    let line = line(bytes, draws);
    let most = LARGEST_BYTES / line.len().max(1);
    let repeated = bytes[line.clone()].repeat(times.min(most));
    replace(bytes, line.end..line.end, &repeated);
}

fn replace_cell(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let cell = cell(bytes, draws);
    let by = if draws.one_in(2) { draws.one_of(TEXTS) } else { draws.one_of(NUMBERS) };
    replace(bytes, cell, by.as_bytes());
}

fn delete_cell(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let cell = cell(bytes, draws);
    bytes.drain(cell.start..(cell.end + 1).min(bytes.len()));
}

fn repeat_column_name(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let (from, to) = (cell(&bytes[..header], draws), cell(&bytes[..header], draws));
    let name = bytes[from].to_vec();
    replace(bytes, to, &name);
}

fn replace_number(bytes: &mut Vec<u8>, draws: &mut Draws) {
    if let Some(number) = number(bytes, draws) {
        replace(bytes, number, draws.one_of(NUMBERS).as_bytes());
    }
}

fn replace_text(bytes: &mut Vec<u8>, draws: &mut Draws) {
    if let Some(text) = text(bytes, draws) {
        replace(bytes, text, draws.one_of(TEXTS).as_bytes());
    }
}

fn lengthen_text(bytes: &mut Vec<u8>, draws: &mut Draws) {
    if let Some(text) = text(bytes, draws) {
        let length = *draws.one_of(&[300, 5_000, 131_073, 1 << 20]);
        replace(bytes, text.end..text.end, &vec![b'a'; length]);
    }
}

fn nest_deeply(bytes: &mut Vec<u8>, draws: &mut Draws) {
    if let Some(number) = number(bytes, draws) {
        let depth = *draws.one_of(&[20, 200, 5_000, 200_000]);
        let (open, close) = *draws.one_of(&[("[", "]"), ("{\"a\":", "}"), ("(", ")")]);
        replace(bytes, number, [open.repeat(depth), "1".to_owned(), close.repeat(depth)].concat().as_bytes());
    }
}

fn to_utf16(bytes: &mut Vec<u8>, _: &mut Draws) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
}

fn add_byte_order_mark(bytes: &mut Vec<u8>, _: &mut Draws) {
    replace(bytes, 0..0, b"\xef\xbb\xbf");
}

fn other_line_ends(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let end: &[u8] = if draws.one_in(2) { b"\r\n" } else { b"\r" };
    *bytes = bytes.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(end);
}

fn no_last_line_end(bytes: &mut Vec<u8>, _: &mut Draws) {
    while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.pop();
    }
}

fn empty(bytes: &mut Vec<u8>, _: &mut Draws) {
    bytes.clear();
}

fn yaml_alias(bytes: &mut Vec<u8>, draws: &mut Draws) {
    if let Some(text) = token(bytes, |byte| byte.is_ascii_alphanumeric(), draws) {
        let value = *draws.one_of(&[
            "&a [*a]",
            "*nobody",
            "&a &b x",
            "{<<: *a}",
            "? [a, b]",
            "|\n  a",
            "!!binary x",
            "!!set {a}",
        ]);
        replace(bytes, text, value.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_takes_anything() {
        let table = b"Input Shapes,Average Duration(us)\n\"16,5120;5120,768\",5.0\n\xff,\"a\n".to_vec();
        for (name, mutation) in MUTATIONS {
            let mut has_changed = false;
            for number in 0..50 {
                for bytes in [&b""[..], b"\n", b"1", b"\"", &table] {
                    let mut mutated = bytes.to_vec();
                    mutation(&mut mutated, &mut Draws::of(3, number));
                    has_changed |= mutated != bytes;
                }
            }
            assert!(has_changed, "{name} changes nothing");
        }
    }

    #[test]
    fn what_gzip_holds_is_mutated_too() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"{\"traceEvents\": []}").unwrap();
        let file = encoder.finish().unwrap();
        let within =
            (0..50).filter(|&number| mutate(&mut file.clone(), &mut Draws::of(1, number)).contains(&"within gzip"));
        assert!((10..40).contains(&within.count()));
    }
}
