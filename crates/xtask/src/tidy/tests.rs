//! Each rule accepts valid files and reports its violation.

use serde_json::json;

use super::exceptions::Exception;
use super::*;

/// The violations that one rule reports for these files, one line each.
fn said(rule: fn(&Tree) -> Vec<Violation>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
}

fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> serde_json::Value {
    let dependencies: Vec<_> =
        dependencies.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
    json!({"name": name, "dependencies": dependencies})
}

fn said_of_crates(packages: &[serde_json::Value], files: &[(&str, &str)]) -> Vec<String> {
    let metadata = json!({"packages": packages});
    crates::check(&metadata, &Tree::of(files)).iter().map(ToString::to_string).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn dependencies_between_crates_point_one_way() {
    let good = [package("contract", &[]), package("store", &[("contract", None), ("testkit", Some("dev"))])];
    assert_eq!(said_of_crates(&good, &[]), NOTHING);

    let bad = [
        package("contract", &[("store", None)]),
        package("store", &[("testkit", None)]),
        package("testkit", &[("contract", None)]),
        package("engine", &[("store", Some("build"))]),
        package("xtask", &[("contract", Some("dev"))]),
        package("shiny", &[]),
    ];
    let manifest = "[dependencies]\ncontract.workspace = true\nstore.workspace = true\n";
    assert_eq!(
        said_of_crates(&bad, &[("crates/engine/Cargo.toml", manifest)]),
        [
            "crates/shiny/Cargo.toml: `shiny` is not in the table of crates; a new crate is a decision [crate-edge]",
            "crates/contract/Cargo.toml: `contract` may not depend on `store` [crate-edge]",
            "crates/store/Cargo.toml: `store` may use `testkit` only as a dev-dependency [crate-edge]",
            "crates/engine/Cargo.toml:3: `engine` may not depend on `store` [crate-edge]",
            "crates/xtask/Cargo.toml: `xtask` may not depend on `contract` [crate-edge]",
        ]
    );
}

#[test]
fn restricted_crates_are_refused_elsewhere_even_in_tests() {
    let good = [package("store", &[("rusqlite", None)]), package("cli", &[("clap", None), ("rustix", None)])];
    assert_eq!(said_of_crates(&good, &[]), NOTHING);

    let bad = [package("ops", &[("rusqlite", Some("dev"))]), package("engine", &[("tokio", None)])];
    assert_eq!(
        said_of_crates(&bad, &[]),
        [
            "crates/ops/Cargo.toml: `rusqlite` is only for store [wall]",
            "crates/engine/Cargo.toml: `tokio` is only for server [wall]",
        ]
    );
}

#[test]
fn the_domain_uses_no_published_contract_and_no_document() {
    let good = [
        ("crates/contract/src/domain/task.rs", "use crate::shape::words;\n// Not crate::aop.\n"),
        ("crates/contract/src/domain/task/tests.rs", "use crate::aop::Task;\n"),
        ("crates/contract/src/aop.rs", "use crate::domain::task::Task;\nuse crate::aee::judge;\n"),
        ("crates/contract/src/plan/read.rs", "use crate::aop::Task;\nuse crate::domain::plan::Plan;\n"),
        ("crates/ops/src/run.rs", "use crate::plan::Plan;\n"),
    ];
    assert_eq!(said(layers::check, &good), NOTHING);

    let bad = [
        ("crates/contract/src/domain/task.rs", "\nuse crate::plan::PlanTask;\n"),
        ("crates/contract/src/shape/document.rs", "{ $crate::aop::header::extensions(), }\n"),
        ("crates/contract/src/operator.rs", "use crate::intake::read;\n"),
    ];
    assert_eq!(
        said(layers::check, &bad),
        [
            "crates/contract/src/domain/task.rs:2: `domain` may not use `plan`, which belongs to the documents of users [layer]",
            "crates/contract/src/shape/document.rs:1: `shape` may not use `aop`, which belongs to the published contracts [layer]",
            "crates/contract/src/operator.rs:1: `operator` may not use `intake`, which belongs to the documents of users [layer]",
        ]
    );
}

#[test]
fn the_architecture_page_has_the_same_table_of_crates() {
    let row = |(name, uses): &(&str, &[&str])| format!("{name}: {}", uses.join(" , "));
    let rows: Vec<String> = crates::EDGES.iter().map(row).collect();
    let good = format!("# Architecture\n```crates\n{}\n```\n", rows.join("\n"));
    assert_eq!(said_of_crates(&[], &[("ARCHITECTURE.md", &good)]), NOTHING);

    let bad = good.replace("ops: contract , store", "ops: contract, store, server").replace("xtask: \n", "");
    assert_eq!(
        said_of_crates(&[], &[("ARCHITECTURE.md", &bad)]),
        [
            "ARCHITECTURE.md:5: the table of crates has `ops: contract, store, server`, expected `ops: contract, store` [crate-edge]",
            "ARCHITECTURE.md:2: the table of crates lacks `xtask: -` [crate-edge]",
        ]
    );
    assert_eq!(said_of_crates(&[], &[("ARCHITECTURE.md", "# Architecture\n")]).len(), 1);
}

#[test]
fn contract_is_linked_only_with_pure_crates() {
    let said = |resolved: &str| -> Vec<String> {
        purity::check(resolved).iter().map(|violation| violation.message.clone()).collect()
    };
    assert_eq!(said("contract v0.1.0 (crates/contract)|\njiff v0.2.39|alloc\nserde v1.0.0|std\n"), NOTHING);
    assert_eq!(
        said("jiff v0.2.39|alloc,std\nrand v0.10.0|std\njiff v0.2.39|alloc,std\n"),
        [
            "feature `std` of `jiff` could bring IO, a clock or randomness",
            "`rand` is not on the list of crates that keep `contract` pure",
        ]
    );
}

#[test]
fn files_have_a_size() {
    let lines = |count: usize| "x\n".repeat(count);
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(800), lines(500));
    let good = [
        ("crates/a/src/b.rs", lines(800)),
        ("crates/a/src/c.rs", tested),
        ("crates/ops/src/registry.rs", lines(300)),
        ("crates/ops/src/task/tests.rs", lines(300)),
        ("docs/long.md", lines(3000)),
    ];
    let good: Vec<(&str, &str)> = good.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(said(sizes::files, &good), NOTHING);
    assert_eq!(
        sizes::notes(&Tree::of(&good)),
        ["crates/a/src/b.rs has 800 lines", "crates/a/src/c.rs has 800 lines"]
    );

    let (long, verb) = (lines(801), lines(201));
    let bad = [
        ("crates/a/src/b.rs", long.as_str()),
        ("crates/ops/src/task/claim.rs", &verb),
        ("crates/cli/src/commands/serve.rs", &verb),
    ];
    assert_eq!(
        said(sizes::files, &bad),
        [
            "crates/a/src/b.rs: 801 lines; the limit is 800 [file-size]",
            "crates/ops/src/task/claim.rs: 201 lines; one verb or command has at most 200 [verb-size]",
            "crates/cli/src/commands/serve.rs: 201 lines; one verb or command has at most 200 [verb-size]",
        ]
    );
}

