use super::*;
use proptest::prelude::*;

fn normal(text: &str, root: Option<&str>) -> String {
    Scope::parse(text, root).map_or_else(|fault| fault.rule().to_owned(), |scope| scope.0)
}

#[test]
fn scopes_are_normalized_without_looking_at_the_disk() {
    let cases = [
        ("src\\api\\handler.py", "src/api/handler.py"),
        ("  ./src/ ", "src"),
        ("src//./api/", "src/api"),
        ("src/../tests", "tests"),
        ("a/..", "."),
        ("./", "."),
        ("//", "/"),
        ("//a", "/a"),
        ("C:\\x\\..\\y", "C:/y"),
        ("...", "..."),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("cafe\u{301}", "caf\u{e9}"),
        ("", "resource_empty"),
        (" ", "resource_empty"),
        ("../x", "workspace_escape"),
        ("/..", "workspace_escape"),
        ("src/*.py", "glob_not_supported"),
        ("a?.py", "glob_not_supported"),
        ("a\0b", "resource_control_char"),
    ];
    for (text, expected) in cases {
        assert_eq!(normal(text, None), expected, "{text:?}");
    }
}

#[test]
fn a_root_makes_absolute_paths_relative_or_refuses_them() {
    let cases = [
        ("/srv/repo", "."),
        ("/srv/repo/src/a", "src/a"),
        ("src", "src"),
        ("/srv/repository", "workspace_escape"),
        ("/srv/repo/../etc", "workspace_escape"),
    ];
    for (text, expected) in cases {
        assert_eq!(normal(text, Some("/srv/repo/")), expected, "{text:?}");
    }
}

#[test]
fn overlap_goes_by_whole_path_components() {
    let cases = [
        ("src", "src/api.py", true),
        ("src", "src2", false),
        ("src/a.py", "src/a.py.bak", false),
        ("src/a.py", "src/a.py/x", true),
        (".", "src", true),
        ("/", "/etc", true),
        (".", "/etc", false),
        ("src", "SRC/a.py", false),
    ];
    for (a, b, expected) in cases {
        let (a, b) = (Scope::parse(a, None).unwrap(), Scope::parse(b, None).unwrap());
        assert_eq!(a.overlaps(&b), expected, "{a} {b}");
        assert_eq!(b.overlaps(&a), expected, "{b} {a}");
    }
    let (a, b) = (Scope::parse("src", None).unwrap(), Scope::parse("SRC/a.py", None).unwrap());
    assert!(a.overlaps_ignoring_case(&b));
}

proptest! {
    #[test]
    fn normalizing_twice_changes_nothing(text in "[a-c./\\\\]{0,20}") {
        if let Ok(scope) = Scope::parse(&text, None) {
            prop_assert_eq!(Scope::parse(scope.as_str(), None), Ok(scope));
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}", root in "\\PC{0,20}") {
        let _ = Scope::parse(&text, Some(&root));
    }
}
