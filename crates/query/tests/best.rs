//! Predictions with intervals: `--semantics best`.

use perfdb_model::predict::{Collective, MatMul, Operands, Point, Precision, Rows, Table};
use perfdb_query::{Argument, Class, DType, Database, Layer, Query, ReaderSemantics, Source, Tensor, answer_to_json};
use std::fmt::Write;

#[path = "best/physics.rs"]
mod physics;

const MAPPING: &str = "operator_mappings:\n  \
    aten.mm.default: {kernel_type: MatMulV2}\n  \
    two.default: {composite: true, sub_kernels: [MatMulV2, hcom_allReduce_]}\n  \
    tensor_cast.all_reduce.default: {kernel_type: hcom_allReduce_, category: communication}\n";

/// Microseconds of a product: 3 for the call, then 300 GFLOP/s.
fn product_us(rows: i64, inner: i64, columns: i64) -> f64 {
    3.0 + 2.0 * (rows * inner * columns) as f64 / 3e8
}

fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for rows in [1, 4, 16, 64, 256, 1024, 4096] {
        for inner in [256, 512, 1024, 2048] {
            for columns in [256, 1024, 4096] {
                let us = product_us(rows, inner, columns);
                writeln!(table, "\"{rows},{inner};{inner},{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
            }
        }
    }
    std::fs::write(folder.path().join("MatMulV2.csv"), table).expect("a file");
    let mut sizes = "message_bytes,num_devices,topology_tier,Average Duration(us)\n".to_owned();
    for devices in [2, 4, 8, 16] {
        for power in 10..24 {
            let us = 5.0 + f64::from(devices) + f64::from(1 << power) / 1e4;
            writeln!(sizes, "{},{devices},0,{us}", 1 << power).expect("a string");
        }
    }
    std::fs::write(folder.path().join("hcom_allReduce_.csv"), sizes).expect("a file");
    std::fs::write(folder.path().join("op_mapping.yaml"), MAPPING).expect("a file");
    let database = Database::open(folder.path()).expect("a database");
    (folder, database)
}

fn product(rows: i64, inner: i64, columns: i64) -> Query {
    Query::operator("aten.mm.default")
        .input(Tensor::new([rows, inner], DType::BFloat16))
        .input(Tensor::new([inner, columns], DType::BFloat16))
}

#[test]
fn an_exact_row_is_measured_and_has_an_interval() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let corrected = database.reader(ReaderSemantics::Corrected, Layer::Interpolating);
    let query = product(64, 512, 1024);
    let answer = best.lookup(&query).expect("a row");
    assert_eq!(answer.duration_us, corrected.lookup(&query).expect("a row").duration_us);
    let prediction = answer.prediction().expect("an interval");
    assert_eq!((answer.source, prediction.class), (Source::Measured, Class::Measured));
    assert!(prediction.low_us < answer.duration_us && answer.duration_us < prediction.high_us);
    assert_eq!(corrected.lookup(&query).expect("a row").prediction(), None);
}

#[test]
fn between_beyond_and_beside_rows_are_predicted() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    for ((rows, inner, columns), class) in [
        ((100, 512, 1024), Class::Inside),
        ((16384, 512, 1024), Class::Beyond),
        ((64, 768, 2048), Class::NewConfiguration),
    ] {
        let answer = best.lookup(&product(rows, inner, columns)).expect("a prediction");
        let truth = product_us(rows, inner, columns);
        let prediction = answer.prediction().expect("an interval");
        assert_eq!((prediction.class, answer.source), (class, Source::Interpolated));
        assert!((answer.duration_us / truth - 1.0).abs() < 0.05, "{} for {truth}", answer.duration_us);
        assert!(prediction.low_us <= answer.duration_us && answer.duration_us <= prediction.high_us);
        assert!(prediction.sentence.contains("of the fitted roofline"), "{}", prediction.sentence);
        assert_eq!(prediction.rows[0].0, answer.rows[0]);
        let json = answer_to_json(&Ok(answer));
        assert_eq!(json["class"], class.name());
    }
}

#[test]
fn an_explanation_names_rows_by_their_lines_alone() {
    let (_folder, database) = database();
    let (answer, explanation) =
        database.reader(ReaderSemantics::Best, Layer::Interpolating).explain(&product(64, 768, 2048));
    let prediction = answer.expect("a prediction").prediction().expect("an interval").clone();
    let (estimate, _) =
        prediction.sentence.split_once(", no measured row has this configuration").expect("a new configuration");
    let note = format!("new configuration: {estimate}");
    assert!(explanation.lines.iter().any(|line| line.trim() == note), "{:?}", explanation.lines);
}