#[test]
fn functions_fit_on_a_screen() {
    let function = |indent: &str, head: &str, body: usize| {
        format!("{indent}{head}{{\n{}{indent}}}\n", format!("{indent}    x();\n").repeat(body))
    };
    let good = [
        function("", "pub(crate) async fn fits() ", 68),
        "trait T {\n    fn declared(\n        a: A,\n    ) -> B;\n".to_owned(),
        function("    ", "fn defaulted(&self) ", 60),
        "}\nfn short() { x() }\n".to_owned(),
        function("", "fn after() ", 60),
        format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function("    ", "fn in_tests() ", 100)),
    ];
    assert_eq!(said(sizes::functions, &[("crates/a/src/b.rs", &good.concat())]), NOTHING);
    let test = function("", "fn test() ", 100);
    assert_eq!(said(sizes::functions, &[("crates/a/tests/it/b.rs", &test)]), NOTHING);

    let bad = format!(
        "impl A {{\n{}}}\n{}",
        function("    ", "pub const unsafe fn too_long(&self) ", 69),
        function("", "fn wrapped(\n    a: A,\n) -> B\nwhere\n    A: C,\n", 64)
    );
    assert_eq!(
        said(sizes::functions, &[("crates/a/src/b.rs", &bad)]),
        [
            "crates/a/src/b.rs:2: `too_long` has 71 lines; the limit is 70 [function-size]",
            "crates/a/src/b.rs:74: `wrapped` has 71 lines; the limit is 70 [function-size]",
        ]
    );
}

