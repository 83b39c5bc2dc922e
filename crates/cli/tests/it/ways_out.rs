//! Ways out of a demanded sandbox, each tried by a task of a plan: stopped, reported with the right code, and the tasks
//! beside it are done. Calls that no ordinary command makes are tried in `engine/tests/it/sandbox.rs`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use serde_json::Value;
use testkit::Cli;

use crate::run_view::write_plan;
use crate::sandbox::{has, has_sandbox};

fn task(id: &str, script: &str, more: &str) -> String {
    format!(
        "[[task]]\nid = \"{id}\"\nshell = true\nwrites = [\"{id}/\"]\n{more}\ncommand = '''\n{script}\n'''\n"
    )
}

/// Runs these tasks under `enforce`. Each writes to the directory of its name.
fn worked(cli: &Cli, head: &str, tasks: &[String]) -> Vec<Value> {
    write_plan(
        cli,
        &format!("objective = \"o\"\nworkspace = \".\"\nsandbox = \"enforce\"\n{head}\n{}", tasks.concat()),
    );
    let output = cli.call(["run", "plan.toml", "--output", "json"]).run();
    let answer = output.json();
    let data = if answer["data"].is_null() { &answer["error_context"] } else { &answer["data"] };
    data["tasks"].as_array().unwrap_or_else(|| panic!("{output}")).clone()
}

#[test]
fn each_way_out_of_the_files_is_stopped_and_reported_while_another_task_goes_on() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) || !has("git") {
        return;
    }
    let closed = cli.scratch().write("project/closed/file", "as it was\n");
    cli.call(["init", "-q"]).program("git").run().success();
    let (db, pwd) = (cli.db().display().to_string(), cli.project().display().to_string());
    let ways = [
        ("outside", "echo x > closed/file".to_owned()),
        ("symlink", "ln -s ../closed symlink/l && echo x > symlink/l/file".to_owned()),
        ("hardlink", "ln closed/file hardlink/h && echo x > hardlink/h".to_owned()),
        ("rename", "echo x > rename/n && mv rename/n closed/file".to_owned()),
        ("root", format!("echo x > /proc/self/root{pwd}/closed/file")),
        ("bind", "mount --bind closed bind && echo x > bind/file".to_owned()),
        ("store", format!("cat {db} > store/copy")),
        ("key", format!("cat {db}.key > key/copy")),
        ("logs", format!("ls {db}.logs > logs/list && cat {db}.logs/* > logs/copy")),
        ("hook", "mkdir -p .git/hooks && echo 'touch /tmp/x' > .git/hooks/pre-commit".to_owned()),
        ("filter", "git config filter.x.clean 'touch closed/x'".to_owned()),
    ];
    for (id, script) in ways {
        let seen = worked(&cli, "", &[task(id, &script, ""), task("beside", "echo x > beside/file", "")]);
        assert_eq!(
            (&seen[0]["status"], &seen[1]["status"]),
            (&"failed".into(), &"done".into()),
            "{id}: {seen:?}"
        );
        // What is hidden with its directory is not there at all.
        if !["store", "key", "logs"].contains(&id) {
            assert_eq!(seen[0]["code"], "E_PERMISSION_DENIED", "{id}: {seen:?}");
        }
        assert_eq!(std::fs::read_to_string(&closed).unwrap(), "as it was\n", "{id}");
    }
    assert!(!cli.project().join(".git/hooks/pre-commit").exists());
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn each_way_to_others_is_stopped_and_reported_while_another_task_goes_on() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) || !has("bash") || !has("python3") {
        return;
    }
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    // As an SSH agent has one, in a directory that the task can see.
    let agent = cli.scratch().dir("project/agents").join("agent.sock");
    let _agent = UnixListener::bind(&agent).unwrap();
    let connect = |address: &str| {
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect({address})'")
    };
    let name = format!("writ-ways-out-{}", std::process::id());
    let at = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&at).unwrap();
    let closed = "network = \"none\"";
    let ways = [
        ("tcp", format!("bash -c 'echo x > /dev/tcp/127.0.0.1/{tcp_port}'"), closed),
        ("udp", format!("bash -c 'echo x > /dev/udp/127.0.0.1/{udp_port}'"), closed),
        ("path", connect(&format!("\"{}\"", agent.display())), ""),
        ("abstract", connect(&format!("\"\\0{name}\"")), ""),
        (
            "trace",
            "python3 -c 'import ctypes, os; r = ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0); \
                   e = ctypes.get_errno(); raise SystemExit(0 if r == 0 else os.strerror(e))'"
                .to_owned(),
            "",
        ),
        ("signal", "kill -9 1 && sleep 0.2 && exit 0".to_owned(), "timeout = \"20s\""),
    ];
    for (id, script, more) in ways {
        let seen = worked(&cli, "", &[task(id, &script, more), task("beside", "echo x > beside/file", "")]);
        assert_eq!(
            (&seen[0]["status"], &seen[1]["status"]),
            (&"failed".into(), &"done".into()),
            "{id}: {seen:?}"
        );
        assert_eq!(seen[0]["code"], "E_PERMISSION_DENIED", "{id}: {seen:?}");
    }
    let unset = worked(&cli, "", &[task("variable", "test -z \"$SSH_AUTH_SOCK\"", "")]);
    assert_eq!(unset[0]["status"], "done", "{unset:?}");
}

#[test]
fn a_task_that_uses_too_much_fails_with_the_reason_and_another_one_goes_on() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) || !has("python3") {
        return;
    }
    let home = cli.scratch().path().join("home");
    cli.scratch().write("home/.config/writ/config.toml", "[sandbox]\nmemory_mib = 128\nprocesses_max = 60\n");
    let memory_file = "python3 -c 'import os, time; f = os.memfd_create(\"x\"); \
                       [os.write(f, b\"x\" * 1048576) for _ in range(300)]; time.sleep(60)'";
    let ways = [
        ("memfd", memory_file, "128 MiB of memory"),
        ("shm", "head -c 300M /dev/zero > /dev/shm/x; sleep 60", "128 MiB of memory"),
        ("own", "python3 -c 'import time; x = bytearray(300 << 20); time.sleep(60)'", "128 MiB of memory"),
        ("bomb", "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done; wait", "60 processes"),
    ];
    let tasks: Vec<String> = ways.iter().map(|(id, script, _)| task(id, script, "")).collect();
    write_plan(
        &cli,
        &format!(
            "objective = \"o\"\nworkspace = \".\"\nsandbox = \"enforce\"\n{}{}",
            tasks.concat(),
            task("beside", "echo x > beside/file", "")
        ),
    );
    let output = cli.call(["run", "plan.toml", "--output", "json"]).env("HOME", &home).run();
    let answer = output.json();
    let data = if answer["data"].is_null() { &answer["error_context"] } else { &answer["data"] };
    for (number, (id, _, reason)) in ways.iter().enumerate() {
        let task = &data["tasks"][number];
        assert_eq!((&task["name"], &task["status"]), (&Value::from(*id), &"failed".into()), "{output}");
        assert!(task["reason"].as_str().unwrap().contains(reason), "{task}");
        assert_eq!(task["code"], "E_PROCESS_CRASH", "{task}");
    }
    assert_eq!(data["tasks"][ways.len()]["status"], "done", "{output}");
}