#[test]
fn doubt_names_a_slice_of_the_table() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let doubt = |rows| {
        let answer = best.lookup(&product(rows, 512, 1024)).expect("an answer");
        answer.prediction().expect("an interval").doubt.clone()
    };
    assert_eq!(doubt(64), None);
    let (near, far) = (doubt(100).expect("a prediction"), doubt(65536).expect("a prediction"));
    assert!(near.sigma < far.sigma, "{near:?} {far:?}");
    let slices = database.slices("MatMulV2").expect("a table").expect("a table");
    let [slices] = slices.as_slice() else { panic!("{} sets of axes", slices.len()) };
    assert_eq!((slices.slices.len(), slices.axes.as_slice()), (1, ["M", "N", "K"].as_slice()));
    assert_eq!(slices.slices[0].len(), 84);
    let first = slices.slices[0].iter().map(|(_, line, _)| *line).min();
    assert_eq!((Some(near.slice_row), Some(far.slice_row)), (first, first));
    assert_eq!(database.slices("NoSuch").expect("no error"), None);
}

#[test]
fn a_sum_has_the_interval_of_its_parts() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let ranks = || Argument::List((0..4).map(Argument::Integer).collect());
    // The message of 100 rows lies between those that are known, that of 64 is one of them.
    for (rows, inner, class) in [
        (100, 512, Class::Inside),
        (64, 512, Class::Measured),
        (64, 8192, Class::NewConfiguration),
        (8192, 2048, Class::Beyond),
    ] {
        let query = Query::operator("two.default")
            .input(Tensor::new([rows, inner], DType::BFloat16))
            .input(Tensor::new([inner, 1024], DType::BFloat16))
            .argument(ranks())
            .tier(0);
        let answer = best.lookup(&query).expect("a sum");
        let prediction = answer.prediction().expect("an interval");
        assert_eq!((answer.parts().len(), prediction.class), (2, class), "{rows} {inner}: {answer:?}");
        assert!(prediction.low_us < answer.duration_us && answer.duration_us < prediction.high_us);
    }
}

/// A database of one table.
fn database_of(name: &str, table: &str, mapping: &str) -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(format!("{name}.csv")), table).expect("a file");
    std::fs::write(folder.path().join("op_mapping.yaml"), format!("operator_mappings:\n  {mapping}\n"))
        .expect("a file");
    let database = Database::open(folder.path()).expect("a database");
    (folder, database)
}

#[test]
fn a_measured_row_is_as_sure_as_its_calls_agree() {
    const HEADER: &str = "Input Shapes,Input Data Types,Input Formats,Average Duration(us),Profiling Average Duration(us),Profiling Std Duration(us)";
    let rows = "\"16,512;512,768\",DT_BF16;DT_BF16,ND;ND,10,12,2.4\n\"32,512;512,768\",DT_BF16;DT_BF16,ND;ND,11,12,0\n\
                \"64,512;512,768\",DT_BF16;DT_BF16,ND;ND,11,,\n";
    let (_folder, database) = database_of(
        "MatMulV2",
        &format!("{HEADER}\n{rows}"),
        "aten.mm.default: {kernel_type: MatMulV2}\n  two.default: {composite: true, sub_kernels: [MatMulV2]}",
    );
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let ratio = |rows| {
        let answer = best.lookup(&product(rows, 512, 768)).expect("a row");
        let prediction = answer.prediction().expect("an interval");
        assert_eq!(prediction.class, Class::Measured);
        (prediction.high_us / prediction.low_us).sqrt().ln()
    };
    // A fifth of the mean, nine of ten of a log-normal distribution.
    assert!((ratio(16) - 1.645 * (1.04f64).ln().sqrt()).abs() < 1e-6, "{}", ratio(16));
    // One call alone, or none, tells nothing: the default of a short kernel.
    assert!((ratio(32) - 0.04).abs() < 1e-9 && (ratio(64) - 0.04).abs() < 1e-9);
}

