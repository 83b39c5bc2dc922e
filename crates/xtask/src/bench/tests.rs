use super::rounds::{Series, contender, interleave};
use super::*;

/// A directory under the target directory, removed after the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let dir = target_dir().join(format!("test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    /// A `writ` that implements just enough to be measured.
    fn stand_in(&self, script: &str) -> PathBuf {
        let [text, program] = ["writ.sh", "writ"].map(|name| self.0.join(name));
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Another process writes the program: this process could still hold it open when it is started.
        let words = [text.to_str().unwrap(), program.to_str().unwrap()];
        Job::new("install", &["-m", "755"]).args(&words).output().unwrap();
        program
    }

    fn setup(&self, script: &str) -> Setup {
        Setup { writ: self.stand_in(script), against: None, dir: self.0.clone(), quick: true, rounds: 2 }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn contenders_take_turns_and_the_first_round_only_warms_up() {
    let turns = std::cell::RefCell::new(String::new());
    let record = |letter: char, cost: f64| {
        let turns = &turns;
        contender(if letter == 'a' { "a" } else { "b" }, move |round| {
            turns.borrow_mut().push(letter);
            Ok(cost + f64::from(u32::try_from(round).unwrap()))
        })
    };
    let series = interleave(3, vec![record('a', 10.0), record('b', 20.0)]).unwrap();
    assert_eq!(*turns.borrow(), "abababab");
    let expected = [
        Series { name: "a", costs: vec![11.0, 12.0, 13.0] },
        Series { name: "b", costs: vec![21.0, 22.0, 23.0] },
    ];
    assert_eq!(series, expected);
}

#[test]
fn the_report_shows_medians_their_ratio_and_their_difference() {
    let series = vec![
        Series { name: "ours", costs: vec![9000.0, 3000.0, 1000.0] },
        Series { name: "limit", costs: vec![1000.0, 3000.0] },
    ];
    let report = Report::of_first("x", "a comparison", series);
    let expected = "\
x: a comparison (3 rounds, medians)
  ours                                 3.000 ms
  limit                                2.000 ms
  ours / limit                          1.50 x     +1.000 ms
";
    assert_eq!(report.to_string(), expected);
    assert_eq!(
        report.json(),
        json!({
            "name": "x",
            "about": "a comparison",
            "contenders": [
                {"name": "ours", "median_us": 3000.0, "rounds": 3},
                {"name": "limit", "median_us": 2000.0, "rounds": 2},
            ],
            "ratios": [{"of": "ours", "to": "limit", "ratio": 1.5, "more_us": 1000.0}],
        })
    );
}

#[test]
fn create_runs_on_tiny_input_and_rejects_a_program_that_writes_nothing() {
    let place = Place::new("create");
    let report =
        (changes::CREATE.run)(&place.setup(r#"test "$1 $2" = "task create" && : > "$WRIT_DB""#)).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name).collect();
    assert_eq!(names, ["writ task create", "sqlite3 insert", "true"]);

    let lazy = Place::new("create-lazy");
    let fault = (changes::CREATE.run)(&lazy.setup("exit 0")).err().unwrap();
    assert_eq!(fault, "`writ task create` wrote no store at WRIT_DB");
}

#[test]
fn pipeline_runs_on_tiny_input_and_stops_at_a_failed_run() {
    let place = Place::new("pipeline");
    let counted = r#"grep -c '^command = \["true"\]$' "$2" >> "$HOME/counts""#;
    let report = (pipeline::BENCH.run)(&place.setup(counted)).unwrap();
    assert_eq!(report.series.len(), 2);
    let counts = std::fs::read_to_string(place.0.join("counts")).unwrap();
    assert_eq!(counts.split_whitespace().collect::<Vec<_>>(), ["3", "1"].repeat(3));

    let broken = Place::new("pipeline-broken");
    assert!((pipeline::BENCH.run)(&broken.setup("exit 1")).is_err());
}

#[test]
fn namespace_takes_turns_with_and_without_one() {
    let place = Place::new("namespace");
    let noted = r#"grep '^namespace' "$2" >> "$HOME/namespaces""#;
    let report = (pipeline::NAMESPACE.run)(&place.setup(noted)).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name).collect();
    let supervised = ["only supervised", "in a namespace", "in the full sandbox", "sandbox and snapshot"];
    assert_eq!((&names[..4], names[4]), (&supervised[..], "true"));
    let noted = std::fs::read_to_string(place.0.join("namespaces")).unwrap();
    let one_round = ["namespace = \"off\""; 2].into_iter().chain(["namespace = \"on\""; 2]);
    assert_eq!(noted.lines().take(4).collect::<Vec<_>>(), one_round.collect::<Vec<_>>());
}

#[test]
fn a_task_is_compared_with_its_program_alone_and_many_with_those_who_run_commands() {
    let place = Place::new("noop");
    let noted = r#"grep -c '^max_parallel = 8$' "$2" >> "$HOME/parallel"; true"#;
    let report = (noop::ONE.run)(&place.setup(noted)).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name).collect();
    assert_eq!(names, ["a task", "a task, sandbox off", "a task, only supervised", "fork and exec"]);
    assert!(!std::fs::read_to_string(place.0.join("parallel")).unwrap().contains('1'));

    let place = Place::new("jobs");
    let report = (noop::MANY.run)(&place.setup(noted)).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name).collect();
    assert_eq!(names[..2], ["writ run", "writ run, sandbox off"]);
    assert_eq!(report.pairs.len(), 2 * (names.len() - 2));
    assert_eq!(std::fs::read_to_string(place.0.join("parallel")).unwrap(), "1\n".repeat(6));
}

