use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn printing_and_parsing_is_the_identity(millis in -62_135_596_800_000i64..253_402_207_200_000) {
        let time = Timestamp::from_millis(millis);
        prop_assert_eq!(Timestamp::parse(&time.to_string()), Ok(time));
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}") {
        Timestamp::parse(&text).ok();
        let _unused = (parse_duration(&text), parse_signed_duration(&text));
    }
}

#[test]
fn a_time_is_printed_in_utc_with_milliseconds() {
    assert_eq!(Timestamp::from_millis(1_769_428_801_000).to_string(), "2026-01-26T12:00:01.000Z");
}

#[test]
fn an_offset_is_understood_and_a_missing_zone_is_refused() {
    assert_eq!(Timestamp::parse("2026-01-26T13:00:01+01:00"), Timestamp::parse("2026-01-26T12:00:01Z"));
    assert_eq!(Timestamp::parse("2026-01-26T12:00:01"), Err(InvalidTime));
}

#[test]
fn durations_are_read_in_the_usual_forms() {
    let cases =
        [("90", 90_000), ("1500ms", 1_500), ("5m", 300_000), ("1h30m", 5_400_000), ("7d", 604_800_000)];
    for (text, millis) in cases {
        assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
    }
    for text in ["", "-1h", "h", "5", "5x", "1.5s", "5 m", "99999999999999999999s"] {
        let expected = (text == "5").then_some(Duration::from_secs(5));
        assert_eq!(parse_duration(text), expected, "{text}");
    }
}

#[test]
fn a_duration_is_printed_as_it_is_typed() {
    for text in ["8d", "1h30m", "1s500ms", "0s"] {
        assert_eq!(typed_duration(parse_duration(text).unwrap()), text);
    }
}

#[test]
fn the_agent_contracts_durations_have_fractions_small_units_and_a_sign() {
    let cases = [
        ("1.5h", false, 5_400_000_000),
        ("100us", false, 100),
        ("1h30m", false, 5_400_000_000),
        ("-1h", true, 3_600_000_000),
        ("+0.25s", false, 250_000),
        (".5ms", false, 500),
        ("1m0.5s", false, 60_500_000),
        ("7d", false, 604_800_000_000),
        ("2w", false, 1_209_600_000_000),
        ("0", false, 0),
        ("1µs", false, 1),
    ];
    for (text, is_negative, micros) in cases {
        let expected = SignedDuration { is_negative, length: Duration::from_micros(micros) };
        assert_eq!(parse_signed_duration(text), Some(expected), "{text}");
    }
    for text in ["", "-", "h", ".s", "1.2.3s", "5x", "1 h", "--1h", "99999999999999999999h"] {
        assert_eq!(parse_signed_duration(text), None, "{text}");
    }
}

#[test]
fn a_duration_is_printed_to_a_tenth_of_a_second() {
    let cases = [
        (0, "0s"),
        (350, "350ms"),
        (1_240, "1.2s"),
        (3_000, "3s"),
        (59_960, "1m0s"),
        (125_040, "2m5s"),
        (3_603_400, "1h0m3.4s"),
    ];
    for (millis, expected) in cases {
        assert_eq!(contract_duration(Duration::from_millis(millis)), expected);
    }
}

#[test]
fn a_lease_of_another_boot_has_expired() {
    let now = |boot: &str, millis| Now {
        at: Timestamp::from_millis(0),
        boot: BootTime { boot_id: boot.to_owned(), millis },
    };
    let lease = Lease::starting(&now("a", 1_000), Duration::from_secs(1));
    assert!(lease.is_live(&now("a", 1_999)));
    assert!(!lease.is_live(&now("a", 2_000)));
    assert!(!lease.is_live(&now("b", 1_500)));
}

#[test]
fn a_lease_says_when_it_was_renewed_on_the_wall_clock_of_now() {
    let now = |boot: &str, boot_ms: i64, wall_ms: i64| Now {
        at: Timestamp::from_millis(wall_ms),
        boot: BootTime { boot_id: boot.to_owned(), millis: boot_ms },
    };
    let length = Duration::from_secs(30);
    let lease = Lease::starting(&now("a", 5_000, 1_000_000), length);
    assert_eq!(lease.renewed_at(&now("a", 7_000, 1_002_000), length).millis(), 1_000_000);
    // The wall clock was set ahead since.
    assert_eq!(lease.renewed_at(&now("a", 7_000, 9_002_000), length).millis(), 9_000_000);
    assert_eq!(lease.renewed_at(&now("b", 7_000, 2_000_000), length).millis(), 1_993_000);
}

#[test]
fn setting_the_wall_clock_expires_no_lease() {
    let at = |wall, boot| Now {
        at: Timestamp::from_millis(wall),
        boot: BootTime { boot_id: "a".to_owned(), millis: boot },
    };
    let lease = Lease::starting(&at(1_000_000, 0), Duration::from_secs(60));
    assert!(lease.is_live(&at(1_000_000 + 86_400_000, 30_000)));
    assert!(lease.is_live(&at(1_000_000 - 86_400_000, 30_000)));
    assert!(!lease.is_live(&at(1_000_000, 60_000)));
}
