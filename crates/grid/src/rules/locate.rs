//! Finds the line of a place in a YAML text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::read::Step;

/// The line, from 1, on which the value at `place` stands, or the innermost value around it that can be found.
pub(super) fn line(text: &str, place: &[Step]) -> Option<usize> {
    // The walk ends in an error at the place, and the parser knows where it was.
    let deserializer = serde_yaml::Deserializer::from_str(text);
    let found = Walk(place).deserialize(deserializer).err()?;
    found.location().map(|location| location.line())
}

struct Walk<'a>(&'a [Step]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the place that is looked for")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Item(index), rest)) = self.0.split_first() else {
            return Err(A::Error::custom("here"));
        };
        for _ in 0..*index {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(Walk(rest))?;
        Err(A::Error::custom("around here"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.0.split_first() else {
            return Err(A::Error::custom("here"));
        };
        while let Some(key) = entries.next_key::<String>()? {
            if key == *wanted {
                entries.next_value_seed(Walk(rest))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Err(A::Error::custom("around here"))
    }
}
