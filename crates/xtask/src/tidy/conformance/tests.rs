use super::*;

const TESTS: (&str, &str) = (
    "crates/a/src/b/tests.rs",
    "use super::*;\n\n#[test]\nfn it_holds() {}\n\n#[test]\n#[expect(\n    lint,\n    reason = \"r\"\n)]\n\
     fn it_holds_too() {}\n\nfn helper() {}\n\nproptest! {\n    #[test]\n    fn for_any_input(a: u8) {}\n}\n",
);

const MADE: (&str, &str) = (
    "crates/a/tests/it/made.rs",
    "macro_rules! parts {\n    ($($name:ident)*) => {$(\n        #[test]\n        fn $name() {}\n    )*};\n}\n\n\
     parts! {\n    part_one\n    part_two\n}\n",
);

fn said(rows: &[&str]) -> Vec<String> {
    let page =
        format!("# Conformance\n| id | statement | state | test | note |\n|---|\n{}\n", rows.join("\n"));
    let tree = Tree::of(&[(PAGE, &page), TESTS, MADE]);
    check(&tree).iter().map(ToString::to_string).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_live_row_names_tests_that_exist() {
    let good = [
        "| 001.A-a | s | LIVE | `crates/a/src/b/tests.rs::it_holds`, `crates/a/src/b/tests.rs::it_holds_too` | |",
        "| 001.A-b | s | LIVE | `crates/a/src/b/tests.rs::for_any_input` (the case x) | |",
        "| 001.A-c | s | LIVE | `crates/a/tests/it/made.rs::part_two` | |",
        "| 001.A-d | s | MISSING | | nothing does it |",
        "| LIVE | what a state means |",
    ];
    assert_eq!(said(&good), NOTHING);
}

#[test]
fn a_live_row_without_a_test_is_reported() {
    assert_eq!(
        said(&["| 001.A-a | s | LIVE | by hand | |"]),
        ["docs/conformance.md:4: `001.A-a` is LIVE and names no test [conformance]"]
    );
}

#[test]
fn a_test_that_does_not_exist_is_reported_with_the_nearest_name() {
    let named = |test: &str| {
        let found = said(&[&format!("| 001.A-a | s | DOC | `{test}` | |")]);
        let [only] = found.as_slice() else { panic!("{found:?}") };
        only.strip_prefix("docs/conformance.md:4: `001.A-a` names the test ").unwrap().to_owned()
    };
    assert_eq!(
        named("crates/a/src/b/tests.rs::it_hold"),
        "`crates/a/src/b/tests.rs::it_hold`, which does not exist; nearest: `crates/a/src/b/tests.rs::it_holds` [conformance]"
    );
    assert_eq!(
        named("crates/a/src/moved.rs::it_holds_too"),
        "`crates/a/src/moved.rs::it_holds_too`, which does not exist; nearest: `crates/a/src/b/tests.rs::it_holds_too` [conformance]"
    );
    assert_eq!(
        named("it_holds"),
        "`it_holds`, which does not exist; nearest: `crates/a/src/b/tests.rs::it_holds` [conformance]"
    );
    // A function that is not a test, and a word that no macro turns into a test.
    for test in ["crates/a/src/b/tests.rs::helper", "crates/a/tests/it/made.rs::part_three_and_more"] {
        assert!(named(test).contains("which does not exist"));
    }
}

#[test]
fn an_id_that_appears_twice_is_reported() {
    assert_eq!(
        said(&["| 001.A-a | s | DOC | | |", "| 001.A-a | t | DOC | | |"]),
        ["docs/conformance.md:5: `001.A-a` is also in line 4 [conformance]"]
    );
}

#[test]
fn an_unknown_state_is_reported() {
    assert_eq!(
        said(&["| 001.A-a | s | SOON | | |"]),
        [
            "docs/conformance.md:4: `001.A-a` has the state `SOON`; the states are LIVE, DOC, MISSING, WRONG [conformance]"
        ]
    );
}

#[test]
fn a_row_with_another_number_of_cells_is_reported() {
    assert_eq!(
        said(&["| 001.A-a | a | b | DOC | | |"]),
        [
            "docs/conformance.md:4: `001.A-a` has 6 cells, and needs id, statement, state, test, note [conformance]"
        ]
    );
}

#[test]
fn a_checkout_without_the_page_is_reported() {
    let found: Vec<String> = check(&Tree::of(&[TESTS])).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["docs/conformance.md: is missing [conformance]"]);
}
