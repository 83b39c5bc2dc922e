use super::*;

fn rules(texts: &[&str]) -> Vec<HostRule> {
    texts.iter().map(|text| HostRule::parse(text).unwrap()).collect()
}

fn to(text: &str) -> Destination {
    Destination::parse(text, None).unwrap()
}

#[test]
fn a_rule_names_a_host_and_a_port_and_nothing_else() {
    for (text, spelled) in [
        ("Example.ORG:443", "example.org:443"),
        ("example.org.:443", "example.org:443"),
        ("*.example.org:443", "*.example.org:443"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("[::1]:8080", "[::1]:8080"),
        ("[::ffff:10.0.0.1]:1", "10.0.0.1:1"),
        ("a_b-c.test:65535", "a_b-c.test:65535"),
    ] {
        let rule = HostRule::parse(text).unwrap();
        assert_eq!(rule.to_string(), spelled);
        assert_eq!(serde_json::from_str::<HostRule>(&serde_json::to_string(&rule).unwrap()).unwrap(), rule);
    }
    for (text, fault) in [
        ("https://example.org:443", HostFault::Url),
        ("example.org:443/path", HostFault::Url),
        ("user@example.org:443", HostFault::Url),
        ("example.org", HostFault::Port),
        ("example.org:", HostFault::Port),
        ("example.org:0", HostFault::Port),
        ("example.org:+443", HostFault::Port),
        ("example.org:65536", HostFault::Port),
        ("[::1]", HostFault::Port),
        ("*:443", HostFault::Star),
        ("a.*.org:443", HostFault::Star),
        ("*.*.org:443", HostFault::Star),
        ("*.127.0.0.1:443", HostFault::Star),
        ("", HostFault::Host),
        (":443", HostFault::Host),
        ("::1:443", HostFault::Host),
        ("[::1:443", HostFault::Host),
        ("exa mple.org:443", HostFault::Host),
        ("example..org:443", HostFault::Host),
        ("bücher.example:443", HostFault::Host),
        ("127.1:443", HostFault::Host),
        ("0x7f000001:443", HostFault::Host),
        ("2130706433:443", HostFault::Host),
    ] {
        assert_eq!(HostRule::parse(text), Err(fault), "{text}");
    }
    let long = format!("{}:443", "a.".repeat(127));
    assert_eq!(HostRule::parse(&long).map(drop), Ok(()));
    assert_eq!(HostRule::parse(&format!("a{long}")), Err(HostFault::Host));
}

#[test]
fn a_request_is_allowed_by_the_whole_name_and_the_port() {
    let rules = rules(&["example.org:443", "*.example.net:443", "127.0.0.1:8080", "[::1]:8080"]);
    for allowed in [
        "example.org:443",
        "EXAMPLE.org.:443",
        "a.example.net:443",
        "a.b.example.net:443",
        "127.0.0.1:8080",
        "[::1]:8080",
        "[::ffff:127.0.0.1]:8080",
    ] {
        assert!(permits(&rules, &to(allowed)), "{allowed}");
    }
    for denied in [
        "example.org:80",
        "a.example.org:443",
        "badexample.org:443",
        "example.org.evil.test:443",
        "example.net:443",
        "badexample.net:443",
        "a.example.net:80",
        "127.0.0.1:8081",
        "127.0.0.2:8080",
        "localhost:8080",
    ] {
        assert!(!permits(&rules, &to(denied)), "{denied}");
    }
    assert!(!permits(&[], &to("example.org:443")));
}

#[test]
fn a_name_leads_only_to_public_addresses_unless_a_rule_names_the_address() {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    for public in ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
        assert!(is_public(address(public)), "{public}");
    }
    for other in [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.8.8.8",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
        "fc00::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(address(other)), "{other}");
    }
    let named = rules(&["example.org:443", "10.0.0.1:443", "localhost:8080"]);
    let may = |text: &str, port| permits_address(&named, address(text), port);
    assert!(may("1.1.1.1", 443) && may("10.0.0.1", 443) && may("127.0.0.1", 8080) && may("::1", 8080));
    assert!(!may("10.0.0.1", 80) && !may("10.0.0.2", 443) && !may("127.0.0.1", 443));
}
