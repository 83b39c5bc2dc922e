//! Restricted networks, tried by real children with real servers outside. Where this machine has no sandbox there is
//! nothing to show.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};

use contract::domain::confinement::NetworkUse;
use contract::domain::network::{HostRule, Verdict};
use engine::supervisor::{ChildReport, LaunchSpec, ProcessExit, Reachable, SandboxPart};

use testkit::{PATIENCE, eventually, pong_server};

use crate::sandbox::{Outcome, World, has_sandbox};
use crate::world::{PROGRAM, Run, alive, fresh_token, script};

/// Where the proxy listens inside.
const PROXY: &str = "127.0.0.1:3128";

fn rules(texts: &[String]) -> Vec<HostRule> {
    texts.iter().map(|text| HostRule::parse(text).unwrap()).collect()
}

/// A sandbox that reaches these hosts by its plan, and these as endpoints of its executor.
fn world(network: NetworkUse, allow: &[String], endpoints: &[String]) -> World {
    let mut world = World::new();
    world.sandbox.network = network;
    world.sandbox.reachable = Reachable { allow: rules(allow), endpoints: rules(endpoints) };
    world
}

fn visits(outcome: &Outcome) -> Vec<(String, Verdict, u64)> {
    let visits = outcome.visits.iter();
    visits.map(|visit| (visit.to.clone(), visit.verdict, visit.connections)).collect()
}

#[test]
fn an_allowed_host_is_reached_through_the_proxy_and_on_its_own_port() {
    if !has_sandbox() {
        return;
    }
    let (port, requests) = pong_server();
    let host = format!("127.0.0.1:{port}");
    let world = world(NetworkUse::Restricted, std::slice::from_ref(&host), &[]);
    for text in [
        format!("{PROXY} CONNECT {host} HTTP/1.1||GET / HTTP/1.1||"),
        format!("{PROXY} GET http://{host}/ HTTP/1.1|Host: {host}||"),
        format!("{host} GET / HTTP/1.1|Host: {host}||"),
    ] {
        let outcome = world.escape("ask", &text);
        assert!(outcome.printed.ends_with("pong"), "{text}: {} {:?}", outcome.printed, outcome.fault);
        assert_eq!(visits(&outcome), [(host.clone(), Verdict::Allowed, 1)], "{text}");
        assert!(outcome.visits[0].received_bytes > 0 && outcome.visits[0].sent_bytes > 0);
        assert!(requests.recv_timeout(PATIENCE).unwrap().starts_with("GET / HTTP/1.1\r\n"));
    }
    let variables = world.run("env | grep -i _proxy= | sort").printed;
    assert!(variables.contains("HTTPS_PROXY=http://127.0.0.1:3128\n"), "{variables}");
    assert!(variables.contains("no_proxy=localhost,127.0.0.1,::1\n"), "{variables}");
}

