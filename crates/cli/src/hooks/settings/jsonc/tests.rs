use serde_json::json;

use super::*;

#[test]
fn comments_and_trailing_commas_are_read_and_printed_as_written() {
    let text =
        "// head\n{\n\t\"a\" : [ 1 , \"x,]}\\\"\" , { } ,] , /* b */ \"b\":{\"c\":null,},\n} // tail\n";
    let document = JsoncFile::parse(text).unwrap();
    assert_eq!(document.text(), text);
    let read = value(&document.object.into());
    assert_eq!(read, json!({"a": [1, "x,]}\"", {}], "b": {"c": null}}));
}

#[test]
fn what_is_not_one_object_is_refused() {
    for text in [
        "",
        "// only a comment",
        "{",
        "{,}",
        "{} {}",
        "{} x",
        "[]",
        "null",
        "{\"a\":1,\"a\":2}",
        "{\"b\":{\"a\":1,\"\\u0061\":2}}",
        "{\"b\":[{\"a\":1,\"a\":2}]}",
        "{a: 1}",
        "{'a': 1}",
        "{\"a\": 0x1}",
        "{\"a\": +1}",
        "{\"a\": .5}",
        "{\"a\": NaN}",
        "{\"a\": \"\\x41\"}",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\": 1",
        "{\"a\": /* open",
        "\u{feff}{} {}",
    ] {
        assert!(JsoncFile::parse(text).is_err(), "{text}");
    }
    assert!(JsoncFile::parse(&"{\"a\":".repeat(100_000)).is_err());
    assert!(JsoncFile::parse(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
}
