use super::*;
use proptest::prelude::*;

fn normal(text: &str, root: Option<&str>) -> String {
    Scope::parse(text, root).map_or_else(|fault| fault.rule().to_owned(), |scope| scope.0)
}

#[test]
fn scopes_are_normalized_without_reading_the_disk() {
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
        ("./ a", "a"),
        ("./ ../x", "workspace_escape"),
        ("./ ./ ./ ./ a", "a"),
        ("./ ./ ./ ./ ./ ./ ./ ./ ./ ./ a", "resource_empty"),
        ("/ /", "resource_empty"),
        ("a b/c d", "a b/c d"),
        ("C:", "C:/"),
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
        ("/srv/repo/C:/x", "workspace_escape"),
    ];
    for (text, expected) in cases {
        assert_eq!(normal(text, Some("/srv/repo/")), expected, "{text:?}");
    }
    assert_eq!(normal("/srv/cafe\u{301}/a", Some("/srv/caf\u{e9}")), "a");
    assert_eq!(normal("/etc", Some("/")), "etc");
}

#[test]
fn a_path_has_a_longest_length() {
    let longest = "a".repeat(limits::SCOPE_BYTES_MAX);
    assert_eq!(normal(&longest, None), longest);
    assert_eq!(normal(&format!("{longest}a"), None), "too_long");
    // Normal form may be longer than what was written.
    assert_eq!(normal(&"\u{958}".repeat(1300), None), "too_long");
}

#[test]
fn links_are_resolved_and_must_not_leave_the_workspace() {
    let links: Links = [
        ("link", "src"),
        ("deep/link", "link/api"),
        ("out", "../other"),
        ("etc", "/etc"),
        ("home", "/srv/repo/lib"),
        ("loop", "loop/loop"),
        ("ring", "ring2"),
        ("ring2", "ring"),
        ("same", "same"),
    ]
    .into_iter()
    .map(|(link, target)| (link.to_owned(), target.to_owned()))
    .collect();
    let cases = [
        ("link/x.py", "src/x.py"),
        ("link", "src"),
        ("linker/x.py", "linker/x.py"),
        ("deep/link/a", "src/api/a"),
        ("/srv/repo/link/a", "src/a"),
        ("home/a", "lib/a"),
        ("same/a", "same/a"),
        ("out/a", "workspace_escape"),
        ("etc/passwd", "workspace_escape"),
        ("loop/a", "workspace_escape"),
        ("ring/a", "workspace_escape"),
    ];
    for (text, expected) in cases {
        let root = Some("/srv/repo");
        let scope = Scope::parse(text, root).and_then(|scope| scope.follow(&links, root));
        let found = scope.map_or_else(|fault| fault.rule().to_owned(), |scope| scope.0);
        assert_eq!(found, expected, "{text:?}");
    }
    let etc = Scope::parse("etc/passwd", None).unwrap();
    assert_eq!(etc.follow(&links, None), Err(ScopeFault::Escape), "no root is known, and it is not in here");
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
        ("C:", "C:/x", true),
        ("src", "SRC/a.py", false),
    ];
    for (a, b, expected) in cases {
        let (a, b) = (Scope::parse(a, None).unwrap(), Scope::parse(b, None).unwrap());
        assert_eq!(a.overlaps(&b), expected, "{a} {b}");
        assert_eq!(b.overlaps(&a), expected, "{b} {a}");
    }
    for (a, b) in [("src", "SRC/a.py"), ("stra\u{df}e", "STRASSE/x"), ("\u{c9}t\u{e9}", "\u{e9}T\u{c9}")] {
        let (a, b) = (Scope::parse(a, None).unwrap(), Scope::parse(b, None).unwrap());
        assert!(a.overlaps_ignoring_case(&b) && b.overlaps_ignoring_case(&a), "{a} {b}");
    }
}

proptest! {
    #[test]
    fn normalizing_twice_changes_nothing(text in "[a-cC:./\\\\ \u{301}\u{958}]{0,20}|\\PC{0,20}") {
        if let Ok(scope) = Scope::parse(&text, None) {
            prop_assert_eq!(Scope::parse(scope.as_str(), None), Ok(scope));
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}", root in "\\PC{0,20}") {
        let links: Links = [(text.clone(), root.clone()), (root.clone(), text.clone())].into();
        let followed = Scope::parse(&text, Some(&root)).and_then(|scope| scope.follow(&links, Some(&root)));
        if let Ok(scope) = followed {
            prop_assert_eq!(Scope::parse(scope.as_str(), None), Ok(scope));
        }
    }
}
