//! The HTTP door: reads, refuses to write, and answers only this machine.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::{Background, Cli, PATIENCE, Signal, eventually_some};

/// Not the user of any test.
const NOBODY: u32 = 65_534;

struct Served<'c> {
    server: Background<'c>,
    address: String,
}

fn serve(cli: &Cli) -> Served<'_> {
    let server = cli.spawn(["serve", "--port", "0"]);
    let address = eventually_some("the server says where it listens", || {
        let line = server.stdout();
        line.trim().strip_prefix("listening on http://").map(str::to_owned)
    });
    Served { server, address }
}

impl Served<'_> {
    /// Sends one request as it is and gives back the status and the body.
    fn send(&self, request: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn post(&self, operation: &str, headers: &str, body: &str) -> (u16, Value) {
        self.send(&format!(
            "POST /v1/{operation} HTTP/1.1\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    fn ask(&self, operation: &str, body: &str) -> (u16, Value) {
        self.post(operation, "Host: localhost\r\n", body)
    }
}

#[test]
fn what_the_command_line_wrote_can_be_read_over_http() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let words = ["task", "create", "--agent", "ann", "--request-id", "r1", "--title", "look at me"];
    let id = cli.run(words).success().json()["data"]["task"]["id"].clone();
    let served = serve(&cli);
    assert_eq!(served.ask("task.get", &json!({"id": id}).to_string()).1["data"]["title"], "look at me");
    assert_eq!(served.ask("task.list", "").1["data"]["tasks"][0]["id"], id);
    let (status, missing) = served.ask("task.get", "{\"id\": \"task_none\"}");
    assert_eq!((status, &missing["error"]["code"]), (404, &json!("NOT_FOUND")));
    let (status, list) =
        served.send("GET /v1/operations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(status, 200);
    assert!(list["operations"].as_array().unwrap().iter().any(|operation| operation["name"] == "run.trace"));
    served.server.signal(Signal::TERM);
    assert_eq!(served.server.wait().status.code(), Some(143));
}

#[test]
fn nothing_can_be_changed_over_http() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let served = serve(&cli);
    for operation in ["task.create", "task.complete", "run.submit", "run.cancel"] {
        let (status, refused) = served.ask(operation, "{\"title\": \"t\"}");
        assert_eq!((status, &refused["error"]["code"]), (403, &json!("DENIED")), "{operation}");
    }
    assert_eq!(served.ask("status.show", "").1["data"]["counts"]["events"], 0);
}

#[test]
fn every_verb_is_listed_with_its_schemas_and_every_reading_one_is_answered() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let served = serve(&cli);
    let (_, list) =
        served.send("GET /v1/operations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let list = list["operations"].as_array().unwrap().clone();
    assert_eq!(list.len(), ops::registry::VERBS.len());
    for (verb, listed) in ops::registry::VERBS.iter().zip(&list) {
        assert_eq!((&listed["name"], &listed["effect"]), (&json!(verb.name), &json!(verb.effect.as_str())));
        assert!(listed["summary"].is_string(), "{listed}");
        assert_eq!(
            (&listed["request"], &listed["answer"]),
            (&(verb.request_schema)(), &(verb.answer_schema)())
        );
        // An empty request is answered, or refused for what it lacks.
        let (status, said) = served.ask(verb.name, "");
        let expected: &[u16] = if verb.effect.mutates() { &[403] } else { &[200, 400] };
        assert!(expected.contains(&status), "{}: {status}: {said}", verb.name);
    }
}

#[test]
fn only_this_machine_is_answered() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let served = serve(&cli);
    let with_user = format!("Host: {}@example.org\r\n", served.address);
    for headers in [
        "",
        with_user.as_str(),
        "Host: localhost:1\r\n",
        "Host: localhost\r\nOrigin: http://localhost:1\r\n",
        "Host: example.org\r\n",
        "Host: localhost.example.org\r\n",
        "Host: localhost\r\nOrigin: http://example.org\r\n",
        "Host: localhost\r\nOrigin: null\r\n",
        "Host: localhost\r\nHost: example.org\r\n",
        "Host: localhost\r\nHost: localhost\r\n",
        "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://example.org\r\n",
        "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n",
    ] {
        let (status, _) = served.post("status.show", headers, "");
        assert!(status == 403 || status == 400, "{headers:?} was answered with {status}");
    }
    for (target, status) in [("http://example.org", 403), ("http://localhost", 200), ("", 200)] {
        let request =
            format!("GET {target}/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert_eq!(served.send(&request).0, status, "{target}");
    }
    let own = format!("Host: {0}\r\nOrigin: http://{0}\r\n", served.address);
    assert_eq!(served.post("status.show", &own, "").0, 200);
    let refused = cli.run(["serve", "--address", "0.0.0.0"]);
    assert!(refused.fails_with(1).stderr.contains("not an address of this machine alone"), "{refused}");
}

/// Nothing more is sent. The server has to end the connection, with or without an answer.
fn is_closed_after(served: &Served<'_>, sent: &str) -> String {
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap_or_else(|error| panic!("{sent:?} is still waited for: {error}"));
    text
}

#[test]
fn a_client_that_only_waits_is_disconnected() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let served = serve(&cli);
    std::thread::scope(|scope| {
        for (sent, answer) in [
            ("", ""),
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow:", ""),
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200"),
            ("POST /v1/task.list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", "HTTP/1.1 400"),
        ] {
            let served = &served;
            scope.spawn(move || {
                let text = is_closed_after(served, sent);
                assert!(text.starts_with(answer) && text.is_empty() == answer.is_empty(), "{sent:?}: {text}");
            });
        }
    });
    assert_eq!(served.ask("status.show", "").0, 200);
}

#[test]
fn only_the_owner_of_the_store_is_answered() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    cli.run(["status"]).success();
    {
        let served = serve(&cli);
        assert_eq!(served.ask("status.show", "").0, 200);
        served.server.signal(Signal::TERM);
        assert_eq!(served.server.wait().status.code(), Some(143));
    }
    // Only root can give a file away; for anybody else the table in `server::peer` shows the rule.
    if std::os::unix::fs::chown(cli.db(), Some(NOBODY), None).is_ok() {
        let served = serve(&cli);
        for request in ["POST /v1/status.show", "GET /v1/operations", "GET /healthz"] {
            let (status, said) =
                served.send(&format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
            assert_eq!((status, &said["error"]["code"]), (403, &json!("DENIED")), "{request}: {said}");
        }
    }
}

#[test]
fn bad_requests_are_told_apart() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let served = serve(&cli);
    assert_eq!(served.ask("no.such", "").0, 404);
    assert_eq!(served.ask("task.list", "{\"limit\": \"many\"}").0, 400);
    let (status, twice) = served.ask("task.list", "{\"limit\": 1, \"limit\": 2}");
    assert_eq!(status, 400);
    assert!(twice["error"]["message"].as_str().unwrap().contains("duplicate key `limit`"));
    assert_eq!(served.ask("task.list", &" ".repeat(2 * 1024 * 1024)).0, 413);
}
