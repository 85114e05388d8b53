//! What a scalar means: the implicit types of YAML 1.1 as PyYAML resolves them, and the tags of the core schema.

use super::Node;

/// The value of an unquoted scalar without a tag.
pub(super) fn plain(text: &str) -> Node {
    if is_null(text) {
        return Node::Null;
    }
    if let Some(value) = boolean(text) {
        return Node::Boolean(value);
    }
    let starts_a_number = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'));
    let number = if starts_a_number { float(text).or_else(|| integer(text)) } else { None };
    number.unwrap_or_else(|| Node::Text(text.to_owned()))
}

/// The value of a scalar with the tag `!!name`, quoted or not; `None` if the text is none of that type.
pub(super) fn tagged(name: &str, text: &str) -> Option<Node> {
    match name {
        "str" | "timestamp" => Some(Node::Text(text.to_owned())),
        "null" => Some(Node::Null),
        "bool" => boolean(&text.to_ascii_lowercase()).map(Node::Boolean),
        "int" => integer(text),
        "float" => float(text).or_else(|| match integer(text)? {
            Node::Integer(value) => Some(Node::Float(value as f64)),
            other => Some(other),
        }),
        _ => None,
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Integers with underscores among their digits, octal ones with a leading zero, hexadecimal, binary and base 60.
fn integer(text: &str) -> Option<Node> {
    let (negative, digits) = sign(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if digits.contains(':') {
        return if digits.starts_with('0') { None } else { base_60(digits).map(|value| signed(negative, value)) };
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
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    match i128::from_str_radix(digits, radix) {
        Ok(value) => Some(signed(negative, value)),
        Err(_) => {
            let digit = |digit: char| f64::from(digit.to_digit(radix).unwrap_or_default());
            // Beyond 128 bits a double is as near as needed; in base 10 the nearest one.
            let magnitude = match radix {
                10 => digits.parse().ok()?,
                _ => digits.chars().fold(0.0, |sum, next| sum * f64::from(radix) + digit(next)),
            };
            Some(Node::Float(if negative { -magnitude } else { magnitude }))
        }
    }
}

fn signed(negative: bool, magnitude: i128) -> Node {
    Node::Integer(if negative { -magnitude } else { magnitude })
}

/// `12:30:45`: digits, then parts of up to 59.
fn base_60(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let first = parts.next()?.replace('_', "");
    parts.try_fold(first.parse::<i128>().ok()?, |sum, part| {
        sum.checked_mul(60)?.checked_add(i128::from(below_60(part)?))
    })
}

fn below_60(part: &str) -> Option<u8> {
    let well_formed = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    if well_formed { part.parse().ok() } else { None }
}

/// Numbers with a point. An exponent needs its sign, and a number that begins with the point must not have one.
fn float(text: &str) -> Option<Node> {
    let (negative, digits) = sign(text);
    let magnitude = match digits {
        ".inf" | ".Inf" | ".INF" => f64::INFINITY,
        ".nan" | ".NaN" | ".NAN" if digits == text => f64::NAN,
        _ => {
            let (whole, rest) = digits.split_once('.')?;
            let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
            if let Some((whole, last)) = whole.rsplit_once(':') {
                // Base 60 with a fraction.
                if !is_digits(rest) || !whole.starts_with(|first: char| first.is_ascii_digit()) {
                    return None;
                }
                let fraction: f64 = format!("{}.{}", below_60(last)?, rest.replace('_', "")).parse().ok()?;
                base_60(whole)? as f64 * 60.0 + fraction
            } else {
                let (fraction, exponent) = match rest.split_once(['e', 'E']) {
                    None => (rest, None),
                    Some((fraction, exponent)) => (fraction, Some(exponent)),
                };
                let starts_with_digit = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
                let well_formed = if whole.is_empty() {
                    digits == text && starts_with_digit(fraction)
                } else {
                    starts_with_digit(whole) && is_digits(whole)
                };
                let exponent_fits = exponent.is_none_or(|exponent| {
                    exponent
                        .strip_prefix(['+', '-'])
                        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
                });
                if !well_formed || !is_digits(fraction) || !exponent_fits {
                    return None;
                }
                let digits = digits.replace('_', "");
                digits.parse().ok()?
            }
        }
    };
    Some(Node::Float(if negative { -magnitude } else { magnitude }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_yaml_1_1() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("1_000", 1000),
            ("-1_0", -10),
            ("+1_", 1),
            ("010", 8),
            ("-017_7", -127),
            ("00", 0),
            ("0_0", 0),
            ("0x_f", 15),
            ("0b1_0", 2),
            ("1:30", 90),
            ("-1:30:05", -5405),
            ("170141183460469231731687303715884105727", i128::MAX),
        ] {
            assert_eq!(plain(text), Node::Integer(value), "{text}");
        }
        assert_eq!(plain("1000000000000000000000000000000000000000"), Node::Float(1e39));
    }

    #[test]
    fn floats_of_yaml_1_1() {
        for (text, value) in [
            ("1.", 1.0),
            ("09.5", 9.5),
            ("-1_0.2_5", -10.25),
            ("1.5e+3", 1500.0),
            (".5", 0.5),
            (".5e-1", 0.05),
            ("1:30.5", 90.5),
            ("-.inf", f64::NEG_INFINITY),
            ("+.INF", f64::INFINITY),
        ] {
            assert_eq!(plain(text), Node::Float(value), "{text}");
        }
        assert!(matches!(plain(".NaN"), Node::Float(value) if value.is_nan()));
    }

    #[test]
    fn what_looks_like_a_number_to_others_is_a_text() {
        for text in [
            "1e3",
            "1.5e3",
            "0o17",
            "1.5e",
            "1.e",
            "-.5",
            "+.5",
            "-.nan",
            ".",
            "-",
            "+",
            "_1",
            "08",
            "0x",
            "0b2",
            "--1",
            "0x-1",
            "01:30",
            "1:60",
            "1:3:",
            "1:3a",
            ".e+1",
            "1.2.3",
            "inf",
            "nan",
            "1-2",
            "2024-01-05",
            "MatMulV2",
            "YeS",
            "y",
            "nUll",
        ] {
            assert_eq!(plain(text), Node::Text(text.to_owned()), "{text}");
        }
    }

    #[test]
    fn tags_decide_whatever_the_quotes() {
        assert_eq!(tagged("str", "5"), Some(Node::Text("5".into())));
        assert_eq!(tagged("bool", "NO"), Some(Node::Boolean(false)));
        assert_eq!(tagged("null", "x"), Some(Node::Null));
        assert_eq!(tagged("int", "0x10"), Some(Node::Integer(16)));
        assert_eq!(tagged("float", "3"), Some(Node::Float(3.0)));
        assert_eq!(
            [tagged("int", "x"), tagged("bool", "1"), tagged("float", ""), tagged("binary", "")],
            [const { None }; 4]
        );
    }
}
