//! Ids of trace events: numbers or texts, equal when they are equal as JSON values.

use rustc_hash::FxHashMap;

use crate::scan::Value;
use crate::time::Decimal;

/// An id in eight bytes: small integers stand for themselves, everything else is an entry of an [`IdTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(i64);

/// Integers up to here stand for themselves.
const PLAIN: i64 = 1 << 60;

impl Id {
    /// No id.
    pub const MISSING: Id = Id(i64::MAX);

    /// The id 0.
    pub const ZERO: Id = Id(0);

    /// True unless the event has no id.
    pub fn is_there(self) -> bool {
        self != Id::MISSING
    }

    /// The id as a small integer, if it is one.
    pub fn number(self) -> Option<i64> {
        (self.0.abs() <= PLAIN).then_some(self.0)
    }

    /// Place in the table of the others.
    fn entry(self) -> Option<usize> {
        (self.is_there() && self.0 > PLAIN).then(|| (self.0 - PLAIN - 1) as usize)
    }

    /// The id of a small integer.
    pub fn of(number: u32) -> Id {
        Id(i64::from(number))
    }

    /// The id of a negative integer: -1, -2 and so on for 0, 1.
    pub fn negative(number: u32) -> Id {
        Id(-1 - i64::from(number))
    }

    /// The id of an integer that stands for itself.
    fn of_integer(number: i64) -> Option<Id> {
        (-PLAIN..=PLAIN).contains(&number).then_some(Id(number))
    }

    /// The integer of a number's text without decimals and exponent.
    pub fn plain(number: &[u8]) -> Option<Id> {
        let (negative, digits) = match number.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, number),
        };
        if digits.len() > 18 || digits.is_empty() {
            return None;
        }
        let mut value: i64 = 0;
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + i64::from(digit);
        }
        (value <= PLAIN).then_some(Id(if negative { -value } else { value }))
    }
}

/// Ids that are not small integers: texts, fractions, very large numbers.
#[derive(Debug, Default)]
pub struct IdTable {
    ids: FxHashMap<String, Id>,
    texts: Vec<String>,
}

impl IdTable {
    /// The id of a number.
    pub fn number(&mut self, number: &[u8]) -> Id {
        if let Some(id) = Id::plain(number) {
            return id;
        }
        let Some(decimal) = Decimal::parse(number) else { return Id::MISSING };
        let digits = String::from_utf8_lossy(&decimal.digits);
        if (0..19).contains(&decimal.exponent) && decimal.digits.len() < 19 {
            let whole =
                format!("{}{digits}{}", if decimal.negative { "-" } else { "" }, "0".repeat(decimal.exponent as usize));
            if let Some(id) = Id::plain(whole.as_bytes()) {
                return id;
            }
        }
        if decimal.digits.is_empty() {
            return Id(0);
        }
        self.entry(format!("n{}{digits}e{}", if decimal.negative { "-" } else { "" }, decimal.exponent))
    }

    /// The id of an integer.
    pub fn integer(&mut self, number: i64) -> Id {
        Id::of_integer(number).unwrap_or_else(|| self.number(number.to_string().as_bytes()))
    }

    /// The id of a text.
    pub fn text(&mut self, text: &str) -> Id {
        self.entry(format!("t{text}"))
    }

    /// The id that a value of an event is; missing where it is neither a number nor a text.
    pub fn value(&mut self, value: Option<Value<'_>>) -> Id {
        match value {
            Some(Value::Number(number)) => self.number(number.raw()),
            Some(Value::Text(text)) => self.text(&text.decode_lossy()),
            _ => Id::MISSING,
        }
    }

    /// The id in this table of an id of another table.
    pub fn adopt(&mut self, id: Id, from: &IdTable) -> Id {
        match id.entry().and_then(|at| from.texts.get(at)) {
            Some(text) => self.entry(text.clone()),
            None => id,
        }
    }

    /// The text of an id: small integers and texts as they are, other numbers by digits and power of ten.
    pub fn shown(&self, id: Id) -> String {
        if let Some(number) = id.number() {
            return number.to_string();
        }
        let text = id.entry().and_then(|at| self.texts.get(at));
        text.and_then(|text| text.get(1..)).unwrap_or_default().to_owned()
    }

    /// True when every id stands for itself.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    fn entry(&mut self, text: String) -> Id {
        if let Some(id) = self.ids.get(&text) {
            return *id;
        }
        let id = Id(PLAIN + 1 + self.texts.len() as i64);
        self.texts.push(text.clone());
        self.ids.insert(text, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_json_values_are_equal_ids() {
        let mut table = IdTable::default();
        let five = table.number(b"5");
        assert_eq!(five, table.number(b"5.0"));
        assert_eq!(five, table.number(b"0.5e1"));
        assert_ne!(five, table.text("5"));
        assert_eq!(table.number(b"-0"), table.number(b"0.000"));
        assert_eq!(table.number(b"12345678901234567890123"), table.number(b"12345678901234567890123.0"));
        assert_ne!(table.number(b"12345678901234567890123"), table.number(b"12345678901234567890124"));
        assert_eq!(table.number(b"1.5"), table.number(b"15e-1"));
        assert_eq!(table.number(b"1000000000000000000"), table.number(b"1e18"));
        assert_eq!(table.number(b"NaN"), Id::MISSING);
        for number in [0, -7, 42, PLAIN, i64::MIN, i64::MAX] {
            let id = table.integer(number);
            assert_eq!((id.is_there(), id), (true, table.integer(number)), "{number}");
        }
        assert_eq!(table.integer(-7), table.number(b"-7"));
        assert!(table.text("").is_there());
    }

    #[test]
    fn ids_move_between_tables() {
        let mut first = IdTable::default();
        let mut second = IdTable::default();
        first.text("x");
        let text = first.text("y");
        let adopted = second.adopt(text, &first);
        assert_eq!(adopted, second.text("y"));
        let number = first.number(b"7");
        assert_eq!(second.adopt(number, &first), number);
        assert_eq!(second.adopt(Id::MISSING, &first), Id::MISSING);
    }
}
