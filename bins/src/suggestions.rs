//! Values near to one that is not known: those that share most of its words, before those that share most of its letters.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Puts values of the same family in the place of the ones that clap suggests: `ATLAS_800_A3` is no A2.
pub(crate) fn suggest_by_words(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidValue {
        return;
    }
    let (Some(ContextValue::String(given)), Some(ContextValue::Strings(valid))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
    else {
        return;
    };
    let near = near(given, valid);
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedValue, ContextValue::Strings(near));
    }
}

/// The values that have the most words in common with `given`, if they have more than one word in common or all of its words.
fn near(given: &str, valid: &[String]) -> Vec<String> {
    let words = words_of(given);
    let shared = |value: &String| {
        let own = words_of(value);
        words.iter().filter(|word| own.contains(word)).count()
    };
    let most = valid.iter().map(shared).max().unwrap_or_default();
    if most < words.len().min(2) || most == 0 {
        return Vec::new();
    }
    valid.iter().filter(|value| shared(value) == most).cloned().collect()
}

fn words_of(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_suggested_by_their_family() {
        let devices =
            ["TEST_DEVICE", "ATLAS_800_A2_376T_64G", "ATLAS_800_A2_280T_64G", "ATLAS_800_A3_752T_128G_DIE", "HOST_CPU"];
        let devices = devices.map(str::to_owned);
        for (given, expected) in [
            ("ATLAS_800_A3", &["ATLAS_800_A3_752T_128G_DIE"][..]),
            ("a3", &["ATLAS_800_A3_752T_128G_DIE"]),
            ("Atlas 800 A3 999T", &["ATLAS_800_A3_752T_128G_DIE"]),
            ("A2_280T", &["ATLAS_800_A2_280T_64G"]),
            ("ATLAS_A2", &["ATLAS_800_A2_376T_64G", "ATLAS_800_A2_280T_64G"]),
            ("HSOT", &[]),
            ("", &[]),
        ] {
            assert_eq!(near(given, &devices), expected, "{given}");
        }
    }
}
