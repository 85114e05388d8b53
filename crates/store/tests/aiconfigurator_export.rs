//! Databases in the layout of AIConfigurator, and back.

use perfdb_files::lock::LockOptions;
use perfdb_store::parquet::aiconfigurator::{Choices, Exported, Place, export, import};
use perfdb_store::parquet::{Error, ParquetFile};
use perfdb_store::table::{ReadOptions, Table};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Nobody else is at work here.
const LOCK: LockOptions<'static> = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };

fn export_as(database: &Path, target: &Path, place: Option<&str>) -> Result<Exported, Error> {
    let place: Option<Place> = place.map(|place| place.parse().expect("a place"));
    export(database, target, place.as_ref(), &LOCK)
}

/// The files below a folder, by their paths.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(folder).expect("a path below").to_owned();
                found.insert(below, String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned());
            }
        }
    }
    found
}

fn column(path: &Path, name: &str) -> String {
    format!("{:?}", ParquetFile::open(path).and_then(|file| file.read_column(name)).expect("a column"))
}

/// Two halves of an exchange, a kernel with sizes alone, and repeats.
fn source(folder: &Path) -> TestResult {
    let write = |family: &str, name: &str, text: &str| -> TestResult {
        let folder = folder.join("gpu").join(family).join("vllm/1.0");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), text)?;
        Ok(())
    };
    write(
        "sparse_attention",
        "dsa_context_module_perf.txt",
        "framework,kernel_source,op_name,model,gemm_type,batch_size,isl,step,latency\n\
         VLLM,fla,dsa_context_module,deepseek-ai/V3,fp8_block,2,128,0,0.00531\n\
         VLLM,fla,dsa_context_module,deepseek-ai/V3,fp8_block,4,128,0,0.0125\n",
    )?;
    write(
        "comm",
        "wideep_deepep_ll_perf.txt",
        "hidden_size,num_token,dispatch_transmit_us,dispatch_notify_us,combine_transmit_us\n7168,8,40,2.5,50\n7168,16,60,3,70\n",
    )?;
    write(
        "gemm",
        "gemm_perf.txt",
        "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n\
         VLLM,1.0,H,gemm,a,fp8,16,32,64,0.0071\nVLLM,1.0,H,gemm,b,fp8,16,32,64,0.0053\n\
         VLLM,1.0,H,gemm,a,bfloat16,16,32,64,0.5\nVLLM,1.0,H,gemm,a,bfloat16,16,32,64,1.0\n",
    )?;
    Ok(())
}

#[test]
fn what_was_imported_comes_back_as_it_was() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    source(&at("made"))?;
    let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/aiconfigurator"));
    for (number, source) in [fixture, &at("made")].into_iter().enumerate() {
        let (database, exported, again) =
            (at(&format!("db{number}")), at(&format!("out{number}")), at(&format!("again{number}")));
        import(source, &database, Choices::default(), &LOCK)?;
        let done = export_as(&database, &exported, None)?;
        assert!(done.left_out.is_empty(), "{done:?}");
        import(&exported, &again, Choices::default(), &LOCK)?;
        let (before, after) = (files(&database), files(&again));
        assert!(before.keys().eq(after.keys()), "{:?}\n{:?}", before.keys(), after.keys());
        for (path, text) in &before {
            // Of a mean of two rows, their own column has the first before and the mean after.
            let text = text.replace("64,0.5\r\n", "64,0.75\r\n");
            assert_eq!(text, after[path], "{}", path.display());
        }
        // An export that was killed can be repeated; rows that have changed are not put in place of others.
        assert_eq!(export_as(&database, &exported, None)?, done);
    }
    let gemm = at("out1").join("gpu/gemm/vllm/1.0/gemm_perf.parquet");
    assert!(column(&gemm, "m").starts_with("Some(Integer"), "{}", column(&gemm, "m"));
    assert!(column(&gemm, "version").starts_with("Some(Text"));
    let changed = at("db1").join("gpu/vllm/1.0/gemm_bfloat16.csv");
    fs::write(&changed, fs::read_to_string(&changed)?.replace("750", "900"))?;
    let error = export_as(&at("db1"), &at("out1"), None).unwrap_err().to_string();
    assert!(error.contains("gemm_perf.parquet: is there already"), "{error}");
    Ok(())
}

