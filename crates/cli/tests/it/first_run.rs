//! The README's first command.

use testkit::Cli;

#[test]
fn the_example_crew_ends_with_every_task_verified() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/crew.toml");
    let text = std::fs::read_to_string(example).unwrap().replace("../target/crew", "crew");
    std::fs::write(cli.project().join("crew.toml"), text).unwrap();
    let output = cli.run(["run", "crew.toml"]);
    output.success();
    assert!(output.stdout.contains("run done: 3 of 3 tasks done"), "{}", output.stdout);
    assert_eq!(output.stdout.matches("done, verified").count(), 3);
}
