use super::*;

fn decides(file: &str, path: &str, is_directory: bool) -> Option<bool> {
    IgnoreFile::parse(file.as_bytes()).decides(path.as_bytes(), is_directory)
}

#[test]
fn patterns_match_as_git_documents_them() {
    let cases: &[(&str, &str, bool, Option<bool>)] = &[
        ("*.o", "a/b.o", false, Some(true)),
        ("*.o", "a/b.c", false, None),
        ("target", "x/target", true, Some(true)),
        ("target/", "target", false, None),
        ("target/", "target", true, Some(true)),
        ("/target", "x/target", true, None),
        ("/target", "target", true, Some(true)),
        ("doc/*.txt", "doc/a.txt", false, Some(true)),
        ("doc/*.txt", "doc/x/a.txt", false, None),
        ("**/foo", "a/b/foo", false, Some(true)),
        ("**/foo", "foo", false, Some(true)),
        ("a/**", "a/b/c", false, Some(true)),
        ("a/**", "a", true, None),
        ("a/**/b", "a/b", false, Some(true)),
        ("a/**/b", "a/x/y/b", false, Some(true)),
        ("a**b", "axxb", false, Some(true)),
        ("*.log\n!keep.log", "keep.log", false, Some(false)),
        ("!keep.log\n*.log", "keep.log", false, Some(true)),
        ("# comment\n\\#file", "#file", false, Some(true)),
        ("# comment", "# comment", false, None),
        ("\\!bang", "!bang", false, Some(true)),
        ("end  ", "end", false, Some(true)),
        ("end\\ ", "end ", false, Some(true)),
        ("[a-c]x", "bx", false, Some(true)),
        ("[!a-c]x", "bx", false, None),
        ("[]]x", "]x", false, Some(true)),
        ("[[:digit:]]", "7", false, Some(true)),
        ("[unclosed", "[unclosed", false, None),
        ("a?c", "abc", false, Some(true)),
        ("a?c", "a/c", false, None),
        ("crlf\r\n", "crlf", false, Some(true)),
        ("/", "a", true, None),
        ("", "a", false, None),
    ];
    for (file, path, is_directory, expected) in cases {
        assert_eq!(decides(file, path, *is_directory), *expected, "{file:?} {path:?}");
    }
}

#[test]
fn a_hostile_pattern_ends() {
    let pattern = "*a".repeat(1000) + "b";
    assert_eq!(decides(&pattern, &"a".repeat(2000), false), None);
}
