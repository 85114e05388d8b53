//! Predictions of fused experts: `--semantics best`.

use perfdb_model::predict::Experts;
use perfdb_query::{Argument, Class, DType, Database, Layer, Query, ReaderSemantics, Source, Tensor};
use std::fmt::Write;

/// Microseconds of fused experts of one rank: a call, the weights of all experts, the routed rows.
fn experts_us([tokens, hidden, intermediate, experts, top_k]: [i64; 5]) -> f64 {
    let weights = (3 * experts * hidden * intermediate) as f64;
    20.0 + weights / 1.5e6 + (6 * tokens * top_k * hidden * intermediate) as f64 / EXPERT_RANKS as f64 / 3e8
}

const EXPERT_RANKS: i64 = 16;

fn experts_database(by_expert: bool) -> (tempfile::TempDir, Database) {
    let mut table = "Input Shapes,Input Data Types,Input Formats,EP Size,Average Duration(us)\n".to_owned();
    for tokens in [4, 16, 64, 256, 1024, 4096] {
        for hidden in [4096, 7168] {
            for intermediate in [1024, 2048] {
                for experts in [8, 16] {
                    for top_k in [4, 8] {
                        let first = format!("{experts},{hidden},{}", 2 * intermediate);
                        let second = format!("{experts},{intermediate},{hidden}");
                        let scales = if by_expert {
                            format!("{experts},{};{experts},{hidden}", 2 * intermediate)
                        } else {
                            format!("{};{}", 2 * experts * intermediate, experts * hidden)
                        };
                        let us = experts_us([tokens, hidden, intermediate, experts, top_k]);
                        writeln!(
                            table,
                            "\"{tokens},{hidden};{first};{second};{tokens},{top_k};{scales};{tokens},{top_k}\",\
                             DT_BF16;INT8;INT8;INT32;INT64;INT64;FLOAT,ND;ND;ND;ND;ND;ND;ND,{EXPERT_RANKS},{us}"
                        )
                        .expect("a string");
                    }
                }
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("DispatchFFNCombine.csv"), table).expect("a file");
    let mapping = "operator_mappings:\n  tensor_cast.dispatch_ffn_combine_quant.default: \
                   {kernel_type: DispatchFFNCombine, query_mode: moe_fused, project_full_shape: true}\n";
    std::fs::write(folder.path().join("op_mapping.yaml"), mapping).expect("a file");
    let database = Database::open(folder.path()).expect("a database");
    (folder, database)
}

fn fused_experts([tokens, hidden, intermediate, experts, top_k]: [i64; 5]) -> Query {
    let weights = |rows: i64, columns: i64| {
        let one = || Argument::Tensor(Tensor::new([rows, columns], DType::Int8));
        Argument::List((0..experts).map(|_| one()).collect())
    };
    let mut arguments = vec![
        Argument::Tensor(Tensor::new([tokens, hidden], DType::BFloat16)),
        Argument::Tensor(Tensor::new([tokens, top_k], DType::Int32)),
        weights(hidden, 2 * intermediate),
    ];
    arguments.extend((0..4).map(|_| Argument::None));
    arguments.push(weights(intermediate, hidden));
    Query::operator("tensor_cast.dispatch_ffn_combine_quant.default").arguments(arguments).ep_size(EXPERT_RANKS)
}

#[test]
fn experts_with_a_row_of_scales_for_each_are_found() {
    let sizes = [64, 7168, 2048, 16, 8];
    let answer = |by_expert, semantics| {
        let (_folder, database) = experts_database(by_expert);
        database.reader(semantics, Layer::Measured).lookup(&fused_experts(sizes)).map(|answer| {
            assert_eq!((answer.source, answer.rule), (Source::Measured, Some("projected_full_shape")));
            answer.duration_us
        })
    };
    for semantics in [ReaderSemantics::Best, ReaderSemantics::Corrected] {
        assert_eq!(answer(true, semantics), Ok(experts_us(sizes)));
        assert_eq!(answer(false, semantics), Ok(experts_us(sizes)));
    }
    // The simulator's reader takes scales of all experts one after another only.
    assert!(answer(true, ReaderSemantics::Upstream).is_err());
}

#[test]
fn fused_experts_are_predicted_over_all_their_sizes() {
    let (_folder, database) = experts_database(false);
    let best = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    for (sizes, class) in [
        // Tokens, hidden and intermediate size, experts of a rank, top-k.
        ([64, 7168, 2048, 16, 8], Class::Measured),
        ([100, 7168, 2048, 16, 8], Class::Inside),
        ([8192, 7168, 2048, 16, 8], Class::Beyond),
        ([100, 5120, 1536, 12, 6], Class::NewConfiguration),
    ] {
        let answer = best.lookup(&fused_experts(sizes)).expect("an answer");
        let (truth, prediction) = (experts_us(sizes), answer.prediction().expect("an interval"));
        assert_eq!(prediction.class, class, "{sizes:?}");
        assert!((answer.duration_us / truth - 1.0).abs() < 0.1, "{sizes:?}: {} for {truth}", answer.duration_us);
        assert!(prediction.low_us <= truth && truth <= prediction.high_us, "{sizes:?}: {prediction:?}");
    }
    let slices = database.slices("DispatchFFNCombine").expect("a table").expect("a table");
    let axes: Vec<&[&str]> = slices.iter().map(|slice| slice.axes.as_slice()).collect();
    assert_eq!(axes, [["tokens", "hidden", "intermediate", "experts", "top_k"]]);
    // The places are of one rank, their work that of one rank of all.
    for (place, ..) in slices.iter().flat_map(|slices| &slices.slices).flatten() {
        let [tokens, hidden, intermediate, experts, top_k] = place.axes[..] else { panic!("{place:?}") };
        let ranks = EXPERT_RANKS as f64;
        let all = Experts {
            tokens,
            hidden,
            intermediate,
            top_k,
            experts: experts * ranks,
            tensor_parallel: 1.0,
            expert_parallel: ranks,
        };
        assert_eq!(place.work, all.work(1.0));
    }
}
