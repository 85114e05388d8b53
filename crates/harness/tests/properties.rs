//! Tries each property with its seeds and with mutations of them. `PROPTEST_CASES` says with how many.

use libtest_mimic::{Arguments, Failed, Trial};
use perfdb_harness::properties::{PROPERTIES, Property, seeds};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A change of bytes. Places are fractions of the length, so that changes keep their meaning when others are left out.
#[derive(Debug, Clone)]
enum Edit {
    Cut(Index),
    Delete(Index, usize),
    Repeat(Index, usize, usize),
    Insert(Index, Vec<u8>),
    Overwrite(Index, u8),
    Flip(Index, u8),
    Move(Index, usize, Index),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |index: &Index| index.index(bytes.len() + 1);
        let piece = |start: usize, length: usize| start..(start + length).min(bytes.len());
        match self {
            Edit::Cut(place) => bytes.truncate(at(place)),
            Edit::Delete(place, length) => drop(bytes.drain(piece(at(place), *length))),
            Edit::Repeat(place, length, times) => {
                let piece = piece(at(place), *length);
                let repeated = bytes[piece.clone()].repeat(*times);
                bytes.splice(piece.end..piece.end, repeated);
            }
            Edit::Insert(place, text) => {
                let at = at(place);
                bytes.splice(at..at, text.iter().copied());
            }
            Edit::Overwrite(place, byte) => {
                let at = at(place);
                if let Some(found) = bytes.get_mut(at) {
                    *found = *byte;
                }
            }
            Edit::Flip(place, bit) => {
                let at = at(place);
                if let Some(found) = bytes.get_mut(at) {
                    *found ^= 1 << bit;
                }
            }
            Edit::Move(from, length, to) => {
                let taken: Vec<u8> = bytes.drain(piece(at(from), *length)).collect();
                let to = to.index(bytes.len() + 1);
                bytes.splice(to..to, taken);
            }
        }
    }
}

fn edit(words: &'static [&'static str]) -> impl Strategy<Value = Edit> {
    let place = any::<Index>;
    let word = (0..words.len()).prop_map(move |word| words[word].as_bytes().to_vec());
    prop_oneof![
        1 => place().prop_map(Edit::Cut),
        3 => (place(), 1..40usize).prop_map(|(at, length)| Edit::Delete(at, length)),
        2 => (place(), 1..20usize, 1..80usize).prop_map(|(at, length, times)| Edit::Repeat(at, length, times)),
        6 => (place(), word).prop_map(|(at, word)| Edit::Insert(at, word)),
        1 => (place(), vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Overwrite(at, byte)),
        2 => (place(), 0..8u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        2 => (place(), 1..40usize, place()).prop_map(|(from, length, to)| Edit::Move(from, length, to)),
    ]
}

fn inputs(property: &Property, seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> + use<> {
    let some = vec(edit(property.words), 0..8);
    let mutated = (0..seeds.len(), some).prop_map(move |(seed, edits)| {
        let mut bytes = seeds[seed].clone();
        edits.iter().for_each(|edit| edit.apply(&mut bytes));
        bytes
    });
    let words = property.words;
    let of_words = vec(0..words.len(), 0..12)
        .prop_map(move |chosen| chosen.into_iter().map(|word| words[word]).collect::<String>().into_bytes());
    prop_oneof![6 => mutated, 2 => of_words, 1 => vec(any::<u8>(), 0..200)]
}

fn holds(property: &Property, bytes: &[u8]) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| (property.check)(bytes))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panics").to_owned()
    })
}

fn holds_for_seeds(property: &Property) -> Result<(), Failed> {
    for (number, seed) in seeds(property.name)?.iter().enumerate() {
        holds(property, seed).map_err(|reason| format!("seed {number}: {reason}"))?;
    }
    Ok(())
}

fn holds_for_mutations(property: &Property) -> Result<(), Failed> {
    try_mutations(property, |bytes| holds(property, bytes))
}

fn try_mutations(property: &Property, holds: impl Fn(&[u8]) -> Result<(), String>) -> Result<(), Failed> {
    let inputs = inputs(property, seeds(property.name)?);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let result = runner.run(&inputs, |bytes| holds(&bytes).map_err(TestCaseError::fail));
    Ok(result.map_err(|error| error.to_string())?)
}

/// What does not hold for some mutations is found, and the input is shown.
fn failures_are_found() -> Result<(), Failed> {
    let property = perfdb_harness::properties::find("literals").ok_or("it is missing")?;
    let refuses = |bytes: &[u8]| if bytes.contains(&b'#') { Err("a comment".to_owned()) } else { Ok(()) };
    match try_mutations(property, refuses) {
        Err(failed) if failed.message().is_some_and(|text| text.contains("a comment") && text.contains("35")) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let trials = PROPERTIES.iter().flat_map(|property| {
        [
            Trial::test(format!("{} of seeds", property.name), move || holds_for_seeds(property)),
            Trial::test(format!("{} of mutations", property.name), move || holds_for_mutations(property)),
        ]
    });
    let own = Trial::test("failures are found", failures_are_found);
    libtest_mimic::run(&arguments, trials.chain([own]).collect()).exit_code()
}