#[test]
fn another_host_is_stopped_and_reported_whichever_way_it_is_named() {
    if !has_sandbox() {
        return;
    }
    let (allowed, requests) = pong_server();
    let (other, unasked) = pong_server();
    let host = format!("127.0.0.1:{allowed}");
    let world = world(NetworkUse::Restricted, std::slice::from_ref(&host), &[]);
    let second = format!("GET http://{host}/ HTTP/1.1||GET http://127.0.0.1:{other}/ HTTP/1.1||");
    for (text, denied) in [
        (format!("CONNECT 127.0.0.1:{other} HTTP/1.1||"), format!("127.0.0.1:{other}")),
        (format!("GET http://127.0.0.1:{other}/ HTTP/1.1||"), format!("127.0.0.1:{other}")),
        (format!("CONNECT localhost:{allowed} HTTP/1.1||"), format!("localhost:{allowed}")),
        (format!("CONNECT [::1]:{allowed} HTTP/1.1||"), format!("[::1]:{allowed}")),
        ("CONNECT example.org:443 HTTP/1.1||".to_owned(), "example.org:443".to_owned()),
        (format!("GET http://{host}/ HTTP/1.1|Host: other.test||"), "other.test:80".to_owned()),
        (format!("CONNECT {host} HTTP/1.1|Host: other.test:443||"), "other.test:443".to_owned()),
    ] {
        let outcome = world.escape("ask", &format!("{PROXY} {text}"));
        assert!(outcome.printed.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{text}: {}", outcome.printed);
        assert!(outcome.printed.contains(&format!("`{denied}`")), "{text}: {}", outcome.printed);
        assert_eq!(visits(&outcome), [(denied, Verdict::Denied, 1)], "{text}");
    }
    assert!(requests.try_recv().is_err());
    // A second request on a connection has no one to answer it.
    let outcome = world.escape("ask", &format!("{PROXY} {second}"));
    assert_eq!(visits(&outcome), [(host, Verdict::Allowed, 1)], "{}", outcome.printed);
    assert!(!requests.recv_timeout(PATIENCE).unwrap().contains(&other.to_string()));
    assert!(unasked.try_recv().is_err());
}

#[test]
fn there_is_no_way_around_the_proxy() {
    if !has_sandbox() {
        return;
    }
    let (allowed, _requests) = pong_server();
    let tcp = TcpListener::bind("0.0.0.0:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = tcp.local_addr().unwrap().port();
    let world = world(NetworkUse::Restricted, &[format!("127.0.0.1:{allowed}")], &[]);
    for (way, word) in [
        ("tcp", format!("127.0.0.1:{at}")),
        ("tcp", format!("[::1]:{at}")),
        ("tcp", "192.0.2.1:80".to_owned()),
        ("tcp", "[2001:db8::1]:80".to_owned()),
        ("udp", udp.local_addr().unwrap().to_string()),
        ("raw", String::new()),
        ("packet", String::new()),
    ] {
        let outcome = world.escape(way, &word);
        assert!(outcome.is_stopped(), "{way} {word}: {} {:?}", outcome.printed, outcome.fault);
    }
    // It is a network of its own, in which tests can have their servers.
    let own = world.escape("own server", "");
    assert_eq!(own.exit, Some(ProcessExit::Code(0)), "{}", own.printed);
    let interfaces = world.run("grep -c : /proc/net/dev").printed;
    assert_eq!(interfaces, "1\n");
}

#[test]
fn endpoints_of_an_executor_stay_reachable_without_network_and_nothing_else_does() {
    if !has_sandbox() {
        return;
    }
    let (model, requests) = pong_server();
    let (other, unasked) = pong_server();
    let host = format!("127.0.0.1:{model}");
    let world = world(NetworkUse::None, &[], std::slice::from_ref(&host));
    for text in [
        format!("{PROXY} CONNECT {host} HTTP/1.1||GET / HTTP/1.1||"),
        format!("{PROXY} POST http://{host}/ HTTP/1.1|Host: {host}||"),
        format!("{host} GET / HTTP/1.1|Host: {host}||"),
    ] {
        let outcome = world.escape("ask", &text);
        assert!(outcome.printed.ends_with("pong"), "{text}: {} {:?}", outcome.printed, outcome.fault);
        requests.recv_timeout(PATIENCE).unwrap();
        let in_force = outcome.in_force.and_then(|in_force| in_force.sandbox).expect("it was asked for");
        assert_eq!(in_force.network, SandboxPart::On);
        assert_eq!(in_force.reachable.unwrap().endpoints, rules(std::slice::from_ref(&host)));
    }
    let denied = world.escape("ask", &format!("{PROXY} CONNECT 127.0.0.1:{other} HTTP/1.1||"));
    assert!(denied.printed.starts_with("HTTP/1.1 403 "), "{}", denied.printed);
    assert!(unasked.try_recv().is_err());
    // Landlock stops what is no door, also inside.
    for (way, word) in [("tcp", format!("127.0.0.1:{other}")), ("own server", String::new())] {
        let outcome = world.escape(way, &word);
        assert_eq!(
            outcome.printed,
            format!("{way}: Permission denied (os error 13)\n"),
            "{:?}",
            outcome.fault
        );
    }
    assert!(world.escape("udp", "127.0.0.1:9").is_stopped());
}

#[test]
fn hostile_clients_are_answered_and_others_go_on() {
    if !has_sandbox() {
        return;
    }
    let (port, _requests) = pong_server();
    let host = format!("127.0.0.1:{port}");
    let world = world(NetworkUse::Restricted, std::slice::from_ref(&host), &[]);
    for (text, status) in [
        ("GET / HTTP/1.1||".to_owned(), "400"),
        ("\u{16}\u{3}\u{1}||".to_owned(), "400"),
        (format!("GET http://{host}@example.org/ HTTP/1.1||"), "400"),
        (format!("GET http://{host}/ HTTP/1.1|X: {}", "x".repeat(100_000)), "431"),
        (format!("POST http://{host}/ HTTP/1.1|Content-Length: 1|Transfer-Encoding: chunked||"), "400"),
    ] {
        let outcome = world.escape("ask", &format!("{PROXY} {text}"));
        assert!(outcome.printed.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {}", outcome.printed);
    }
    let fine = world.escape("ask", &format!("{PROXY} GET http://{host}/ HTTP/1.1||"));
    assert!(fine.printed.ends_with("pong"), "{}", fine.printed);
}

/// A child with an open tunnel to a server that never answers. Both ends.
fn tunnel() -> (Run, std::net::TcpStream) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = silent.local_addr().unwrap().to_string();
    let world = world(NetworkUse::Restricted, std::slice::from_ref(&host), &[]);
    let token = fresh_token();
    let mut spec: LaunchSpec = script(&token, "exit");
    let text = format!("{PROXY} CONNECT {host} HTTP/1.1||hello");
    spec.argv = [PROGRAM, "escape", "ask", &text].map(Into::into).to_vec();
    spec.cwd = world.path("work");
    world.confine(&mut spec);
    let run = Run::of(token, spec);
    let (mut server, _) = silent.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut hello = [0; 5];
    server.read_exact(&mut hello).unwrap();
    (run, server)
}

#[test]
fn the_proxy_itself_is_confined() {
    if !has_sandbox() {
        return;
    }
    let (run, _server) = tunnel();
    let shim = run.handle.shim_pid();
    let children = alive(&run.token).into_iter().filter(|process| process.parent == shim);
    let status = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let confined = children.map(|process| status(process.pid)).filter(|text| text.contains("Seccomp:\t2"));
    assert_eq!(confined.count(), 1);
    run.handle.kill();
    assert!(!run.finish().ends.is_empty());
}

#[test]
fn the_end_of_the_shim_ends_the_proxy() {
    if !has_sandbox() {
        return;
    }
    // Killed in one instant: the kernel ends the proxy.
    let (run, mut server) = tunnel();
    let shim = rustix::process::Pid::from_raw(run.handle.shim_pid().cast_signed()).unwrap();
    rustix::process::kill_process(shim, rustix::process::Signal::KILL).unwrap();
    assert_eq!(server.read(&mut [0; 8]).unwrap_or(0), 0);
    eventually("everything is gone", || alive(&run.token).is_empty());
    // Ended by writ: what was reached is told before the last report.
    let (run, mut server) = tunnel();
    run.handle.kill();
    let mut visited = Vec::new();
    loop {
        match run.reports.recv_timeout(PATIENCE).unwrap() {
            ChildReport::Visited(visit) => visited.push((visit.verdict, visit.sent_bytes)),
            ChildReport::Gone(_) => break,
            _ => {}
        }
    }
    assert_eq!(visited.last(), Some(&(Verdict::Allowed, 5)), "{visited:?}");
    assert_eq!(server.read(&mut [0; 8]).unwrap_or(0), 0);
    // The shim itself ends after its last report.
    run.handle.join();
    assert_eq!(alive(&run.token), []);
}
