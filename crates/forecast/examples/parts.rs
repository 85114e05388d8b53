//! Parts of forecasts of points, for fitting: POINTS MODELS DATABASES.
use perfdb_forecast::serving::{Calibration, Part, Source, points};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let list = points::read(Path::new(&arguments[1]))?;
    let mut sources = points::Sources::new(Path::new(&arguments[2]), Path::new(&arguments[3]), Calibration::built_in()?);
    for (point, found) in list.iter().zip(sources.forecast(&list)) {
        match found {
            Ok(found) => {
                let part = |part: Part| format!("{}\t{}", found.decode.part_ms(part), found.prefill.part_ms(part));
                let source = |s: Source| format!("{}", found.decode.source_ms(s) / found.decode.total_ms());
                println!("{}\tok\t{}\t{}\t{}\t{}", point.id, Part::ALL.map(part).join("\t"), Source::ALL.map(source).join("\t"), found.decode.total_ms(), format!("{}\t{}", found.prefill.total_ms(), found.decode.sums()));
            }
            Err(error) => println!("{}\t{error}", point.id),
        }
    }
    Ok(())
}