#[test]
fn rows_that_do_not_tell_are_as_sure_as_their_like() {
    let (_folder, database) = database();
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let half = |query: &Query| {
        let answer = best.lookup(query).expect("a row");
        let prediction = answer.prediction().expect("an interval");
        assert_eq!(prediction.class, Class::Measured);
        (prediction.high_us / answer.duration_us).ln()
    };
    let ranks = || Argument::List([0, 1].map(Argument::Integer).to_vec());
    let message = Query::operator("tensor_cast.all_reduce.default")
        .input(Tensor::new([1 << 19], DType::BFloat16))
        .argument(ranks())
        .tier(0);
    // 3 µs, 32 µs, and 112 µs of a collective.
    assert!((half(&product(1, 256, 256)) - 0.04).abs() < 1e-9);
    assert!((half(&product(4096, 1024, 1024)) - 0.02).abs() < 1e-9);
    assert!((half(&message) - 0.054).abs() < 1e-9, "{}", half(&message));
    // The parts of a sum have the same: a kernel and its collective do not err alike.
    let both = Query::operator("two.default")
        .input(Tensor::new([4096, 1024], DType::BFloat16))
        .input(Tensor::new([1024, 1024], DType::BFloat16))
        .argument(ranks())
        .tier(0);
    let sum = best.lookup(&both).expect("a sum");
    let (product_us, message_us) = (sum.parts()[0].duration_us, sum.parts()[1].duration_us);
    assert!(sum.parts().iter().all(|part| part.source == Source::Measured), "{:?}", sum.parts());
    let upper = (product_us * (0.02f64.exp() - 1.0)).hypot(message_us * (0.054f64.exp() - 1.0));
    let high_us = sum.prediction().expect("an interval").high_us;
    assert!((high_us - sum.duration_us - upper).abs() < 1e-9, "{high_us}, not {}", sum.duration_us + upper);
}

