//! The words of the expression language.

use super::SyntaxError;

/// One word of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Integer(i128),
    Name(&'a str),
    Symbol(&'static str),
    End,
}

/// Longer symbols first: the first that fits is taken.
const SYMBOLS: [&str; 16] = ["**", "//", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

/// Cuts `text` into words; the last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '0'..='9' => integer(rest)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = name_length(rest);
                (Token::Name(&rest[..length]), length)
            }
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Token::Symbol(symbol), symbol.len()),
                None => return Err(SyntaxError::Refused(first.to_string())),
            },
        };
        found.push(token);
        rest = rest[length..].trim_start_matches(is_blank);
    }
    found.push(Token::End);
    Ok(found)
}

pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// The integer at the start of `text`, and how many bytes it takes.
fn integer(text: &str) -> Result<(Token<'_>, usize), SyntaxError> {
    let prefix = text.get(..2).unwrap_or_default();
    let (radix, start) = match prefix {
        "0x" | "0X" => (16, 2),
        "0o" | "0O" => (8, 2),
        "0b" | "0B" => (2, 2),
        _ => (10, 0),
    };
    let length = text.bytes().skip(start).take_while(|byte| *byte == b'_' || char::from(*byte).is_digit(radix)).count();
    let digits = &text[start..start + length];
    // `1_000` and `0x_ff` are numbers; `1__0`, `1_` and `0x` are not. `0128` might have been meant as octal.
    let separated =
        digits.split('_').skip(usize::from(start > 0 && digits.starts_with('_'))).all(|part| !part.is_empty());
    let zeros_lead = radix == 10
        && digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    let tail = &text[start + length..];
    let word = &tail[..name_length(tail)];
    let number_ends = word.is_empty() || matches!(word, "if" | "else" | "and" | "or" | "not");
    if !separated || zeros_lead || !number_ends {
        return Err(SyntaxError::Refused(text[..start + length + word.len()].to_owned()));
    }
    let plain = digits.replace('_', "");
    let value = i128::from_str_radix(&plain, radix).map_err(|_| SyntaxError::OutOfRange(digits.to_owned()))?;
    Ok((Token::Integer(value), start + length))
}
