use super::*;

#[test]
fn only_the_agents_suite_is_run_and_it_is_told_where_the_programs_are() {
    let directories = [PathBuf::from("/c/claude-1/bin"), PathBuf::from("/c/codex-2/bin")];
    let planned = |runner, ci| {
        let jobs = plan(runner, ci, &directories, &["claude".to_owned()]).expect("paths without a colon");
        jobs.iter().map(Job::to_string).collect::<Vec<_>>()
    };
    let programs = "WRIT_TEST_AGENTS=/c/claude-1/bin:/c/codex-2/bin";
    assert_eq!(
        planned(Runner::Nextest(4), false),
        [
            "cargo build --quiet --bins".to_owned(),
            format!("{programs} cargo nextest run --profile agents --test agents claude"),
        ]
    );
    assert_eq!(
        planned(Runner::CargoTest, true)[1],
        format!("{programs} INSTA_UPDATE=no cargo test --test agents claude")
    );
}

#[test]
fn the_cache_is_the_users_and_a_relative_one_is_ignored() {
    let home = || Some(PathBuf::from("/h"));
    let cache = |xdg: Option<&str>, home| cache_directory(xdg.map(PathBuf::from), home);
    assert_eq!(cache(Some("/x"), home()), Ok(PathBuf::from("/x/writ-agents")));
    assert_eq!(cache(Some("x"), home()), Ok(PathBuf::from("/h/.cache/writ-agents")));
    assert_eq!(cache(None, home()), Ok(PathBuf::from("/h/.cache/writ-agents")));
    assert!(cache(None, None).is_err());
}

#[test]
fn every_package_is_pinned_to_the_version_it_is_listed_with() {
    for agent in AGENTS {
        let at = agent.package.rsplit_once("==").or_else(|| agent.package.rsplit_once('@'));
        let (_, version) = at.expect("a package with a version");
        assert_eq!(version.strip_suffix("-linux-x64").unwrap_or(version), agent.version, "{}", agent.name);
    }
}

#[test]
fn an_installed_program_is_not_installed_again() {
    let cache = std::env::temp_dir().join(format!("writ-agents-test-{}", std::process::id()));
    for agent in AGENTS {
        let programs = cache.join(agent.directory()).join("bin");
        fs::create_dir_all(&programs).expect("a directory in the temporary directory");
        fs::write(programs.join(agent.name), "").expect("a file in a new directory");
    }
    let found = install(&cache).expect("nothing to install");
    fs::remove_dir_all(&cache).expect("the directory made above");
    assert_eq!(found.first(), Some(&cache.join("claude-2.1.325/bin")));
    assert_eq!(found.len(), AGENTS.len());
}
