//! The grids that rules refer to by name.

const WIDTHS: [i128; 37] = [
    128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1728, 1792, 2048, 2304, 2560, 3072, 3456, 3584,
    4096, 4608, 5120, 6144, 6912, 7168, 8192, 10240, 12288, 13824, 14336, 16384, 18432, 27648, 28672, 55296,
];

const ROWS: [i128; 37] = [
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384,
    512, 768, 1024, 2048, 4096, 8192, 16384, 32768,
];

/// `ELEM_TOKENS_GRID`, which a generator uses too.
pub(crate) const TOKENS: [i128; 13] = [1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768];

const PADDED_TOKENS: [i128; 25] =
    [1, 2, 3, 4, 5, 6, 7, 9, 15, 31, 63, 127, 129, 255, 257, 511, 513, 1023, 1025, 2047, 2049, 4095, 4097, 8191, 8193];

const SEQUENCES: [i128; 15] = [1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];

/// `MOE_TOKENS_GRID`, which two generators use too.
pub(crate) const EXPERT_TOKENS: [i128; 17] =
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

const NAMED: [(&str, &[i128]); 11] = [
    ("NK_GRID", &WIDTHS),
    ("M_GRID", &ROWS),
    ("ELEM_TOKENS_GRID", &TOKENS),
    ("ELEM_HIDDEN_GRID", &WIDTHS),
    ("PAD_TOKENS_GRID", &PADDED_TOKENS),
    ("HEADS_GRID", &[1, 2, 3, 4, 5, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 128]),
    ("HEAD_DIM_GRID", &[64, 128, 256]),
    ("KV_HEADS_GRID", &[1, 2, 4, 8, 16, 32]),
    ("ATTN_SEQ_GRID", &SEQUENCES),
    ("ATTN_BATCH_GRID", &[1, 2, 4, 8, 16, 32, 48, 64, 128]),
    ("MOE_TOKENS_GRID", &EXPERT_TOKENS),
];

/// The values of a named grid.
///
/// ```
/// assert_eq!(perfdb_grid::grids::named("HEAD_DIM_GRID"), Some(&[64, 128, 256][..]));
/// assert_eq!(perfdb_grid::grids::named("NO_GRID"), None);
/// ```
#[must_use]
pub fn named(name: &str) -> Option<&'static [i128]> {
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, values)| *values)
}

/// The names of all grids.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _)| *name)
}
