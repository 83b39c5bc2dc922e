use super::*;

#[test]
fn code_is_not_prose() {
    let text = "```sh\n# not a title\n```\n# Learning: Title\n\n| a |\n\nFirst line\nsecond line\n\nNext";
    assert_eq!(title(text), Some("Learning: Title"));
    assert_eq!(first_paragraph(text), "First line second line");
    assert_eq!(title("## Only a section"), None);
}

#[test]
fn sentences_end_where_a_reader_would_end_them() {
    let cases = [
        ("One. Two.", "One."),
        ("See vitamin C. It helps.", "See vitamin C. It helps."),
        ("Call `a. b` first! Then go.", "Call `a. b` first!"),
        ("Version 1.2 is out. Good.", "Version 1.2 is out."),
        ("no end", "no end"),
        ("", ""),
    ];
    for (text, sentence) in cases {
        assert_eq!(first_sentence(text), sentence);
    }
}