#[test]
fn durations_are_those_of_the_database() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    source(&at("made"))?;
    import(&at("made"), &at("db"), Choices::default(), &LOCK)?;
    for (table, before, after) in [
        ("dsa_context_module_V3_fp8_block.csv", ",5.31,", ",10.5,"),
        ("wideep_deepep_ll_dispatch.csv", ",42.5,", ",85,"),
    ] {
        let path = at("db").join("gpu/vllm/1.0").join(table);
        let text = fs::read_to_string(&path)?;
        assert!(text.contains(before), "{text}");
        fs::write(&path, text.replacen(before, after, 1))?;
    }
    export_as(&at("db"), &at("out"), None)?;
    let module = at("out").join("gpu/sparse_attention/vllm/1.0/dsa_context_module_perf.parquet");
    assert_eq!(column(&module, "latency"), "Some(Real([Some(0.0105), Some(0.0125)]))");
    // A sum is scaled as a whole, and the other half stays.
    let halves = at("out").join("gpu/comm/vllm/1.0/wideep_deepep_ll_perf.parquet");
    assert_eq!(column(&halves, "dispatch_transmit_us"), "Some(Real([Some(80.0), Some(60.0)]))");
    assert_eq!(column(&halves, "dispatch_notify_us"), "Some(Real([Some(5.0), Some(3.0)]))");
    assert_eq!(column(&halves, "combine_transmit_us"), "Some(Real([Some(50.0), Some(70.0)]))");
    Ok(())
}

#[test]
fn rows_of_other_databases_get_columns_of_their_shapes() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("mine"))?;
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\r\n";
    let write = |name: &str, rows: &str| fs::write(at("mine").join(format!("{name}.csv")), format!("{header}{rows}"));
    write(
        "aten_mm_cublas",
        "\"16,64;64,32\",DT_BF16;DT_BF16,ND;ND,\"16,32\",DT_BF16,ND,2.5\r\n\
         \"16,64;65,32\",DT_BF16;DT_BF16,ND;ND,\"16,32\",DT_BF16,ND,3\r\n",
    )?;
    write(
        "decode",
        "\"4,1,8,64;4,1024,2,64;4,1024,2,64\",DT_BF16;FLOAT8_E4M3FN;FLOAT8_E4M3FN,ND;ND;ND,\"4,1,8,64\",DT_BF16,ND,7\r\n",
    )?;
    write("aten_add", "\"16,64;16,64\",DT_BF16;DT_BF16,ND;ND,\"16,64\",DT_BF16,ND,1\r\n")?;
    fs::write(
        at("mine").join("op_mapping.yaml"),
        "kernel_tables:\n  aten_mm_cublas: {class: matmul, layout: k_n, source: cublas}\n  decode: {class: attention_decode, window: 128}\n  aten_add: {class: elementwise}\n",
    )?;
    // The place is not in the path.
    let error = export_as(&at("mine"), &at("out"), None).unwrap_err().to_string();
    assert!(error.contains("--as h100_sxm/vllm/0.24.0"), "{error}");
    let done = export_as(&at("mine"), &at("out"), Some("gpu/vllm/1.0"))?;
    assert_eq!((done.databases, done.tables, done.rows), (1, 2, 2));
    assert_eq!(done.left_out, BTreeMap::from([("aten_add".to_owned(), 1), ("aten_mm_cublas".to_owned(), 1)]));
    let folder = at("out").join("gpu/gemm/vllm/1.0");
    let texts = |name: &str| column(&folder.join("gemm_perf.parquet"), name);
    assert_eq!(["m", "n", "k"].map(&texts), ["16", "32", "64"].map(|size| format!("Some(Integer([Some({size})]))")));
    assert_eq!(texts("gemm_dtype"), "Some(Text([Some(\"bfloat16\")]))");
    assert_eq!(texts("latency"), "Some(Real([Some(0.0025)]))");
    let described = fs::read_to_string(folder.join("collection_meta.yaml"))?;
    assert!(described.contains("  gemm_perf:\n    status: partial\n"), "{described}");
    // The same calls when they are imported.
    import(&at("out"), &at("back"), Choices::default(), &LOCK)?;
    let of = |table: &str, name: &str| -> Result<String, Box<dyn std::error::Error>> {
        let path = at("back").join("gpu/vllm/1.0").join(table);
        let table = Table::read(&path, &ReadOptions::database())?;
        Ok(table.rows().next().and_then(|row| row.get(name)).unwrap_or_default().to_owned())
    };
    let decode = "generation_attention_bfloat16_kv_fp8_window128.csv";
    assert_eq!(of(decode, "Input Shapes")?, "4,1,8,64;4,1024,2,64;4,1024,2,64");
    assert_eq!(of(decode, "Average Duration(us)")?, "7");
    assert_eq!(of("gemm_bfloat16.csv", "Input Shapes")?, "16,64;64,32");
    Ok(())
}