#[test]
fn blobs_are_not_committed() {
    let big = "x".repeat(512 * 1024 + 1);
    assert_eq!(said(sizes::blobs, &[("a.png", &big[1..])]), NOTHING);
    assert_eq!(said(sizes::blobs, &[("a.png", &big)]), ["a.png: 512 KiB; the limit is 512 KiB [blob]"]);
}

#[test]
fn every_source_file_is_compiled() {
    let good = [
        ("crates/a/src/lib.rs", "pub mod b;\npub(crate) mod c;\n"),
        ("crates/a/src/b.rs", "#[cfg(test)]\nmod tests;\n#[path = \"odd/name.rs\"]\nmod odd;\n"),
        ("crates/a/src/b/tests.rs", ""),
        ("crates/a/src/b/name.rs", ""),
        ("crates/a/src/c.rs", ""),
        ("crates/a/src/bin/tool/main.rs", "mod part;\n"),
        ("crates/a/src/bin/tool/part.rs", "mod inner;\n"),
        ("crates/a/src/bin/tool/part/inner.rs", ""),
        ("crates/a/src/bin/other.rs", ""),
        ("crates/a/tests/it/main.rs", "mod story;\n"),
        ("crates/a/tests/it/story.rs", ""),
        ("crates/a/build.rs", ""),
        ("fuzz/fuzz_targets/parse.rs", ""),
    ];
    assert_eq!(said(modules::check, &good), NOTHING);

    let bad = [
        ("crates/a/src/lib.rs", "// mod b;\n"),
        ("crates/a/src/b.rs", ""),
        ("crates/a/src/b/tests.rs", ""),
        ("crates/a/src/c/mod.rs", ""),
        ("crates/a/tests/it/main.rs", ""),
        ("crates/a/tests/it/story.rs", ""),
        ("crates/a/tests/alone.rs", ""),
    ];
    assert_eq!(
        said(modules::check, &bad),
        [
            "crates/a/src/b.rs: is not compiled: no `mod b;` in crates/a/src/lib.rs or crates/a/src/main.rs [forgotten-file]",
            "crates/a/src/b/tests.rs: is not compiled: no `mod tests;` in crates/a/src/b.rs [forgotten-file]",
            "crates/a/src/c/mod.rs: is named mod.rs; rename it to crates/a/src/c.rs [mod-file]",
            "crates/a/tests/it/story.rs: is not compiled: no `mod story;` in crates/a/tests/it/main.rs [forgotten-file]",
            "crates/a/tests/alone.rs: is a separate test binary; make it a module of tests/it/main.rs [test-binary]",
        ]
    );
}

