use super::*;

fn scope(text: &str) -> Scope {
    Scope::parse(text, None).unwrap()
}

#[test]
fn a_sandbox_that_is_demanded_is_refused_where_a_part_is_known_to_be_missing() {
    let wanted = |mode, namespace, network| {
        let wanted = SandboxRequest { network, ..SandboxRequest::plain(&[], Some(mode), namespace) };
        wanted.refusal(Path::new("/")).is_some()
    };
    assert!(!wanted(SandboxMode::Enforce, Namespace::On, NetworkUse::None));
    assert!(wanted(SandboxMode::Enforce, Namespace::Off, NetworkUse::Full));
    assert!(!wanted(SandboxMode::Enforce, Namespace::On, NetworkUse::Restricted));
    assert!(wanted(SandboxMode::Enforce, Namespace::Off, NetworkUse::Restricted));
    assert!(!wanted(SandboxMode::Prefer, Namespace::Off, NetworkUse::Restricted));
}

#[test]
fn a_sandbox_that_is_demanded_is_refused_where_the_workspace_does_not_allow_it() {
    let scratch = tempfile::tempdir().unwrap();
    let workspace = scratch.path();
    std::os::unix::fs::symlink("/etc", workspace.join("away")).unwrap();
    let refusal = |writes: &str, git: GitUse| {
        let writes = [scope(writes)];
        let wanted = SandboxRequest {
            git,
            ..SandboxRequest::plain(&writes, Some(SandboxMode::Enforce), Namespace::On)
        };
        wanted.refusal(workspace)
    };
    assert_eq!(refusal("src", GitUse::Commit), None);
    assert_eq!(refusal("away/x", GitUse::Read).as_deref(), Some("`away/x` leads out of the workspace"));
    std::fs::write(workspace.join(".git"), "gitdir: elsewhere").unwrap();
    assert!(refusal("src", GitUse::Commit).is_some_and(|reason| reason.contains("not a directory")));
    assert_eq!(refusal("src", GitUse::Read), None);
}

#[test]
fn writing_is_opened_by_directory_and_never_outside_the_workspace() {
    let scratch = tempfile::tempdir().unwrap();
    let workspace = scratch.path().canonicalize().unwrap();
    std::fs::create_dir_all(workspace.join("src/inner")).unwrap();
    std::fs::write(workspace.join("src/a.rs"), "").unwrap();
    std::os::unix::fs::symlink("/etc", workspace.join("away")).unwrap();
    for name in ["src/b.rs", "top"] {
        std::fs::write(workspace.join(name), "").unwrap();
    }
    let opened = |scopes: &[&str], opens| {
        let scopes: Vec<Scope> = scopes.iter().map(|text| scope(text)).collect();
        let opened = paths::opened(&workspace, scopes.iter().map(|scope| (scope, opens)))?;
        let short = |list: &mut dyn Iterator<Item = &PathBuf>| {
            let names = list.map(|path| path.strip_prefix(&workspace).unwrap().display().to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        let held = short(&mut opened.held.iter());
        Ok([short(&mut opened.directories.iter()), held, short(&mut opened.pinned.iter())])
    };
    let cases = [
        (&["src/a.rs", "src/new.rs", "src"][..], ["src", "", ""]),
        (&["."], ["", "", ""]),
        // What is beside a file stays as it is, and so does what is beside the way to another one.
        (&["src/a.rs"], ["src", "src/b.rs src/inner", ""]),
        (&["src/inner", "src/new/deep"], ["src src/inner", "src/a.rs src/b.rs", ""]),
        (&["top", "src/inner/new"], [" src/inner", "src/a.rs src/b.rs", "src src/inner"]),
    ];
    for (scopes, expected) in cases {
        assert_eq!(opened(scopes, Opens::ForNewFiles), Ok(expected.map(str::to_owned)), "{scopes:?}");
    }
    let there = opened(&["src/a.rs", "src/inner", "src/new", "none"], Opens::WhatIsThere);
    assert_eq!(there, Ok(["src/a.rs src/inner", "", ""].map(str::to_owned)));
    assert_eq!(
        opened(&["away/x"], Opens::ForNewFiles),
        Err("`away/x` leads out of the workspace".to_owned())
    );
}

#[test]
fn credentials_belong_to_the_command_that_declares_them() {
    let settings = SandboxSettings {
        credentials: vec!["/h/.a".into()],
        credentials_of_commands: vec![(vec!["agent".into(), "-p".into()], vec!["/h/.b".into()])],
        ..SandboxSettings::default()
    };
    let of = |words: &[&str]| settings.credentials_of(&words.iter().map(OsString::from).collect::<Vec<_>>());
    assert_eq!(of(&["agent", "-p", "x"]), [PathBuf::from("/h/.a"), "/h/.b".into()]);
    assert_eq!(of(&["agent"]), [PathBuf::from("/h/.a")]);
}

#[test]
fn endpoints_belong_to_the_command_that_declares_them_and_hosts_to_a_restricted_network() {
    let rule = |text: &str| HostRule::parse(text).unwrap();
    let settings = SandboxSettings {
        endpoints_of_commands: vec![(vec!["agent".into()], vec![rule("model.test:443")])],
        ..SandboxSettings::default()
    };
    let allow = [rule("example.org:443")];
    let of = |network, word: &str| {
        let wanted = SandboxRequest {
            network,
            network_allow: &allow,
            ..SandboxRequest::plain(&[], Some(SandboxMode::Enforce), Namespace::On)
        };
        let reachable = settings.reachable_of(&wanted, &[word.into(), "-p".into()]);
        [reachable.allow, reachable.endpoints].map(|rules| rules.len())
    };
    assert_eq!(of(NetworkUse::Full, "agent"), [0, 0]);
    assert_eq!(of(NetworkUse::Restricted, "agent"), [1, 1]);
    assert_eq!(of(NetworkUse::Restricted, "other"), [1, 0]);
    assert_eq!(of(NetworkUse::None, "agent"), [0, 1]);
    assert_eq!(of(NetworkUse::None, "other"), [0, 0]);
}
