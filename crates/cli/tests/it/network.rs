//! Restricted networks as a user sees them: what plans and the configuration can say, what is reached, what is shown.

use serde_json::{Value, json};
use testkit::{Cli, Output, pong_server};

use crate::aop_tasks::response;
use crate::documents::{aop, writ};
use crate::namespaces::without_namespaces;
use crate::read_back::work;
use crate::run_view::write_plan;
use crate::sandbox::{has, has_sandbox};

/// A server outside every sandbox that answers each request with `pong`.
fn server() -> u16 {
    pong_server().0
}

/// A request in bash: sends the text to the port and succeeds if the answer is the server's.
fn ask(port: u16, text: &str) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{text}' >&3; grep pong <&3")
}

/// The same through the proxy.
fn through_proxy(text: &str) -> String {
    ask(3128, text)
}

/// A task that runs this in bash.
fn task(id: &str, script: &str, more: &str) -> String {
    format!("[[task]]\nid = \"{id}\"\ncommand = [\"bash\", \"-c\", '''{script}''']\n{more}\n")
}

fn write(cli: &Cli, head: &str, tasks: &[String]) {
    std::fs::create_dir_all(cli.project()).unwrap();
    write_plan(cli, &format!("objective = \"Try it\"\nworkspace = \".\"\n{head}\n{}", tasks.concat()));
}

fn run(cli: &Cli, head: &str, tasks: &[String]) -> Output {
    write(cli, head, tasks);
    cli.call(["run", "plan.toml", "--output", "json"]).run()
}

fn tasks(output: &Output) -> Vec<Value> {
    output.json()["data"]["tasks"].as_array().unwrap().clone()
}

fn can_show(cli: &Cli) -> bool {
    has_sandbox(cli) && has("bash")
}

#[test]
fn a_task_reaches_its_hosts_and_a_denied_one_is_reported_by_name_while_others_go_on() {
    let cli = Cli::writ();
    if !can_show(&cli) {
        return;
    }
    let (allowed, other) = (server(), server());
    let host = format!("127.0.0.1:{allowed}");
    let head = format!(
        "sandbox = \"enforce\"\nnetwork = \"restricted\"\nnetwork_allow = [\"{host}\"]\nmax_parallel = 4"
    );
    let output = run(
        &cli,
        &head,
        &[
            task(
                "tunnel",
                &through_proxy(&format!("CONNECT {host} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n")),
                "",
            ),
            task("plain", &through_proxy(&format!("GET http://{host}/ HTTP/1.1\\r\\n\\r\\n")), ""),
            task("forwarded", &ask(allowed, "GET / HTTP/1.1\\r\\n\\r\\n"), ""),
            task("denied", &through_proxy(&format!("CONNECT 127.0.0.1:{other} HTTP/1.1\\r\\n\\r\\n")), ""),
            task(
                "fronted",
                &through_proxy(&format!("GET http://{host}/ HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")),
                "",
            ),
            task("direct", &ask(other, "GET / HTTP/1.1\\r\\n\\r\\n"), ""),
            task("elsewhere", "echo x > /dev/tcp/192.0.2.1/80", ""),
            task("datagram", &format!("echo x > /dev/udp/127.0.0.1/{other}"), ""),
        ],
    );
    let named: Vec<(String, Value)> =
        tasks(&output).into_iter().map(|task| (task["name"].as_str().unwrap().to_owned(), task)).collect();
    let of = |name: &str| &named.iter().find(|(known, _)| known == name).unwrap().1;
    for name in ["tunnel", "plain", "forwarded"] {
        let task = of(name);
        assert_eq!(task["status"], "done", "{name}: {task}");
        assert_eq!(
            (&task["network"][0]["to"], &task["network"][0]["verdict"]),
            (&json!(host), &json!("allowed"))
        );
    }
    for (name, denied) in
        [("denied", format!("`127.0.0.1:{other}`")), ("fronted", "`other.test:80`".to_owned())]
    {
        let task = of(name);
        assert_eq!(task["code"], "E_PERMISSION_DENIED", "{name}: {task}");
        assert!(task["reason"].as_str().unwrap().contains(&denied), "{name}: {task}");
        assert_eq!(task["network"][0]["verdict"], "denied", "{name}: {task}");
    }
    let told = of("denied")["reason"].as_str().unwrap();
    let advice = format!("to allow it, add \"127.0.0.1:{other}\" to the task's `network_allow`");
    assert!(told.contains(&advice), "{told}");
    for name in ["direct", "elsewhere", "datagram"] {
        assert_eq!(of(name)["status"], "failed", "{name}: {}", of(name));
    }
    for name in ["elsewhere", "datagram"] {
        assert_eq!(of(name)["code"], "E_PERMISSION_DENIED", "{name}: {}", of(name));
    }
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    for line in [
        format!("NETWORK_RESTRICTED: the plan allows {host}"),
        format!("NETWORK_ALLOWED: {host} allowed: 1 connection"),
        format!("NETWORK_DENIED: 127.0.0.1:{other} denied: 1 connection; it is not in the allow-list"),
        "NETWORK_DENIED: other.test:80 denied: 1 connection".to_owned(),
    ] {
        assert!(trace.contains(&line), "{line}: {trace}");
    }
    cli.run(["audit", "verify"]).success();
}

