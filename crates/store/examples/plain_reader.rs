//! The least a reader of profiles has to do: every record once through the `csv` crate, 26 numbers of a row read, one hash map of
//! groups. What `benches/targets.py` measures parse-kernel-details against.

use rustc_hash::FxHashMap;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut groups: FxHashMap<Vec<u8>, (u64, [f64; 26])> = FxHashMap::default();
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            match path.file_name().and_then(|name| name.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("kernel_details.csv") => read(&path, &mut groups)?,
                _ => {}
            }
        }
    }
    let rows: u64 = groups.values().map(|group| group.0).sum();
    println!("{rows} rows, {} groups", groups.len());
    Ok(())
}

fn read(path: &PathBuf, groups: &mut FxHashMap<Vec<u8>, (u64, [f64; 26])>) -> Result<(), Box<dyn std::error::Error>> {
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 18).from_path(path)?;
    let header = reader.byte_headers()?.clone();
    let column = |name: &str| header.iter().position(|cell| cell == name.as_bytes()).ok_or(format!("no column {name}"));
    let key_columns = [column("Type")?, column("Input Shapes")?, column("Output Shapes")?];
    let numbers: Vec<usize> = (0..header.len()).rev().take(26).collect();
    let mut record = csv::ByteRecord::new();
    let mut key = Vec::new();
    while reader.read_byte_record(&mut record)? {
        key.clear();
        for column in key_columns {
            key.extend_from_slice(&record[column]);
            key.push(0xff);
        }
        let mut values = [0.0; 26];
        for (value, &column) in values.iter_mut().zip(&numbers) {
            *value = std::str::from_utf8(&record[column])?.trim().parse().unwrap_or(0.0);
        }
        if !groups.contains_key(&key) {
            groups.insert(key.clone(), (0, [0.0; 26]));
        }
        if let Some((count, sums)) = groups.get_mut(&key) {
            *count += 1;
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    Ok(())
}
