use super::*;
use proptest::prelude::*;

/// The vectors of the original reader.
const VECTORS: &str = include_str!("../../../../testdata/golden/lookup/signatures.json");

#[test]
fn signatures_are_those_of_the_vectors() -> Result<(), Box<dyn std::error::Error>> {
    let vectors: serde_json::Value = serde_json::from_str(VECTORS)?;
    let cases = vectors["cases"].as_array().ok_or("no cases")?;
    assert!(cases.len() > 30);
    for case in cases {
        let cell = |name: &str| case["row"][name].as_str().unwrap_or_default();
        let cells = Cells {
            input_shapes: cell("Input Shapes"),
            input_types: cell("Input Data Types"),
            input_formats: cell("Input Formats"),
            output_shapes: cell("Output Shapes"),
            output_types: cell("Output Data Types"),
            ep_size: cell("EP Size"),
        };
        let rules = match case["op"].as_str() {
            Some(operator) => Rules::new(operator, Variant::Database),
            None => Rules::of_row(cell("OP Type"), cell("OP State"), Variant::Database),
        };
        let signature = rules.signature(&cells);
        let expected: Vec<&str> =
            case["signature"].as_array().ok_or("no signature")?.iter().filter_map(|part| part.as_str()).collect();
        assert_eq!(signature.parts().collect::<Vec<_>>(), expected, "{case}");
        assert_eq!(Some(cells.text_form().as_str()), case["text"].as_str());
    }
    Ok(())
}

#[test]
fn output_types_of_matmuls_do_not_count_in_the_grid() {
    let row = Cells { input_shapes: "2,3;3,4", output_shapes: "2,4", output_types: "A", ..Cells::default() };
    let other = Cells { output_types: "B", ..row };
    let (grid, database) = (Rules::new("MatMulV2", Variant::ShapeGrid), Rules::new("MatMulV2", Variant::Database));
    assert_eq!(grid.signature(&row), grid.signature(&other));
    assert_ne!(database.signature(&row), database.signature(&other));
}

#[test]
fn whitespace_inside_quotes_of_a_slot_is_trimmed() {
    let row = Cells { input_shapes: "4;5", input_types: "A;\" B \"", input_formats: "X;Y", ..Cells::default() };
    let signature = Rules::new("Add", Variant::Database).signature(&row);
    assert_eq!(signature.parts().collect::<Vec<_>>(), ["4;5", "A;B", "X;Y", "", ""]);
}

#[test]
fn the_inner_dimension_is_found_where_no_orientation_fits() {
    use super::matmul::fitting;
    // Rows stand in the second input as well: the other common dimension is the inner one.
    assert_eq!(fitting([24, 512], [24, 512], [24, 99]), Some([24, 512, 99]));
    assert_eq!(fitting([99, 512], [512, 7], [24, 99]), Some([24, 512, 99]));
    // Both common dimensions are those of the output: which one is summed over cannot be told.
    assert_eq!(fitting([5, 3], [5, 3], [3, 5]), None);
    assert_eq!(fitting([5, 3], [7, 9], [5, 7]), None);
    assert_eq!(fitting([8, 8], [8, 8], [8, 8]), Some([8, 8, 8]));
}

#[test]
fn products_are_those_of_matmuls_alone() {
    let product = |operator| Rules::new(operator, Variant::ShapeGrid).product([24, 512], [512, 4096], [24, 4096]);
    assert_eq!(product("MatMulV2"), Some([24, 512, 4096]));
    assert_eq!(product("Add"), None);
    let takes_all = |operator| Rules::new(operator, Variant::ShapeGrid).takes_all_shapes();
    assert!(takes_all("MatMulV2") && takes_all("Add") && takes_all("DispatchFFNCombine"));
    assert!(!takes_all("Index") && !takes_all("Slice"));
}

#[test]
fn cells_of_a_row_are_those_of_its_columns() -> Result<(), crate::Error> {
    use crate::table::{ReadOptions, Table};
    let text = "EP Size,Output Data Types,Output Shapes,Input Formats,Input Data Types,Input Shapes,x\n6,5,4,3,2,1,x\n";
    let table = Table::parse("T.csv".as_ref(), text.into(), &ReadOptions::database())?;
    let cells = SignatureColumns::of(&table).cells(table.row(0));
    let [input_shapes, input_types, input_formats, output_shapes, output_types, ep_size] =
        ["1", "2", "3", "4", "5", "6"];
    let expected = Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size };
    assert_eq!(cells, expected);
    let table = Table::parse("T.csv".as_ref(), "x\n1\n".into(), &ReadOptions::database())?;
    assert_eq!(SignatureColumns::of(&table).cells(table.row(0)), Cells::default());
    Ok(())
}

proptest! {
    #[test]
    fn the_short_way_agrees_with_the_general_one(
        input_shapes in "\"?[1-3]{1,2}(,[1-3]){0,2}(;[1-3]{0,2}(,[1-3])?){0,2}\"?",
        input_types in "\"?[A-B/]{0,2}(;[A-B ]{0,2}){0,3}\"?",
        input_formats in "[A-B]{0,2}(;[A-B]{0,2}){0,2}",
        output_shapes in "\"?[1-3]{0,2}(,[1-3]){0,2}(;[1-3]{0,2}){0,2}\"?",
        output_types in "[A-B]{0,2}(;[A-B]{0,2}){0,2}",
    ) {
        let [input_shapes, input_types, input_formats, output_shapes, output_types] =
            [&input_shapes, &input_types, &input_formats, &output_shapes, &output_types];
        let cells = Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size: "" };
        let rules = Rules::new("Add", Variant::Database);
        prop_assert_eq!(rules.signature(&cells), rules.general(&cells));
    }

    #[test]
    fn any_cells_have_a_signature(cells in prop::array::uniform5("[0-9A;,\"() x]{0,12}"), operator in "MatMulV2|Index|Slice|Add") {
        let [input_shapes, input_types, input_formats, output_shapes, output_types] = &cells;
        let cells = Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size: "" };
        for variant in [Variant::Database, Variant::ShapeGrid] {
            let signature = Rules::new(&operator, variant).signature(&cells);
            prop_assert!(signature.parts().len() >= 4);
        }
    }
}