#[test]
fn endpoints_of_an_executor_are_reachable_without_network_and_the_trace_says_so() {
    let cli = Cli::writ();
    if !can_show(&cli) {
        return;
    }
    let (model, other) = (server(), server());
    let host = format!("127.0.0.1:{model}");
    let text = format!("[executors.mine]\ncommand = [\"bash\"]\nendpoints = [\"{host}\"]\n");
    cli.scratch().write("home/.config/writ/config.toml", text);
    let head = "sandbox = \"enforce\"\nnetwork = \"none\"";
    let request = |to: u16| format!("GET http://127.0.0.1:{to}/ HTTP/1.1\\r\\n\\r\\n");
    let undeclared = task("undeclared", &ask(model, "GET / HTTP/1.1\\r\\n\\r\\n"), "")
        .replace("\"bash\"", "\"env\", \"bash\"");
    let output = run(
        &cli,
        head,
        &[
            task("proxied", &through_proxy(&request(model)), ""),
            task("forwarded", &ask(model, "GET / HTTP/1.1\\r\\n\\r\\n"), ""),
            task("denied", &through_proxy(&request(other)), ""),
            undeclared,
        ],
    );
    let said: Vec<(Value, Value)> =
        tasks(&output).into_iter().map(|task| (task["status"].clone(), task["code"].clone())).collect();
    let done = (json!("done"), Value::Null);
    let denied = (json!("failed"), json!("E_PERMISSION_DENIED"));
    assert_eq!(said, [done.clone(), done, denied.clone(), denied], "{}", output.stdout);
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    let line = format!("NETWORK_ENDPOINTS: endpoints of the executor, reachable all the same: {host}");
    assert!(trace.contains(&line), "{trace}");
}

