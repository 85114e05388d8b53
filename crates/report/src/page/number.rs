//! Numbers as pages show them.

use perfdb_pycompat::format::{fixed, fixed_grouped};

/// From here on a number is shown by its magnitude.
const BY_MAGNITUDE: f64 = 1e15;

/// A number with thousands separated by commas; `–` where there is none.
///
/// ```
/// use perfdb_report::page::number::grouped;
/// assert_eq!(grouped(24931.44, 1), "24,931.4");
/// assert_eq!(grouped(f64::NAN, 1), "–");
/// ```
pub fn grouped(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "–".to_owned() } else { if value > 0.0 { "∞" } else { "−∞" }.to_owned() };
    }
    let text = if value.abs() < BY_MAGNITUDE { fixed_grouped(value, decimals) } else { format!("{value:.1e}") };
    match text.strip_prefix('-') {
        // −0.0 is 0.0.
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

/// A number with its unit: `1 case`, `2 cases`, `1.5 µs`.
pub(crate) fn counted(value: f64, decimals: usize, unit: &str) -> String {
    // Abbreviations have no plural.
    let is_word = unit.chars().count() > 3 && unit.chars().all(char::is_alphabetic);
    let one = unit.strip_suffix('s').filter(|_| is_word && value == 1.0);
    format!("{} {}", grouped(value, decimals), one.unwrap_or(unit))
}

/// [`grouped`] with a sign in front of what is above zero.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = grouped(value, decimals);
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value > 0.0 && !is_zero { format!("+{text}") } else { text }
}

/// A percentage with one decimal and its sign.
pub(crate) fn signed_percent(value: f64) -> String {
    format!("{} %", signed(value, 1))
}

/// A percentage with one decimal.
pub fn percent(value: f64) -> String {
    format!("{} %", grouped(value, 1))
}

/// A time for a sentence, in the unit that leaves three or four digits.
///
/// ```
/// use perfdb_report::page::number::time_us;
/// assert_eq!(time_us(24931.4), "24.93 ms");
/// assert_eq!(time_us(93.14), "93.1 µs");
/// ```
pub fn time_us(us: f64) -> String {
    let (value, unit) = match us.abs() {
        size if size >= 1e6 => (us / 1e6, "s"),
        size if size >= 1e3 => (us / 1e3, "ms"),
        _ => (us, "µs"),
    };
    let decimals = match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 10.0 && unit == "µs" => 1,
        _ => 2,
    };
    format!("{} {unit}", grouped(value, decimals))
}

/// A time for a page whose unit is µs.
///
/// ```
/// use perfdb_report::page::number::micros;
/// assert_eq!(micros(24931.44), "24,931.4 µs");
/// ```
pub fn micros(us: f64) -> String {
    format!("{} µs", grouped(us, 1))
}

/// A text whose times in `us` are in ms, for a page whose unit that is.
///
/// ```
/// use perfdb_report::page::number::in_ms;
/// assert_eq!(in_ms("20 x 256.81 us, -1,200 us"), "20 x 0.25681 ms, -1.2 ms");
/// assert_eq!(in_ms("10 GB; us"), "10 GB; us");
/// ```
pub fn in_ms(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(" us") {
        let (before, behind) = (&rest[..at], &rest[at + " us".len()..]);
        let is_digit = |character: char| character.is_ascii_digit() || matches!(character, '.' | ',');
        let begin = before.trim_end_matches(is_digit).len();
        let us = before[begin..].replace(',', "").parse::<f64>().ok();
        match us.filter(|_| !behind.starts_with(|next: char| next.is_alphanumeric())) {
            Some(us) => {
                let ms = fixed(us / 1e3, 5);
                out += &before[..begin];
                out += ms.trim_end_matches('0').trim_end_matches('.');
                out += " ms";
            }
            None => {
                out += before;
                out += " us";
            }
        }
        rest = behind;
    }
    out + rest
}

/// A size in bytes, in the binary unit that leaves the fewest digits.
///
/// ```
/// use perfdb_report::page::number::size_bytes;
/// assert_eq!(size_bytes(2097152.0), "2 MiB");
/// assert_eq!(size_bytes(1536.0), "1.5 KiB");
/// ```
pub fn size_bytes(bytes: f64) -> String {
    let mut value = bytes;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", short(value))
}

/// Labels below it would have no digit but zeros.
const SMALLEST_LABEL: f64 = 1e-4;

/// Few digits, for the labels of axes.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if size >= BY_MAGNITUDE || size > 0.0 && size < SMALLEST_LABEL {
        return format!("{value:.0e}");
    }
    let decimals = match size {
        size if size >= 100.0 || size.fract() == 0.0 => 0,
        size if size >= 1.0 => 1,
        size if size >= 0.01 => 2,
        _ => 4,
    };
    let text = fixed(value, decimals);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    if size >= 1e6 {
        format!("{}M", short(value / 1e6))
    } else if size >= 1e4 {
        format!("{}k", short(value / 1e3))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_case_is_no_plural() {
        let shown = [(1.0, "cases"), (2.0, "cases"), (1.0, "µs"), (1.5, "rows"), (1.0, "ms")];
        let shown = shown.map(|(value, unit)| counted(value, if value.fract() == 0.0 { 0 } else { 1 }, unit));
        assert_eq!(shown, ["1 case", "2 cases", "1 µs", "1.5 rows", "1 ms"]);
    }

    #[test]
    fn signs_and_zeros() {
        assert_eq!(signed(0.04, 1), "0.0");
        assert_eq!(signed(1234.56, 1), "+1,234.6");
        assert_eq!(grouped(-0.04, 1), "0.0");
        assert_eq!(grouped(-12.0, 0), "−12");
        assert_eq!(grouped(f64::INFINITY, 0), "∞");
        assert_eq!([grouped(1e300, 2), grouped(-2.5e15, 0)], ["1.0e300", "−2.5e15"]);
    }

    #[test]
    fn labels_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (20.0, "20"),
            (20_000.0, "20k"),
            (1.5e6, "1.5M"),
            (0.02, "0.02"),
            (1e300, "1e300"),
            (1e-4, "0.0001"),
            (1e-5, "1e-5"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