#[test]
fn unfinished_work_is_not_committed() {
    let later = concat!("TO", "DO");
    let unfinished = concat!("FIX", "ME");
    let good = format!("// {later}: measure it\nlet {unfinished}S = 1;\n");
    assert_eq!(said(words::check, &[("a.rs", &good), ("STYLE.md", unfinished)]), NOTHING);

    let bad = format!("// {unfinished} soon\n// {later}:\n    {}x);\n", concat!("dbg", "!("));
    assert_eq!(
        said(words::check, &[("a.rs", &bad)]),
        [
            format!("a.rs:1: {unfinished} may not be committed: fix it, or open an issue [unfinished]"),
            format!("a.rs:2: a {later} that does not say what has to be done [unfinished]"),
            "a.rs:3: a debugging macro was left in [unfinished]".to_owned(),
        ]
    );
}

#[test]
fn nothing_names_a_machine_or_a_registry() {
    let good = "open .writ/work/x, https://example.com/home/x, {dir}/root/x and a/work/b\n";
    assert_eq!(said(words::check, &[("a.md", good)]), NOTHING);
    let lock = |source: &str| format!("[[package]]\nsource = \"{source}\"\n");
    let usual = lock(concat!("registry+https://github.com/rust-lang/crates", ".io-index"));
    assert_eq!(said(words::check, &[("Cargo.lock", &usual)]), NOTHING);

    let home = concat!("/ho", "me/");
    let host = concat!("pypi", ".org");
    let bad = format!("see `{home}ann/x`\nfile://{home}ann\nfrom https://{host}/simple\n");
    let mirror = lock("registry+https://mirror.example/index");
    assert_eq!(
        said(words::check, &[("a.md", &bad), ("Cargo.lock", &mirror)]),
        [
            format!("a.md:1: names `{home}`, a path on one machine [machine-path]"),
            format!("a.md:2: names `{home}`, a path on one machine [machine-path]"),
            format!("a.md:3: names the host `{host}` [registry-host]"),
            "Cargo.lock:2: a package comes from `registry+https://mirror.example/index` [registry-host]"
                .to_owned(),
        ]
    );
}

#[test]
fn odd_phrases_are_reported_with_what_to_write() {
    let (odd, way) = (concat!("who", "ever"), concat!("stands in", " the way"));
    let name = format!("fn {odd}_asks_waits() {{}}\n");
    assert_eq!(
        said(
            phrases::check,
            &[("a.rs", &format!("// {odd} asks\n{name}")), ("b.md", &format!("It {way}.\n"))]
        ),
        [
            format!(
                "a.rs:1: `{odd}` is an odd phrase; write plain words (name the caller, the holder or the process) [odd-phrase]"
            ),
            format!(
                "a.rs:2: `{odd}` is an odd phrase; write plain words (name the caller, the holder or the process) [odd-phrase]"
            ),
            format!(
                "b.md:1: `{way}` is an odd phrase; write plain words (conflicts with, blocks) [odd-phrase]"
            ),
        ]
    );
    // Part of another word, data, and a file that is never edited.
    let good = format!("{odd}s\n");
    assert_eq!(said(phrases::check, &[("a.rs", &good), ("b.json", odd), ("c.sql", odd)]), NOTHING);
}

#[test]
fn records_of_the_past_may_have_odd_phrases() {
    let odd = concat!("who", "ever");
    let released = format!("## [Unreleased]\n\n- plain\n\n## [0.1.0] - 2026-01-01\n\n- {odd}\n");
    assert_eq!(
        said(phrases::check, &[("docs/decisions/0001-a.md", odd), ("CHANGELOG.md", &released)]),
        NOTHING
    );
    let unreleased = format!("## [Unreleased]\n\n- {odd}\n\n## [0.1.0] - 2026-01-01\n");
    assert_eq!(said(phrases::check, &[("CHANGELOG.md", &unreleased)]).len(), 1);
}

