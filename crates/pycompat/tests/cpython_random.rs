//! The reference outputs of CPython 3.11's `random.Random`, vector by vector.

use std::path::Path;
use std::str::FromStr;

use num_bigint::{BigInt, BigUint};
use perfdb_pycompat::random::Random;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn vectors() -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/generate-shape-grid/cpython_random.json");
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    file["vectors"].as_array().expect("a list of vectors").clone()
}

fn seeded(vector: &Value) -> Random {
    Random::from_seed(&BigInt::from_str(vector["seed"].as_str().expect("seeds are texts")).expect("a seed"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a count"))
}

/// Either the whole list, or its SHA-256 where it is long.
fn assert_list(expected: &Value, got: &[u64], what: &str) {
    if let Some(list) = expected["result"].as_array() {
        assert_eq!(list.iter().map(number).collect::<Vec<_>>(), got, "{what}");
    } else {
        let joined = got.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let digest = Sha256::digest(joined.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(expected["sha256"].as_str().expect("a digest"), digest, "{what}");
    }
}

/// `arguments` are the start, the stop and, if it is not 1, the step.
fn range(arguments: &[i64], generator: &mut Random) -> i64 {
    let (start, stop) = (arguments[0], arguments[1]);
    let step = arguments.get(2).copied().unwrap_or(1);
    let values = if step > 0 { (stop - start + step - 1) / step } else { (start - stop - step - 1) / -step };
    let drawn = generator.below(u64::try_from(values).expect("a range that is not empty"));
    start + step * i64::try_from(drawn).expect("small")
}

fn integers(list: &Value) -> Vec<i64> {
    list.as_array().expect("a list").iter().map(|item| item.as_i64().expect("an integer")).collect()
}

fn shuffled(generator: &mut Random, length: u64) -> Vec<u64> {
    let mut items = (0..length).collect::<Vec<_>>();
    generator.shuffle(&mut items);
    items
}

#[test]
fn seeding_and_words() {
    for vector in vectors() {
        let mut generator = seeded(&vector);
        for expected in vector["getrandbits_32_x10"].as_array().expect("ten words") {
            assert_eq!(number(expected), generator.bits(32), "seed {}", vector["seed"]);
        }
        // Across the end of the first block of 624 words.
        let mut generator = seeded(&vector);
        for _ in 1..623 {
            generator.bits(32);
        }
        for expected in vector["getrandbits_32_number_623_to_627"].as_array().expect("five words") {
            assert_eq!(number(expected), generator.bits(32), "seed {}", vector["seed"]);
        }
    }
}

#[test]
fn bits_of_any_number() {
    for vector in vectors() {
        let (mut generator, mut narrow) = (seeded(&vector), seeded(&vector));
        for entry in vector["getrandbits_sequence"].as_array().expect("pairs") {
            let bits = u32::try_from(number(&entry[0])).expect("a number of bits");
            let expected = BigUint::from_str(entry[1].as_str().expect("a text")).expect("digits");
            assert_eq!(expected, generator.big_bits(bits), "seed {}, {bits} bits", vector["seed"]);
            if bits <= 64 {
                assert_eq!(expected, BigUint::from(narrow.bits(bits)), "seed {}, {bits} bits", vector["seed"]);
            } else {
                narrow.big_bits(bits);
            }
        }
    }
}

#[test]
fn numbers_below_a_limit() {
    for vector in vectors() {
        let mut generator = seeded(&vector);
        for entry in vector["randbelow_sequence"].as_array().expect("pairs") {
            let expected = BigUint::from_str(entry[1].as_str().expect("a text")).expect("digits");
            let got = match entry[0].as_u64() {
                Some(limit) => BigUint::from(generator.below(limit)),
                // The only limit in the vectors beyond 64 bits; serde_json reads it as a double.
                None => generator.big_below(&(BigUint::from(1_u8) << 64)),
            };
            assert_eq!(expected, got, "seed {}, below {}", vector["seed"], entry[0]);
        }
        let mut generator = seeded(&vector);
        for entry in vector["randrange_sequence"].as_array().expect("quadruples") {
            let entry = integers(entry);
            assert_eq!(entry[3], range(&entry[..3], &mut generator), "seed {}", vector["seed"]);
        }
    }
}

#[test]
fn fractions() {
    for vector in vectors() {
        let mut generator = seeded(&vector);
        for entry in vector["random_x6"].as_array().expect("six") {
            assert_eq!(entry["value"].as_f64(), Some(generator.unit()), "seed {}", vector["seed"]);
        }
    }
}

#[test]
fn samples_by_pool_and_by_set() {
    for vector in vectors() {
        for entry in vector["sample"].as_array().expect("samples") {
            let mut generator = seeded(&vector);
            let (population, count) = (number(&entry["n"]), number(&entry["k"]));
            let what = format!("seed {}, sample {population} {count}", vector["seed"]);
            assert_list(entry, &generator.sample(population, count), &what);
            assert_eq!(number(&entry["next_getrandbits_32"]), generator.bits(32), "after {what}");
        }
    }
}

#[test]
fn shuffles() {
    for vector in vectors() {
        for entry in vector["shuffle"].as_array().expect("shuffles") {
            let mut generator = seeded(&vector);
            let length = number(&entry["n"]);
            assert_list(
                entry,
                &shuffled(&mut generator, length),
                &format!("seed {}, shuffle {length}", vector["seed"]),
            );
            assert_eq!(number(&entry["next_getrandbits_32"]), generator.bits(32));
        }
    }
}

#[test]
fn one_generator_in_turn() {
    for vector in vectors() {
        let mut generator = seeded(&vector);
        for entry in vector["one_generator_in_turn"].as_array().expect("steps") {
            let what = format!("seed {}, {entry}", vector["seed"]);
            if let Some(arguments) = entry.get("sample") {
                let drawn = generator.sample(number(&arguments["n"]), number(&arguments["k"]));
                assert_list(entry, &drawn, &what);
            } else if let Some(bits) = entry.get("getrandbits") {
                let drawn = generator.bits(u32::try_from(number(bits)).expect("a number of bits"));
                assert_eq!(number(&entry["result"]), drawn, "{what}");
            } else if let Some(arguments) = entry.get("randrange") {
                assert_eq!(entry["result"].as_i64(), Some(range(&integers(arguments), &mut generator)), "{what}");
            } else {
                // The fraction is given as hexadecimal digits: two draws of 27 and 26 bits.
                let hexadecimal = entry["random"].as_str().unwrap_or_else(|| panic!("an unknown step: {what}"));
                assert_eq!(from_hexadecimal(hexadecimal), generator.unit(), "{what}");
            }
        }
    }
}

/// The value of a text like `0x1.8ec8a7946de92p-2`.
fn from_hexadecimal(text: &str) -> f64 {
    let (mantissa, exponent) = text.trim_start_matches("0x").split_once('p').expect("an exponent");
    let (whole, fraction) = mantissa.split_once('.').expect("a point");
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).expect("digits");
    let exponent: i32 = exponent.parse().expect("an exponent");
    digits as f64 * 2f64.powi(exponent - 4 * i32::try_from(fraction.len()).expect("short"))
}
