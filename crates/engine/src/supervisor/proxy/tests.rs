//! The proxy with real connections: clients and servers are threads of the test, and names lead where the test says.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::mpsc;

use contract::domain::network::Verdict;

use super::*;

/// No test waits so long unless it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Nothing ends by itself while a test runs.
const LONG: ProxyLimits =
    ProxyLimits { connections: 64, head: PATIENCE, resolve: PATIENCE, connect: PATIENCE, idle: PATIENCE };
const SHORT: Duration = Duration::from_millis(50);

/// The name `stuck` is looked for without end. All others lead to this machine.
fn resolve(name: &str, _: u16) -> io::Result<Vec<IpAddr>> {
    if name == "stuck" {
        std::thread::park_timeout(PATIENCE);
    }
    Ok(vec![Ipv4Addr::LOCALHOST.into()])
}

struct World {
    proxy: Proxy,
    at: SocketAddr,
}

impl World {
    fn new(rules: &[&str]) -> Self {
        Self::with(LONG, rules)
    }

    fn with(bounds: ProxyLimits, rules: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let rules = rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect();
        let doors = vec![(ListeningDoor { at, to: None }, listener)];
        Self { proxy: Proxy::start_with(rules, doors, bounds, resolve).unwrap(), at }
    }

    fn client(&self) -> TcpStream {
        let client = TcpStream::connect(self.at).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
    }

    /// Sends this and reads the whole answer.
    fn ask(&self, text: &str) -> String {
        let mut client = self.client();
        client.write_all(text.as_bytes()).unwrap();
        read_all(&mut client)
    }

    fn denied(&mut self) -> Vec<String> {
        let visits = self.proxy.finish();
        visits.into_iter().filter(|visit| visit.verdict == Verdict::Denied).map(|visit| visit.to).collect()
    }
}

fn read_all(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // An answer whose connection was cut off is as much as came.
    client.read_to_end(&mut bytes).ok();
    String::from_utf8(bytes).unwrap()
}

/// A server that takes one connection after the other, tells what it read, and answers each with `pong`.
fn server() -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut text = Vec::new();
            let mut buffer = [0; 1024];
            // A request ends with `end`, or with its head.
            while !text.ends_with(b"end") && !text.ends_with(b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(length) => text.extend_from_slice(&buffer[..length]),
                }
            }
            sender.send(String::from_utf8(text).unwrap()).ok();
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npong").ok();
        }
    });
    (port, requests)
}

#[test]
fn an_allowed_host_is_reached_by_a_tunnel_and_by_a_plain_request() {
    let (port, requests) = server();
    let mut world = World::new(&[&format!("127.0.0.1:{port}")]);
    let tunneled = world.ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello end"));
    assert_eq!(
        tunneled,
        "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\npong"
    );
    assert_eq!(requests.recv_timeout(PATIENCE).unwrap(), "hello end");
    let plain = world.ask(&format!(
        "POST http://127.0.0.1:{port}/x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 5\r\n\r\nx end"
    ));
    assert!(plain.ends_with("pong"), "{plain}");
    let seen = requests.recv_timeout(PATIENCE).unwrap();
    let expected = format!(
        "POST /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nx end"
    );
    assert_eq!(seen, expected);
    let visits = world.proxy.finish();
    let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npong".len() as u64;
    let sent = ("hello end".len() + expected.len()) as u64;
    assert_eq!(
        visits,
        [Visit {
            to: format!("127.0.0.1:{port}"),
            verdict: Verdict::Allowed,
            connections: 2,
            sent_bytes: sent,
            received_bytes: 2 * answer,
            reason: None,
        }]
    );
}

#[test]
fn a_denied_host_gets_403_and_no_connection() {
    let (port, requests) = server();
    let mut world = World::new(&["example.org:443"]);
    for text in [
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
        format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n"),
        format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"),
        "CONNECT example.org:80 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT sub.example.org:443 HTTP/1.1\r\n\r\n".to_owned(),
    ] {
        let answer = world.ask(&text);
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{text}: {answer}");
        assert!(answer.contains("` is not in the network allow-list of this task"), "{answer}");
    }
    assert!(requests.try_recv().is_err());
    let denied = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        "example.org:80".to_owned(),
        "sub.example.org:443".to_owned(),
    ];
    assert_eq!(world.denied(), denied);
}

#[test]
fn another_host_header_is_stopped_and_told() {
    let (port, requests) = server();
    let mut world = World::new(&[&format!("127.0.0.1:{port}")]);
    for text in [
        format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: other.test\r\n\r\n"),
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: other.test:80\r\n\r\n"),
    ] {
        let answer = world.ask(&text);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.contains("its Host header names `other.test:"), "{answer}");
    }
    assert!(requests.try_recv().is_err());
    assert_eq!(world.denied(), ["other.test:80"]);
}

