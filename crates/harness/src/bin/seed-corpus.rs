//! Writes the inputs to start from: `seed-corpus FOLDER` makes a folder for each property there.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: seed-corpus FOLDER")?;
    for property in perfdb_harness::properties::PROPERTIES {
        let corpus = Path::new(&folder).join(property.name);
        std::fs::create_dir_all(&corpus)?;
        for (number, seed) in perfdb_harness::properties::seeds(property.name)?.into_iter().enumerate() {
            std::fs::write(corpus.join(format!("seed-{number}")), seed)?;
        }
        let words =
            property.words.iter().map(|word| format!("\"{}\"\n", word.bytes().map(escaped).collect::<String>()));
        std::fs::write(Path::new(&folder).join(format!("{}.dict", property.name)), words.collect::<String>())?;
    }
    Ok(())
}

/// A byte as dictionaries of libFuzzer have it.
fn escaped(byte: u8) -> String {
    match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    }
}