#[test]
fn only_known_benchmarks_and_options_are_accepted() {
    let parsed = |words: &[&str]| parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let options = parsed(&["create", "--quick", "--rounds", "5"]).unwrap();
    assert_eq!((options.names, options.quick, options.rounds), (vec!["create".to_owned()], true, Some(5)));
    for wrong in [
        &["crate"][..],
        &["--rounds"],
        &["--rounds", "0"],
        &["--fast"],
        &["--against"],
        &["--bless"],
        &["--instructions", "create"],
        &["--instructions", "--quick"],
    ] {
        assert!(parsed(wrong).is_err(), "{wrong:?}");
    }
    assert!(parsed(&["--instructions", "--bless"]).unwrap().bless);
    let names = |words: &[&str]| {
        chosen(&parsed(words).unwrap()).map(|found| found.iter().map(|bench| bench.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&["--against", "old"]).unwrap(), changes::NAMES);
    assert_eq!(names(&["push", "--against", "old"]).unwrap(), ["push"]);
    assert!(names(&["scale", "--against", "old"]).is_err());
}

#[test]
fn another_binary_takes_turns_with_ours_on_its_own_store() {
    let place = Place::new("against");
    let script =
        r#"test "$1 $2" = "task create" && echo "${0##*/} ${WRIT_DB##*/}" >> "$HOME/turns"; : > "$WRIT_DB""#;
    let mut setup = place.setup(script);
    setup.against = Some(installed(&setup.writ, &format!("other-{}", std::process::id())).unwrap());
    let report = (changes::CREATE.run)(&setup).unwrap();
    std::fs::remove_file(setup.against.as_ref().unwrap()).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name).collect();
    assert_eq!(names, ["writ task create", "the other binary", "sqlite3 insert", "true"]);
    assert_eq!(report.pairs, [(0, 1), (0, 2), (0, 3)]);
    let turns = std::fs::read_to_string(place.0.join("turns")).unwrap();
    let other = format!("other-{} against.db", std::process::id());
    assert_eq!(turns.lines().collect::<Vec<_>>(), ["writ writ.db", &other].repeat(3));
}

#[test]
fn a_program_that_only_exits_has_no_commands() {
    let place = Place::new("knows");
    assert!(!knows(&place.stand_in("exit 0"), &["run"]));
    assert!(knows(&place.stand_in("echo usage: writ run PLAN"), &["run"]));
    assert!(!knows(&place.0.join("nothing-here"), &["run"]));
}

#[test]
fn the_time_of_a_process_is_read_behind_its_name() {
    let stat = "7 (a) b) Z 1 7 7 0 -1 4 10 0 0 0 31 12 5 6 20 0 1 0 99 0 0";
    assert_eq!(growth::parsed(stat), Some(('Z', 43.0)));
    assert_eq!(growth::parsed("7 (a"), None);
}
