use super::*;

fn list(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn paths_are_compared_by_whole_components() {
    let scopes = list(&["C:/workspace"]);
    for inside in ["C:/workspace", "c:\\workspace\\src\\a.py", "C:/workspace/./src/../x", "src/a.py"] {
        assert!(is_within("C:/workspace", &scopes, inside), "{inside}");
    }
    for outside in ["C:/workspace-evil/x", "C:/workspace/../secret", "D:/workspace", "/workspace", "../x"] {
        assert!(!is_within("C:/workspace", &scopes, outside), "{outside}");
    }
}

#[test]
fn a_backslash_in_a_unix_path_is_an_ordinary_character() {
    let scopes = list(&["/ws/b"]);
    assert!(!is_within("/ws", &scopes, "/ws/a\\..\\b"));
    assert_eq!(normal("/ws", "a\\b").as_deref(), Some("/ws/a\\b"));
    assert_eq!(normal("C:/ws", "a\\b").as_deref(), Some("c:/ws/a/b"));
    assert_eq!(normal("/", "\\\\host\\share\\x").as_deref(), Some("//host/share/x"));
}

#[test]
fn a_path_cannot_go_above_the_root() {
    assert_eq!(normal("/ws", "/../etc"), None);
    assert_eq!(normal("/ws", "../../../etc"), None);
    assert_eq!(normal("/ws", "../etc").as_deref(), Some("/etc"));
}

#[test]
fn the_intersection_keeps_the_inner_path() {
    let left = list(&["/ws", "/shared/docs"]);
    let right = list(&["/ws/src", "/ws/src/deep", "/shared", "/data"]);
    let both = list(&["/shared/docs", "/ws/src"]);
    assert_eq!(intersection("/", &left, &right), both);
    assert_eq!(intersection("/", &right, &left), both);
    assert_eq!(intersection("/", &left, &[]), Vec::<String>::new());
}
