use proptest::prelude::*;

use super::*;

fn to(text: &str) -> Destination {
    Destination::parse(text, None).unwrap()
}

fn fault(text: &str) -> &'static str {
    match parse(text.as_bytes()) {
        Err(HeadFault::Malformed(why)) => why,
        Err(HeadFault::OtherHost { .. }) => "another host",
        Ok(found) => panic!("{text:?}: {found:?}"),
    }
}

#[test]
fn a_tunnel_is_asked_for_with_connect() {
    let head = "CONNECT Example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n";
    let text = format!("{head}\x16\x03\x01");
    assert_eq!(parse(text.as_bytes()), Ok(Some((Request::Tunnel(to("example.org:443")), head.len()))));
    let bare = "CONNECT [::1]:8080 HTTP/1.0\r\n\r\n";
    assert_eq!(parse(bare.as_bytes()), Ok(Some((Request::Tunnel(to("[::1]:8080")), bare.len()))));
    for end in 0..head.len() {
        assert_eq!(parse(&head.as_bytes()[..end]), Ok(None), "{end}");
    }
}

#[test]
fn a_plain_request_is_passed_on_for_its_own_host_and_for_itself_alone() {
    let text = "POST HTTP://example.org:8080/a?b HTTP/1.1\r\nHost: EXAMPLE.org:8080\r\nAccept: */*\r\n\
                Proxy-Authorization: x\r\nConnection: keep-alive, X-Hop, content-length\r\nX-Hop: 1\r\n\
                Content-Length: 3\r\nUpgrade: h2c\r\n\r\nabc";
    let Ok(Some((Request::Plain { to: found, head, body }, length))) = parse(text.as_bytes()) else {
        panic!()
    };
    assert_eq!((found, body, &text[length..]), (to("example.org:8080"), RequestBody::Length(3), "abc"));
    let expected = "POST /a?b HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\nContent-Length: 3\r\n\
                    Connection: close\r\n\r\n";
    assert_eq!(String::from_utf8(head).unwrap(), expected);
    for (target, line) in [
        ("http://example.org", "GET / HTTP/1.0\r\nHost: example.org\r\nConnection: close\r\n\r\n"),
        ("http://example.org?a", "GET /?a HTTP/1.0\r\nHost: example.org\r\nConnection: close\r\n\r\n"),
    ] {
        let text = format!("GET {target} HTTP/1.0\r\n\r\n");
        let Ok(Some((Request::Plain { head, .. }, _))) = parse(text.as_bytes()) else { panic!("{target}") };
        assert_eq!(String::from_utf8(head).unwrap(), line);
    }
}

#[test]
fn another_host_than_the_one_of_the_request_line_is_told() {
    for (text, asked, named) in [
        ("GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", "a.test:80", "b.test:80"),
        ("GET http://a.test:8080/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test:8080", "a.test:80"),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n", "a.test:443", "b.test:443"),
    ] {
        let expected = HeadFault::OtherHost { asked: to(asked), named: to(named) };
        assert_eq!(parse(text.as_bytes()), Err(expected), "{text:?}");
    }
}

#[test]
fn what_could_be_understood_in_two_ways_is_refused() {
    let with = |headers: &str| format!("POST http://a.test/ HTTP/1.1\r\n{headers}\r\n\r\n");
    for text in [
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned(),
        "GET https://a.test/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http:///x HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://user@a.test/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://a.test@b.test/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://a.test#@b.test/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://a.test\\@b.test/ HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT a.test HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT http://a.test:443 HTTP/1.1\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\x16\x03\x01\x02\x00\x01".to_owned(),
        with("Host: a.test\r\nHost: a.test"),
        with("Host: a.test, b.test"),
        with("Host: "),
        with("Content-Length: 1\r\nContent-Length: 1"),
        with("Content-Length: +1"),
        with("Content-Length: "),
        with("Content-Length: 99999999999999999999999"),
        with("Content-Length: 1\r\nTransfer-Encoding: chunked"),
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        with("Transfer-Encoding: gzip, chunked"),
        with("Transfer-Encoding : chunked"),
        with("X: 1\r\n Transfer-Encoding: chunked"),
        with(&"X: 1\r\n".repeat(PROXY_HEADERS_MAX + 1)),
    ] {
        fault(&text);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_safe(bytes: Vec<u8>) {
        parse(&bytes).ok();
    }

    #[test]
    fn whatever_is_passed_on_is_one_request_for_the_allowed_host(
        target in "http://[a-z.:/@#?\\\\\\[\\]0-9]{0,20}",
        header in "(Host|Connection|Content-Length|Transfer-Encoding|X): ?[ -~]{0,20}",
    ) {
        let text = format!("GET {target} HTTP/1.1\r\n{header}\r\n\r\n");
        if let Ok(Some((Request::Plain { to, head, .. }, _))) = parse(text.as_bytes()) {
            let head = String::from_utf8(head).unwrap();
            prop_assert_eq!(head.matches("\r\n\r\n").count(), 1);
            let mut headers = [EMPTY_HEADER; 10];
            let mut again = httparse::Request::new(&mut headers);
            prop_assert!(again.parse(head.as_bytes()).unwrap().is_complete());
            prop_assert!(again.path.unwrap().starts_with('/'));
            let host = values(again.headers, "host").collect::<Vec<_>>();
            prop_assert_eq!(host.len(), 1);
            let named = Destination::parse(std::str::from_utf8(host[0]).unwrap(), Some(HTTP_PORT)).unwrap();
            prop_assert_eq!(named, to);
        }
    }
}
