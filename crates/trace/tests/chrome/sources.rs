//! Where the bytes come from: files, gzip, files that change.

use super::chunks::large_trace;
use super::{gzip, memory, pull};
use perfdb_trace::Error;
use perfdb_trace::chrome::{ReadOptions, Reader, read_ordered};
use perfdb_trace::source::Source;
use std::convert::Infallible;
use std::io::Read;

#[test]
fn gzip_streams() {
    let text = br#"{"traceEvents": [{"name": "one"}, {"name": "two"}]}"#;
    let options = ReadOptions::simulator();
    let expected = pull(memory(text), &options);
    let whole = gzip(text);
    let members: Vec<u8> = text.chunks(9).flat_map(gzip).collect();
    let padded = [whole.clone(), vec![0; 1000]].concat();
    for bytes in [&whole, &members, &padded] {
        assert_eq!(pull(Source::from_bytes("t.json", bytes.as_slice()).unwrap(), &options), expected);
    }
    for cut in 2..whole.len() {
        let result = pull(Source::from_bytes("t.json", &whole[..cut]).unwrap(), &options);
        assert!(result.as_ref().is_err_and(|error| error.contains("gzip")), "{cut}: {result:?}");
    }
    // The message points to where the inflated text ends.
    let message = |bytes: &[u8]| pull(Source::from_bytes("t.json", bytes).unwrap(), &options).unwrap_err();
    let (head, tail) = text.split_at(40);
    let two = [gzip(head), gzip(tail)].concat();
    assert_eq!(
        message(&two[..gzip(head).len() + 10]),
        "t.json: the gzip stream breaks off (event 1) at byte 40 (line 1, column 41)"
    );
    assert_eq!(
        message(&[&whole, &b"x"[..]].concat()),
        "t.json: something follows the gzip stream at byte 51 (line 1, column 52)"
    );
    assert_eq!(message(&whole[..5]), "t.json: the gzip stream breaks off at byte 0 (line 1, column 1)");
    for garbage in [&b"x"[..], b"\x1f", b"\0\0x", b"\x1f\x8b"] {
        let bytes = [&whole, garbage].concat();
        assert!(pull(Source::from_bytes("t.json", bytes).unwrap(), &options).is_err(), "{garbage:?}");
    }
    let mut corrupt = whole.clone();
    let middle = corrupt.len() - 6;
    corrupt[middle] ^= 0xff;
    assert!(pull(Source::from_bytes("t.json", corrupt).unwrap(), &options).is_err());
    // No such block type.
    let corrupt = [&gzip(head)[..], &whole[..10], b"\xff\xff\xff\xff"].concat();
    assert_eq!(
        message(&corrupt),
        "t.json: broken gzip stream (corrupt deflate stream) (event 1) at byte 40 (line 1, column 41)"
    );
}

#[test]
fn files() {
    let folder = std::env::temp_dir().join(format!("perfdb-trace-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let options = ReadOptions::simulator();
    assert_eq!(pull(Source::open(file("plain", b"{}")).unwrap(), &options), Ok(vec![]));
    assert_eq!(pull(Source::open(file("packed", &gzip(b"{}"))).unwrap(), &options), Ok(vec![]));
    let empty = pull(Source::open(file("empty", b"")).unwrap(), &options).unwrap_err();
    assert!(empty.ends_with("JSON ends too early at byte 0 (line 1, column 1)"), "{empty}");
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";
    for bytes in [&pointer[..], &gzip(pointer)] {
        assert!(matches!(Source::open(file("pointer", bytes)), Err(Error::LfsPointer { .. })));
    }
    assert!(Source::open(folder.join("none")).unwrap_err().is_missing());
    assert!(!Source::open(folder.join("plain/none")).unwrap_err().is_missing());
    let error = Source::open(&folder).unwrap_err();
    assert!(!error.is_missing() && error.to_string().contains("directory"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_is_shortened_while_it_is_read_is_an_error() {
    let text = large_trace(3, 60_000);
    assert!(text.len() > 16 << 20);
    let file = tempfile::NamedTempFile::new().unwrap();
    let message = ": the file was shortened while it was read";
    for threads in [1, 3] {
        std::fs::write(file.path(), &text).unwrap();
        let mut source = Source::open(file.path()).unwrap();
        let result = read_ordered(
            &mut source,
            &ReadOptions::simulator(),
            threads,
            |_: &mut (), _| {
                file.as_file().set_len(100).unwrap();
                Ok::<(), Infallible>(())
            },
            |_| Ok::<(), Infallible>(()),
        );
        let error = result.unwrap_err().to_string();
        assert!(error.ends_with(message), "{threads}: {error}");
    }
    std::fs::write(file.path(), &text).unwrap();
    let mut source = Source::open(file.path()).unwrap();
    let options = ReadOptions::simulator();
    let mut reader = Reader::new(&mut source, &options);
    assert!(reader.next_item().unwrap().is_some());
    file.as_file().set_len(100).unwrap();
    let error = loop {
        match reader.next_item() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("read to the end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.ends_with(message), "{error}");
    // What is read as a whole, and as a stream.
    let whole = |source: Result<Source, Error>| source.and_then(|mut source| source.read_all());
    std::fs::write(file.path(), &text).unwrap();
    let source = Source::open(file.path());
    file.as_file().set_len(100).unwrap();
    assert!(whole(source).unwrap_err().to_string().ends_with(message));
    std::fs::write(file.path(), &text).unwrap();
    let mut stream = Source::open(file.path()).unwrap().into_reader();
    file.as_file().set_len(100).unwrap();
    assert!(stream.read_to_end(&mut Vec::new()).is_err());
}