#[test]
fn a_norm_is_predicted_over_rows_and_columns() {
    let us = |rows: i64, columns: i64| 2.0 + (rows * columns) as f64 / 1e5;
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for rows in [1, 16, 64, 256, 1024, 4096] {
        for columns in [512, 1024, 2048, 8192] {
            let us = us(rows, columns);
            writeln!(table, "\"{rows},{columns};{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
        }
    }
    let (_folder, database) =
        database_of("RmsNorm", &table, "tensor_cast.rms_norm.default: {kernel_type: RmsNorm, input_count: 2}");
    let query = |rows, columns| {
        Query::operator("tensor_cast.rms_norm.default")
            .input(Tensor::new([rows, columns], DType::BFloat16))
            .input(Tensor::new([columns], DType::BFloat16))
    };
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    for ((rows, columns), class) in
        [((500, 1024), Class::Inside), ((500, 4096), Class::NewConfiguration), ((9000, 2048), Class::Beyond)]
    {
        let answer = best.lookup(&query(rows, columns)).expect("a prediction");
        let truth = us(rows, columns);
        assert!((answer.duration_us / truth).ln().abs() < 0.05, "{} for {truth}", answer.duration_us);
        assert_eq!(answer.prediction().expect("an interval").class, class);
        assert_eq!(answer.interpolation().expect("places").axes.as_slice(), ["rows", "columns"]);
    }
    let slices = database.slices("RmsNorm").expect("a table").expect("a table");
    assert_eq!(slices.iter().map(|slices| slices.slices.len()).collect::<Vec<_>>(), [1]);
}

#[test]
fn rows_of_another_type_are_learnt_from_apart() {
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for rows in [1, 16, 64, 256, 1024] {
        for columns in [512, 2048] {
            let us = product_us(rows, 512, columns);
            writeln!(table, "\"{rows},512;512,{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
            writeln!(table, "\"{rows},512;512,{columns}\",FLOAT;FLOAT,ND;ND,{}", 3.0 * us).expect("a string");
        }
    }
    let (_folder, database) = database_of("MatMulV2", &table, "aten.mm.default: {kernel_type: MatMulV2}");
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    for (dtype, factor) in [(DType::BFloat16, 1.0), (DType::Float32, 3.0)] {
        let query = Query::operator("aten.mm.default")
            .input(Tensor::new([100, 512], dtype))
            .input(Tensor::new([512, 2048], dtype));
        let answer = best.lookup(&query).expect("a prediction");
        let truth = factor * product_us(100, 512, 2048);
        assert!((answer.duration_us / truth).ln().abs() < 0.05, "{} for {truth}", answer.duration_us);
    }
    let slices = database.slices("MatMulV2").expect("a table").expect("a table");
    assert_eq!(slices.iter().map(|slices| slices.slices.len()).collect::<Vec<_>>(), [2]);
    assert!(database.evaluate("MatMulV2").expect("a table").expect("a table").repeats.is_empty());
}

/// A table of products in two types: many of the first, few of the second, which take 0.6 times as long.
fn two_types_table() -> String {
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for (number, (rows, inner, columns)) in two_types_sizes().enumerate() {
        let us = product_us(rows, inner, columns);
        writeln!(table, "\"{rows},{inner};{inner},{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
        if number % 19 == 0 {
            let us = 0.6 * us;
            writeln!(table, "\"{rows},{inner};{inner},{columns}\",INT8;INT8,ND;ND,{us}").expect("a string");
        }
    }
    table
}

fn two_types_sizes() -> impl Iterator<Item = (i64, i64, i64)> {
    let weights = || [512, 1024, 2048].into_iter().flat_map(|inner| [512, 2048, 8192].map(|columns| (inner, columns)));
    [1, 8, 64, 512, 2048, 8192].into_iter().flat_map(move |rows| weights().map(move |(k, n)| (rows, k, n)))
}

#[test]
fn a_small_slice_is_learnt_from_together_with_the_others() {
    let (_folder, database) = database_of("MatMulV2", &two_types_table(), "aten.mm.default: {kernel_type: MatMulV2}");
    let place = |rows: i64, inner: i64, columns: i64, precision| {
        let product = MatMul { rows: rows as f64, columns: columns as f64, inner: inner as f64 };
        Point::matmul(product, Operands { output_bytes: 2.0, ..Operands::of(precision) })
    };
    let (mut many, mut few) = (Rows::new(3), Rows::new(3));
    for (number, (rows, inner, columns)) in two_types_sizes().enumerate() {
        let us = product_us(rows, inner, columns);
        many.push(number as u32, &place(rows, inner, columns, Precision::Bf16), us, None);
        if number % 19 == 0 {
            few.push(100 + number as u32, &place(rows, inner, columns, Precision::Int8), 0.6 * us, None);
        }
    }
    let alone = Table::new(vec![few.clone()], Some(0));
    let together = Table::new(vec![many, few], Some(0));
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let ask = |rows, inner, columns| {
        let query = Query::operator("aten.mm.default")
            .input(Tensor::new([rows, inner], DType::Int8))
            .input(Tensor::new([inner, columns], DType::Int8));
        best.lookup(&query).expect("a prediction")
    };
    let mut errors = [0.0; 2];
    for (rows, inner, columns) in [(256, 512, 1024), (4096, 2048, 2048), (32, 1024, 8192)] {
        let answer = ask(rows, inner, columns);
        let place = place(rows, inner, columns, Precision::Int8);
        let expected = together.predict(1, &place).expect("a prediction");
        let prediction = answer.prediction().expect("an interval");
        assert_eq!(answer.duration_us, expected.duration_us);
        assert_eq!((prediction.low_us, prediction.high_us), (expected.low_us, expected.high_us));
        assert_ne!(prediction.class, Class::Measured);
        let truth = 0.6 * product_us(rows, inner, columns);
        let apart = alone.predict(0, &place).expect("a prediction").duration_us;
        for (error, us) in errors.iter_mut().zip([answer.duration_us, apart]) {
            *error += (us / truth).ln().abs();
        }
        let places = &answer.interpolation().expect("places").points;
        assert!(places.iter().all(|place| place.coordinates.len() == 3), "{places:?}");
    }
    assert!(errors[0] < 0.5 * errors[1], "{errors:?}");
    // Rows of another type are no rows of this one.
    assert_ne!(ask(64, 1024, 2048).prediction().expect("an interval").class, Class::Measured);
}

#[test]
fn a_row_of_another_type_at_the_sizes_that_are_asked_is_named_with_its_share() {
    // Both types take up to a third more or less at some sizes; one size is known of the second type alone.
    let sizes: Vec<(i64, i64, i64)> = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        .into_iter()
        .flat_map(|rows| [512, 1024, 2048].map(|inner| (rows, inner)))
        .flat_map(|(rows, inner)| [512, 1024, 2048].map(|columns| (rows, inner, columns)))
        .collect();
    let asked = 40;
    let scatter = |number: usize| [1.0, 1.3, 0.8, 1.15, 0.75, 1.2, 0.9][number * 5 % 7 * (number % 3 + 1) % 7];
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for (number, &(rows, inner, columns)) in sizes.iter().enumerate() {
        let us = product_us(rows, inner, columns) * scatter(number);
        if number != asked {
            writeln!(table, "\"{rows},{inner};{inner},{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
        }
    }
    for (number, &(rows, inner, columns)) in sizes.iter().enumerate() {
        let us = 2.0 * product_us(rows, inner, columns) * scatter(number);
        writeln!(table, "\"{rows},{inner};{inner},{columns}\",FLOAT16;FLOAT16,ND;ND,{us}").expect("a string");
    }
    let (_folder, database) = database_of("MatMulV2", &table, "aten.mm.default: {kernel_type: MatMulV2}");
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let (rows, inner, columns) = sizes[asked];
    let found = best.lookup(&product(rows, inner, columns));
    let answer = found.as_ref().expect("a prediction");
    let truth = product_us(rows, inner, columns) * scatter(asked);
    assert!((answer.duration_us / truth).ln().abs() < 0.02, "{} for {truth}", answer.duration_us);
    let prediction = answer.prediction().expect("an interval");
    let collocated = prediction.collocated.as_ref().expect("a row of the other type");
    // The heading, the rows of the first type but one, and those of the second up to it.
    let line = 1 + sizes.len() - 1 + asked + 1;
    assert_eq!(collocated.row.line as usize, line);
    assert!((0.9..=1.0).contains(&collocated.share) && collocated.excess.abs() > 0.05, "{collocated:?}");
    assert!(
        prediction.sentence.contains(&format!("; row {line} (same sizes, other data type) is ")),
        "{}",
        prediction.sentence
    );
    let json = answer_to_json(&found);
    assert_eq!(json["same_sizes"]["row"], format!("MatMulV2.csv:{line}"));
    assert_eq!(json["same_sizes"]["share"], collocated.share);
    // A size that neither type has rests on rows of its own type alone.
    let between = best.lookup(&product(100, 1024, 1024)).expect("a prediction");
    assert_eq!(between.prediction().expect("an interval").collocated, None);
}

#[test]
fn tiers_of_a_collective_are_learnt_from_together() {
    let mut table = "message_bytes,num_devices,topology_tier,Average Duration(us)\n".to_owned();
    let mut tiers = [Rows::new(2), Rows::new(2)];
    let mut line = 1;
    for (tier, rows) in tiers.iter_mut().enumerate() {
        for devices in [2, 4, 8] {
            for power in (10..24).filter(|power| tier == 0 || power % 5 == 0) {
                line += 1;
                let us = (1.0 + tier as f64) * (5.0 + f64::from(devices) + f64::from(1 << power) / 1e4);
                writeln!(table, "{},{devices},{tier},{us}", 1 << power).expect("a string");
                let call = Collective { message_bytes: f64::from(1 << power), ranks: f64::from(devices) };
                rows.push(line, &Point::collective(call), us, None);
            }
        }
    }
    let mapping = "tensor_cast.all_reduce.default: {kernel_type: hcom_allReduce_, category: communication}";
    let (_folder, database) = database_of("hcom_allReduce_", &table, mapping);
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let query = Query::operator("tensor_cast.all_reduce.default")
        .input(Tensor::new([3 << 17], DType::BFloat16))
        .argument(Argument::List((0..4).map(Argument::Integer).collect()))
        .tier(1);
    let answer = best.lookup(&query).expect("a prediction");
    let call = Collective { message_bytes: f64::from(3 << 18), ranks: 4.0 };
    let expected = Table::new(tiers.to_vec(), Some(0)).predict(1, &Point::collective(call)).expect("a prediction");
    assert_eq!(answer.duration_us, expected.duration_us);
}

#[test]
fn a_row_that_its_neighbours_contradict_is_an_outlier() {
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    let mut line = 1;
    let mut wrong = 0;
    for rows in [1, 4, 16, 64, 256, 1024, 4096] {
        for columns in [256, 512, 1024, 2048, 4096] {
            line += 1;
            let mut us = product_us(rows, 512, columns) * (1.0 + 0.01 * f64::from(line % 5));
            if (rows, columns) == (64, 1024) {
                (us, wrong) = (100.0 * us, line);
            }
            writeln!(table, "\"{rows},512;512,{columns}\",DT_BF16;DT_BF16,ND;ND,{us}").expect("a string");
        }
    }
    let (folder, _) = database_of("MatMulV2", &table, "aten.mm.default: {kernel_type: MatMulV2}");
    let found = perfdb_query::outliers(folder.path()).expect("a database");
    assert_eq!(found.iter().map(|outlier| outlier.line).collect::<Vec<_>>(), [wrong as u32], "{found:?}");
    assert!((found[0].measured_us / found[0].predicted_us / 100.0).ln().abs() < 0.3, "{found:?}");
}
