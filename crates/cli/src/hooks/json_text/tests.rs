use super::*;

#[test]
fn every_part_is_found_where_it_stands() {
    let text = r#" { "a" : [ 1 , "x,]}\"" , { } ] ,"b":{"c":null}} "#;
    let root = read(text).unwrap();
    let a = &root.member("a").unwrap().value;
    let parts: Vec<&str> = a.items().unwrap().iter().map(|item| &text[item.span.clone()]).collect();
    assert_eq!(parts, ["1", r#""x,]}\"""#, "{ }"]);
    assert_eq!(&text[root.span.clone()], text.trim());
    let members: Vec<&str> = root.inside().into_iter().map(|place| &text[place]).collect();
    assert_eq!(members, [r#""a" : [ 1 , "x,]}\"" , { } ]"#, r#""b":{"c":null}"#]);
    assert_eq!(root.member("b").unwrap().value.value(text), serde_json::json!({"c": null}));
}

#[test]
fn what_is_not_one_json_document_is_refused() {
    for text in [
        "",
        "{",
        "{,}",
        "// no\n{}",
        "{} {}",
        "{\"a\":1,}",
        "{\"a\":1,\"a\":2}",
        "{\"b\":{\"a\":1,\"\\u0061\":2}}",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(read(&"[".repeat(100_000)).is_err());
}
