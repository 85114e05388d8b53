//! Words without quotes that YAML 1.1 reads as something else than YAML 1.2, which takes them for texts.

/// `yes`, `no`, `on`, `off` and their capitalised forms.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Integers with underscores between their digits, and octal ones with a leading zero.
pub(super) fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let digits = digits.replace('_', "");
    let (radix, digits) = match digits.strip_prefix('0') {
        None | Some("") => (10, digits.as_str()),
        Some(rest) => match (rest.strip_prefix('x'), rest.strip_prefix('b')) {
            (Some(digits), _) => (16, digits),
            (_, Some(digits)) => (2, digits),
            _ => (8, rest),
        },
    };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_yaml_1_1() {
        let integers = [
            ("1_000", 1000),
            ("-1_0", -10),
            ("+1_", 1),
            ("010", 8),
            ("-017_7", -127),
            ("00", 0),
            ("0_0", 0),
            ("0x_f", 15),
            ("0b1_0", 2),
        ];
        for (text, value) in integers {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "-", "_1", "08", "1:30", "0x", "0b2", "1e3", "1.5", "--1", "0x-1", "MatMulV2"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }
}
