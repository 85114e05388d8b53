//! Defects of files as such.

use std::io::Write;

use super::random::Random;

type Defect = (&'static str, &'static [&'static str], fn(&str, &mut Random) -> Vec<u8>);

pub(crate) fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("in memory");
    encoder.finish().expect("in memory")
}

/// A place between the events of the text, and not among the first or last ones.
fn inside(text: &str, random: &mut Random) -> usize {
    random.within(text.len() / 10, text.len() * 9 / 10)
}

/// Puts something behind a place where `before` stands.
fn behind(text: &str, before: &str, what: &[u8], random: &mut Random) -> Vec<u8> {
    let from = inside(text, random);
    let at = from + text[from..].find(before).expect("the text has it") + before.len();
    [&text.as_bytes()[..at], what, &text.as_bytes()[at..]].concat()
}

pub(crate) const DEFECTS: &[Defect] = &[
    ("truncated", &["TRUNCATED_JSON"], |text, random| text.as_bytes()[..inside(text, random)].to_vec()),
    ("gzip truncated", &["GZIP_TRUNCATED"], |text, random| {
        let packed = packed(text.as_bytes());
        packed[..random.within(packed.len() / 2, packed.len() - 1)].to_vec()
    }),
    ("gzip damaged", &["GZIP_CORRUPT", "GZIP_TRUNCATED"], |text, random| {
        let mut packed = packed(text.as_bytes());
        let at = random.within(packed.len() / 2, packed.len() - 8);
        packed[at] ^= 1 << random.below(8);
        packed
    }),
    ("gzip and more", &["GZIP_TRAILING"], |text, _| [packed(text.as_bytes()), b"more".to_vec()].concat()),
    ("utf-16", &["UTF16"], |text, random| {
        let mark = if random.below(2) == 0 { "\u{feff}" } else { "" };
        format!("{mark}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
    }),
    ("mark", &["BYTE_ORDER_MARK"], |text, _| format!("\u{feff}{text}").into_bytes()),
    ("no utf-8", &["INVALID_UTF8"], |text, random| behind(text, "\"name\": \"", b"\xe2\x82", random)),
    ("control", &["CONTROL_CHARACTERS"], |text, random| behind(text, "\"name\": \"", b"\t", random)),
    ("nan", &["BARE_NONFINITE"], |text, random| {
        let words: [&[u8]; 4] = [b"\"x\": nan, ", b"\"x\": [-Infinity], ", b"\"x\": NaN, ", b"\"x\": inf, "];
        let word = *random.pick(&words);
        behind(text, "\"ph\": \"X\", ", word, random)
    }),
    ("key twice", &["DUPLICATE_KEYS"], |text, random| behind(text, "\"args\": {", b"\"y\": 1, \"y\": 2, ", random)),
    ("comma lost", &["MALFORMED_JSON"], |text, random| {
        let from = inside(text, random);
        let at = from + text[from..].find(", \"ts\"").expect("the text has it");
        [&text.as_bytes()[..at], &text.as_bytes()[at + 1..]].concat()
    }),
    ("more behind", &["TRAILING_DATA"], |text, _| format!("{text}}}").into_bytes()),
    ("no event", &["BAD_EVENTS"], |text, random| behind(text, "}},\n", b"7, ", random)),
    ("time as text", &["TEXT_TIMES"], |text, random| {
        let from = inside(text, random);
        let at = from + text[from..].find("\"ts\": ").expect("the text has it") + 6;
        let end = at + text[at..].find(',').expect("the text has it");
        format!("{}\"{}\"{}", &text[..at], &text[at..end], &text[end..]).into_bytes()
    }),
    ("pointer", &["LFS_POINTER"], |_, _| {
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n".to_vec()
    }),
    ("empty", &["EMPTY_FILE"], |_, _| b" \n ".to_vec()),
    ("other", &["NOT_A_TRACE"], |_, _| b"{\"a\": [1, 2]}".to_vec()),
];
