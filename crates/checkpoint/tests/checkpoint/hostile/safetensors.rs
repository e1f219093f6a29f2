//! Safetensors, as single files and as shards with an index.

use super::*;

/// A safetensors file with this header, and `n` bytes of data.
fn safetensors(header: &str, n: usize) -> Vec<u8> {
    [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        &vec![0; n],
    ]
    .concat()
}

#[test]
fn safetensors_headers_that_lie_are_refused() {
    let nested = "[".repeat(100_000);
    for (header, n) in [
        ("", 0),
        ("{", 0),
        ("null", 0),
        ("[]", 0),
        (nested.as_str(), 0),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
            3,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
            5,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}"#,
            5,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296,1],"data_offsets":[0,0]}}"#,
            0,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#,
            6,
        ),
    ] {
        check(
            Format::Safetensors,
            safetensors(header, n),
            "not a whole safetensors file",
        );
    }
    for start in [u64::MAX, 1 << 40, 100_000_001] {
        let bytes = [&start.to_le_bytes()[..], b"{}"].concat();
        check(
            Format::Safetensors,
            bytes,
            "not a whole safetensors file (10 bytes)",
        );
    }
    let text = safetensors(
        r#"{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#,
        8,
    );
    check(
        Format::Safetensors,
        text,
        "has type I64, expected F32, F16, BF16 or F64",
    );
}

#[test]
fn an_index_of_shards_stays_in_its_folder_and_agrees_with_the_shards() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for i in 1..3 {
        let name = format!("model-0000{i}-of-00002.safetensors");
        fs::copy(
            fixture("safetensors-sharded").join(&name),
            dir.path().join(&name),
        )
        .expect("a copy");
    }
    let path = dir.path().join("model.safetensors.index.json");
    let whole = fs::read_to_string(fixture("safetensors-sharded/model.safetensors.index.json"))
        .expect("an index");
    let first = "model-00001-of-00002.safetensors";
    for (index, expected) in [
        ("{".to_string(), "not an index of shards"),
        (r#"{"metadata":{}}"#.to_string(), "not an index of shards"),
        (
            r#"{"weight_map":{"a":"../b"}}"#.to_string(),
            "shard `../b` is not the name of a file",
        ),
        (
            r#"{"weight_map":{"a":"/etc/passwd"}}"#.to_string(),
            "is not the name of a file",
        ),
        (
            r#"{"weight_map":{"a":".."}}"#.to_string(),
            "is not the name of a file",
        ),
        (
            r#"{"weight_map":{"a":""}}"#.to_string(),
            "is not the name of a file",
        ),
        (
            whole.replace(first, "model-00003-of-00002.safetensors"),
            "cannot be read",
        ),
        (
            whole.replacen(first, "model-00002-of-00002.safetensors", 1),
            "that the index does not expect there",
        ),
        (
            whole.replacen("pooler.dense.bias", "pooler.dense.bjas", 1),
            "has",
        ),
        (
            format!(r#"{{"weight_map":{{"embeddings.LayerNorm.bias":"{first}"}}}}"#),
            "has",
        ),
    ] {
        fs::write(&path, index).expect("an index");
        let found = format!("{:#}", Checkpoint::open(&path).expect_err("a lying index"));
        assert!(found.contains(expected), "`{expected}` is not in: {found}");
    }
    fs::write(&path, whole).expect("an index");
    Checkpoint::open(dir.path()).expect("the index as it was");
}