#[test]
fn a_second_request_on_the_same_connection_reaches_nobody() {
    let (port, requests) = server();
    let world = World::new(&[&format!("127.0.0.1:{port}")]);
    let second = "GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n";
    let first = format!("GET http://127.0.0.1:{port}/1 HTTP/1.1\r\n\r\n");
    let with_body = format!("POST http://127.0.0.1:{port}/2 HTTP/1.1\r\nContent-Length: 3\r\n\r\nend");
    let chunked = format!(
        "POST http://127.0.0.1:{port}/3 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nend\r\n0\r\n\r\n"
    );
    for text in [first, with_body, chunked] {
        // At once, and after the first.
        assert!(world.ask(&format!("{text}{second}")).ends_with("pong"));
        assert!(!requests.recv_timeout(PATIENCE).unwrap().contains("other.test"));
        let mut client = world.client();
        client.write_all(text.as_bytes()).unwrap();
        assert!(!requests.recv_timeout(PATIENCE).unwrap().contains("other.test"));
        client.write_all(second.as_bytes()).ok();
        read_all(&mut client);
    }
    assert!(requests.try_recv().is_err());
}

#[test]
fn a_name_that_leads_to_this_machine_is_denied_unless_the_address_is_named() {
    let (port, requests) = server();
    let name = format!("rebound.test:{port}");
    let mut world = World::new(&[&name]);
    let answer = world.ask(&format!("CONNECT {name} HTTP/1.1\r\n\r\nend"));
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("127.0.0.1"), "{answer}");
    assert_eq!(world.denied(), std::slice::from_ref(&name));
    assert!(requests.try_recv().is_err());
    for named in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let world = World::new(&[&name, &named]);
        assert!(world.ask(&format!("CONNECT {name} HTTP/1.1\r\n\r\nend")).ends_with("pong"), "{named}");
    }
}

#[test]
fn what_is_no_request_gets_400_and_what_is_too_long_431() {
    let world = World::new(&[]);
    for text in ["GET / HTTP/1.1\r\n\r\n", "hello\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: b c\r\n\r\n"] {
        let answer = world.ask(text);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{text:?}: {answer}");
    }
    let long = format!("GET http://a/ HTTP/1.1\r\nX: {}", "x".repeat(limits::PROXY_HEAD_BYTES_MAX));
    let answer = world.ask(&long);
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn slow_heads_and_names_that_are_not_found_do_not_hang_anybody() {
    let world = World::with(ProxyLimits { head: SHORT, ..LONG }, &[]);
    let slow: Vec<TcpStream> = (0..10).map(|_| world.client()).collect();
    for mut client in slow {
        client.write_all(b"GET http").ok();
        assert_eq!(read_all(&mut client), "");
    }
    let mut world = World::with(ProxyLimits { resolve: SHORT, ..LONG }, &["stuck:443"]);
    let answer = world.ask("CONNECT stuck:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert_eq!(world.proxy.finish()[0].verdict, Verdict::Failed);
}

#[test]
fn one_connection_too_many_is_refused_and_a_free_place_is_used_again() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let world = World::with(ProxyLimits { connections: 4, ..LONG }, &[&at.to_string()]);
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut client = world.client();
        client.write_all(format!("CONNECT {at} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        open.push(client);
    }
    let refused = read_all(&mut world.client());
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    // The server closes too, or the halves of the tunnels would stay.
    drop((open, silent));
    let deadline = std::time::Instant::now() + PATIENCE;
    while !world.ask(&format!("CONNECT {at} HTTP/1.1\r\n\r\n")).starts_with("HTTP/1.1 502 ") {
        assert!(std::time::Instant::now() < deadline, "no place became free");
        std::thread::yield_now();
    }
}

#[test]
fn the_end_of_the_proxy_ends_its_connections() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let mut world = World::new(&[&at.to_string()]);
    let mut tunnel = world.client();
    tunnel.write_all(format!("CONNECT {at} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let mut answer = [0; 39];
    tunnel.read_exact(&mut answer).unwrap();
    let mut waiting = world.client();
    world.proxy.finish();
    assert_eq!(read_all(&mut tunnel), "");
    assert_eq!(read_all(&mut waiting), "");
    let (mut server, _) = silent.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(read_all(&mut server), "");
}

#[test]
fn a_half_closed_tunnel_still_brings_the_answer() {
    let (port, _requests) = server();
    let world = World::new(&[&format!("127.0.0.1:{port}")]);
    let mut client = world.client();
    client.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhalf").as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert!(read_all(&mut client).ends_with("pong"));
}

#[test]
fn hosts_of_this_machine_get_doors_on_their_own_ports() {
    let rules = |texts: &[&str]| texts.iter().map(|text| HostRule::parse(text).unwrap()).collect();
    let reachable = Reachable {
        allow: rules(&["example.org:443", "localhost:5432", "*.localhost:1"]),
        endpoints: rules(&["127.0.0.1:3128", "127.0.0.1:5432", "[::1]:5432"]),
    };
    let doors = reachable.doors();
    let shown: Vec<String> = doors
        .iter()
        .map(|door| {
            format!("{} {}", door.at, door.to.as_ref().map_or("proxy".to_owned(), ToString::to_string))
        })
        .collect();
    let expected = [
        "127.0.0.1:3129 proxy",
        "127.0.0.1:5432 localhost:5432",
        "127.0.0.1:3128 127.0.0.1:3128",
        "[::1]:5432 [::1]:5432",
    ];
    assert_eq!(shown, expected);
    let mut environment = BTreeMap::from([("ALL_PROXY".into(), "socks5://elsewhere".into())]);
    reachable.put_into(&mut environment);
    assert_eq!(environment.get(&OsString::from("https_proxy")), Some(&"http://127.0.0.1:3129".into()));
    assert!(!environment.contains_key(&OsString::from("ALL_PROXY")));
}
