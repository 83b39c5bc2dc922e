//! What a run may spend, as people see it: dollars that are free, reserved, spent or withheld.

use serde_json::json;
use testkit::{Cli, eventually, fake_agent};

use crate::decisions::digits;
use crate::run_view::{RunView, audit_is_clean, write_plan};

/// A command, an agent that says what it cost, and one that does not.
fn plan() -> String {
    let agent = fake_agent();
    let agent = agent.to_str().unwrap();
    let task = |id: &str, more: &str| {
        format!("[[task]]\nid = \"{id}\"\n{more}\nbudget = {{ max_cost_usd = 2.0, max_tokens = 200 }}\n")
    };
    let speaks = |script: &str| {
        format!("executor = \"aop-stdio\"\nprompt = \"p\"\ncommand = [\"{agent}\", \"{script}\"]")
    };
    [
        "objective = \"Spend\"\nworkspace = \".\"\n[budget]\nmax_cost_usd = 10.0\nmax_tokens = 1000\n"
            .to_owned(),
        task("shell", "command = [\"true\"]"),
        task("honest", &speaks("aop-cost 0.25; aop-success")),
        task("silent", &speaks("aop-success")),
    ]
    .concat()
}

fn budget(cli: &Cli, run: &str) -> String {
    let shown = cli.run(["budget", "show", "--run", run, "--output", "text"]);
    let lines = shown.success().stdout.lines();
    let words = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    lines.take(5).map(words).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_an_agent_does_not_report_is_withheld_until_it_is_settled() {
    let cli = Cli::writ();
    write_plan(&cli, &plan());
    let output = cli.run(["run", "plan.toml"]);
    assert!(output.success().stdout.contains("$0.25"), "{output}");
    let run = RunView::only(&cli).unwrap().id;
    let before = "limit $10.00, free $7.75, reserved $0.00, spent $0.25, withheld $2.00";
    assert_eq!(budget(&cli, &run), before);
    let shown = cli.run(["budget", "show", "--run", &run, "--output", "text"]);
    let told = format!(
        "`silent` did not report what it spent; $2.00 and 200 tokens are withheld until someone does:\n  \
         writ budget settle {run} silent --cost USD --tokens COUNT\n"
    );
    assert!(shown.success().stdout.ends_with(&told), "{shown}");
    let document = cli.run(["budget", "show", "--run", &run, "--output", "json"]).success().json();
    assert_eq!(
        document["data"]["withheld_for"],
        json!([{"task": "silent", "cost": 2_000_000, "tokens": 200}])
    );

    let settle = |words: &[&str]| {
        crate::decisions::decide(&cli, &[&["budget", "settle", &run, "silent"], words].concat())
    };
    settle(&["--cost", "2.01"]).fails_with(1);
    settle(&["--cost", "-1"]).fails_with(2);
    settle(&[]).fails_with(2);
    cli.run(["budget", "settle", &run, "nobody", "--cost", "0"]).fails_with(1);
    cli.run(["budget", "settle", &run, "shell", "--cost", "0"]).fails_with(1);
    assert_eq!(budget(&cli, &run), before, "a refusal changes nothing");

    for _ in 0..2 {
        settle(&["--cost", "0.12", "--request-id", "once"]).success();
    }
    let after = "limit $10.00, free $9.63, reserved $0.00, spent $0.37, withheld $0.00";
    assert_eq!(budget(&cli, &run), after);
    settle(&["--cost", "0.12"]).fails_with(1);
    settle(&["--tokens", "200"]).success();
    assert_eq!(budget(&cli, &run), after);
    audit_is_clean(&cli);
}

#[test]
fn a_budget_of_money_alone_has_no_limit_of_tokens() {
    let cli = Cli::writ();
    let task = "[[task]]\nid = \"a\"\ncommand = [\"true\"]\nbudget = { max_cost_usd = 0 }\n";
    write_plan(&cli, &format!("objective = \"o\"\nworkspace = \".\"\n[budget]\nmax_cost_usd = 1.0\n{task}"));
    cli.run(["run", "plan.toml"]).success();
    let shown = cli.run(["budget", "show", "--output", "text"]);
    let lines: Vec<&str> = shown.success().stdout.lines().take(2).collect();
    assert!(lines.iter().all(|line| line.ends_with("no limit tokens")), "{shown}");
    let document = cli.run(["budget", "show", "--output", "json"]).success().json()["data"].clone();
    let expected = json!({"cost": 1_000_000, "tokens": null});
    assert_eq!((&document["limit"], &document["free"]), (&expected, &expected));
}

#[test]
fn a_question_about_a_budget_names_only_limits_that_exist() {
    let cli = Cli::writ();
    let silent =
        format!("executor = \"aop-stdio\"\nprompt = \"p\"\ncommand = [{:?}, \"aop-success\"]", fake_agent());
    write_plan(
        &cli,
        &format!(
            "objective = \"o\"\nworkspace = \".\"\nsandbox = \"off\"\n[budget]\nmax_cost_usd = 1\n\
             [[task]]\nid = \"a\"\n{silent}\n[task.budget]\nmax_cost_usd = 0.5\n"
        ),
    );
    cli.run(["run", "plan.toml"]).success();
    let run = RunView::only(&cli).unwrap().id;
    let shown = cli.run(["budget", "show", "--output", "text"]).success().stdout.clone();
    let told = format!("$0.50 is withheld until someone does:\n  writ budget settle {run} a --cost USD\n");
    assert!(shown.ends_with(&told), "{shown}");
    let mut asked =
        cli.call(["budget", "set", "--run", "@last", "--cost", "3"]).env("USER", "eve").on_terminal(200, 24);
    let shown = || String::from_utf8_lossy(&asked.printed()).into_owned();
    eventually("the question is asked", || digits(&shown()).is_some());
    let question = shown();
    assert!(question.contains(&format!("Raise the budget of {run} (o) from $1.00 to $3.00")), "{question}");
    asked.press(&format!("{}\n", digits(&question).unwrap()));
    assert!(asked.wait().success());
}