#[test]
fn an_aop_task_names_its_hosts_in_an_extension() {
    let cli = writ();
    if !can_show(&cli) {
        return;
    }
    let (allowed, other) = (server(), server());
    let response = response(json!({}));
    for (port, status, code) in
        [(allowed, "done", Value::Null), (other, "failed", json!("E_PERMISSION_DENIED"))]
    {
        let mut document = aop(&cli, "");
        let request = through_proxy(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n"));
        let script = format!("({request}) >&2 && echo '{response}'");
        document["task"]["extensions"]["x_command"] = json!(["bash", "-c", script]);
        document["task"]["extensions"]["x_sandbox"] = json!("enforce");
        document["task"]["extensions"]["x_network_allow"] = json!([format!("127.0.0.1:{allowed}")]);
        document["task"]["access"]["network"] = json!("RESTRICTED");
        let worked = work(&cli, &document);
        assert_eq!(worked.status("T-1").split(' ').next(), Some(status), "{}", worked.reason("T-1"));
        let shown = cli.run(["runs", "show", "@last", "--output", "json"]).success().json();
        assert_eq!(shown["data"]["result"]["tasks"][0]["code"], code, "{shown}");
        let advice = format!("add \"127.0.0.1:{port}\" to `task.extensions.x_network_allow`");
        assert_eq!(worked.reason("T-1").contains(&advice), status == "failed", "{}", worked.reason("T-1"));
    }
}

#[test]
fn a_secret_in_the_name_of_a_host_is_neither_stored_nor_shown() {
    let cli = Cli::writ();
    if !can_show(&cli) {
        return;
    }
    let script = "exec 3<>/dev/tcp/127.0.0.1/3128; printf \"CONNECT $KEY.test:443 HTTP/1.1\\r\\n\\r\\n\" >&3; grep pong <&3";
    let head = "sandbox = \"enforce\"\nnetwork = \"restricted\"\nnetwork_allow = []";
    write(&cli, head, &[task("a", script, "env = { KEY = \"env:CANARY\" }")]);
    let call = cli.call(["run", "plan.toml", "--output", "json"]).env("CANARY", "Yellow-Bird-4711");
    let output = call.run();
    let failed = &tasks(&output)[0];
    assert_eq!(failed["code"], "E_PERMISSION_DENIED", "{failed}");
    assert_eq!(failed["network"][0]["verdict"], "denied", "{failed}");
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    let kept = std::fs::read(cli.db()).unwrap();
    let log = std::fs::read(cli.db().with_extension("db-wal")).unwrap_or_default();
    for text in [output.stdout.as_bytes(), trace.as_bytes(), &kept, &log] {
        assert!(!String::from_utf8_lossy(text).to_lowercase().contains("yellow-bird"));
    }
}

#[test]
fn a_check_of_the_task_has_the_same_network_and_its_output_names_the_denied_host() {
    let cli = Cli::writ();
    if !can_show(&cli) {
        return;
    }
    let (allowed, other) = (server(), server());
    let head =
        format!("sandbox = \"enforce\"\nnetwork = \"restricted\"\nnetwork_allow = [\"127.0.0.1:{allowed}\"]");
    for (port, passes) in [(allowed, true), (other, false)] {
        let request = through_proxy(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n"));
        let check = format!("[[task.checks]]\ncommand = [\"bash\", \"-c\", '''{request}''']\n");
        let checked = &tasks(&run(&cli, &head, &[task("a", "true", &check)]))[0];
        assert_eq!(checked["status"] == "done", passes, "{checked}");
        let denied = format!("denied `127.0.0.1:{other}`");
        assert_eq!(checked["failed_check"].to_string().contains(&denied), !passes, "{checked}");
    }
}

#[test]
fn without_a_namespace_a_restricted_network_is_refused_or_said() {
    let cli = Cli::writ();
    if !can_show(&cli) {
        return;
    }
    let open = server();
    let head = |mode: &str| format!("sandbox = \"{mode}\"\nnetwork = \"restricted\"\nnetwork_allow = []");
    let work = task("a", &ask(open, "GET / HTTP/1.1\\r\\n\\r\\n"), "");
    write(&cli, &head("enforce"), std::slice::from_ref(&work));
    let refused = without_namespaces(&cli, &["run", "plan.toml", "--output", "json"]);
    let refused = &tasks(&refused)[0];
    assert_eq!((&refused["status"], &refused["attempts"]), (&json!("failed"), &json!(0)), "{refused}");
    write(&cli, &head("prefer"), std::slice::from_ref(&work));
    let said = without_namespaces(&cli, &["run", "plan.toml", "--output", "json"]);
    let said = &tasks(&said)[0];
    assert_eq!(said["status"], "done", "{said}");
    let network = said["confinement"]["sandbox.network"].as_str().unwrap();
    assert!(network.starts_with("refused: a proxy that cannot be avoided needs a namespace"), "{network}");
}

#[test]
fn hosts_are_checked_before_anything_runs() {
    let cli = Cli::writ();
    std::fs::create_dir_all(cli.project()).unwrap();
    let plan = "objective = \"o\"\nnetwork = \"restricted\"\nnetwork_allow = [\"https://example.org\"]\n\
                [[task]]\nid = \"a\"\ncommand = [\"true\"]\n[[task]]\nid = \"b\"\ncommand = [\"true\"]\n\
                network = \"none\"\nnetwork_allow = [\"example.org:443\"]\n";
    write_plan(&cli, plan);
    let checked = cli.run(["plan", "check", "plan.toml"]);
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("name a host and a port only, such as `example.org:443`"), "{said}");
    assert!(said.contains("has no effect without `network = \"restricted\"`"), "{said}");
    let text = "[executors.mine]\ncommand = [\"mine\"]\nendpoints = [\"example.org\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", text);
    let refused = cli.run(["plan", "check", "plan.toml"]);
    assert!(refused.stderr.contains("$.executors.mine.endpoints[0]"), "{}", refused.stderr);
    assert!(refused.stderr.contains("needs a port from 1 to 65535"), "{}", refused.stderr);
}

#[test]
fn a_restricted_network_can_be_tried_without_a_run() {
    let cli = Cli::writ();
    if !can_show(&cli) {
        return;
    }
    let (allowed, other) = (server(), server());
    let head = format!(
        "objective = \"o\"\nsandbox = \"enforce\"\nnetwork = \"restricted\"\nnetwork_allow = [\"127.0.0.1:{allowed}\"]\n"
    );
    std::fs::create_dir_all(cli.project()).unwrap();
    write_plan(&cli, &format!("{head}[[task]]\nid = \"a\"\ncommand = [\"true\"]\n"));
    let trying = |port: u16| {
        let script = through_proxy(&format!(
            "CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n"
        ));
        let words = ["sandbox", "test", "--plan", "plan.toml", "--task", "a", "--", "bash", "-c", &script];
        cli.run(words)
    };
    let reached = trying(allowed);
    assert_eq!(reached.stdout, "pong\n", "{}", reached.stderr);
    assert!(reached.stderr.contains(&format!("sandbox network: only 127.0.0.1:{allowed} (the plan)\n")));
    assert!(reached.stderr.contains(&format!("sandbox network: 127.0.0.1:{allowed} allowed\n")));
    let stopped = trying(other);
    assert!(!stopped.status.success());
    assert!(
        stopped
            .stderr
            .contains(&format!("sandbox network: 127.0.0.1:{other} denied: it is not in the allow-list\n")),
        "{}",
        stopped.stderr
    );
}