#[test]
fn decisions_have_a_number_and_say_why() {
    let text = "# 1. One log\n\n## Context\n\n## Decision\n\n## Consequences\n";
    assert_eq!(said(documents::decisions, &[("docs/decisions/0001-one-log.md", text)]), NOTHING);
    let bad = [
        ("docs/decisions/1-one-log.md", text),
        ("docs/decisions/0002-two.md", "## Context\nDecision\n## Consequences"),
    ];
    assert_eq!(
        said(documents::decisions, &bad),
        [
            "docs/decisions/1-one-log.md: is not named like 0001-what-was-decided.md [decision]",
            "docs/decisions/0002-two.md: has no heading `Decision` [decision]",
        ]
    );
}

#[test]
fn the_changelog_has_an_unreleased_section() {
    assert_eq!(said(documents::changelog, &[("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n")]), NOTHING);
    let expected = ["CHANGELOG.md: has no section `## [Unreleased]` [changelog]"];
    assert_eq!(said(documents::changelog, &[("CHANGELOG.md", "# Changelog\n")]), expected);
    assert_eq!(said(documents::changelog, &[]), expected);
}

#[test]
fn the_lockfile_has_a_budget() {
    let packages = |count: usize| "[[package]]\n".repeat(count);
    assert_eq!(said(documents::lockfile, &[("Cargo.lock", &packages(450))]), NOTHING);
    assert_eq!(
        said(documents::lockfile, &[("Cargo.lock", &packages(451))]),
        ["Cargo.lock: 451 packages; the budget is 450 [lockfile]"]
    );
}

#[test]
fn what_tools_leave_behind_is_not_committed() {
    assert_eq!(said(documents::leftovers, &[("a/tests.rs", ""), ("a/x.snap", "")]), NOTHING);
    assert_eq!(
        said(documents::leftovers, &[("a/.tests.rs.pending-snap", "")]),
        ["a/.tests.rs.pending-snap: a tool left this .pending-snap file behind [leftover]"]
    );
}

#[test]
fn an_exception_covers_its_place_and_must_be_needed() {
    let found =
        vec![Violation::new("file-size", "a/b.rs", 0, "long"), Violation::new("blob", "a/b.rs", 0, "big")];
    let listed = [
        Exception { rule: "file-size", path: "a/", reason: "a table" },
        Exception { rule: "blob", path: "a/c.rs", reason: "an icon" },
    ];
    let left: Vec<String> = exceptions::apply(found, &listed).iter().map(ToString::to_string).collect();
    assert_eq!(
        left,
        [
            "a/c.rs: no longer needs its exception from `blob` (an icon) [idle-exception]",
            "a/b.rs: big [blob]",
        ]
    );
}

#[test]
fn words_of_sqlite_stay_in_its_directory() {
    let code = |line: &str| format!("//! Rows by rowid.\nfn f() {{\n    {line}\n}}\n");
    let said = |path: &str, line: &str| said(dialect::check, &[(path, &code(line))]);
    let statement = "let sql = \"SELECT max(a, 2) FROM t WHERE rowid = ?1\";";
    assert_eq!(said("crates/store/src/sqlite/seal.rs", statement), NOTHING);
    assert_eq!(said("crates/store/src/sqlite.rs", statement), NOTHING);
    assert_eq!(said("crates/ops/src/task.rs", statement), NOTHING);
    assert_eq!(
        said("crates/store/src/tasks.rs", statement),
        ["crates/store/src/tasks.rs:3: `rowid` is only in SQLite; it belongs in store/src/sqlite [dialect]"]
    );
    for line in ["\"UPDATE t SET a = max(a, ?1)\";", "\"PRAGMA x\";", "\"json_set(a, '$.b', 1)\";"] {
        assert_eq!(said("crates/store/src/tasks.rs", line).len(), 1, "{line}");
    }
    for line in
        ["a.max(f(b, c));", "\"SELECT max(coalesce(a, 0)) FROM t\";", "\"INSERT INTO t VALUES (?1)\";"]
    {
        assert_eq!(said("crates/store/src/tasks.rs", line), NOTHING, "{line}");
    }
}
