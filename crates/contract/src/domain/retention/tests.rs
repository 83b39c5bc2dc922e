use super::*;

fn outline(seq: i64, at: i64, kind: &str, task: Option<&str>) -> Outline {
    let task_id = task.map(str::to_owned);
    Outline { seq, at: Timestamp::from_millis(at), kind: kind.to_owned(), task_id }
}

#[test]
fn a_stream_is_archived_when_it_has_grown_and_keeps_its_newest() {
    let retention = Retention::default();
    let to =
        |seq, anchor_seq, archived_seq| retention.archive_to(&StreamExtent { seq, anchor_seq, archived_seq });
    assert_eq!(to(199, 0, 0), None);
    assert_eq!(to(200, 0, 0), Some(150));
    assert_eq!(to(300, 0, 150), None);
    assert_eq!(to(350, 0, 150), Some(300));
    // What was removed counts as archived.
    assert_eq!(to(300, 150, 0), None);
    assert_eq!(to(1_000_000, 0, 0), Some(10_000), "in pieces");
}

#[test]
fn a_low_threshold_never_archives_what_is_to_be_kept() {
    let retention = Retention {
        events_summarize_threshold: 0,
        events_summarize_keep_recent: 500,
        ..Retention::default()
    };
    let extent = |seq| StreamExtent { seq, anchor_seq: 0, archived_seq: 0 };
    assert_eq!(retention.archive_to(&extent(400)), None);
    assert_eq!(retention.archive_to(&extent(501)), Some(1));
}

#[test]
fn only_a_beginning_that_is_old_and_not_needed_goes() {
    let cutoff = Timestamp::from_millis(100);
    let events = [
        outline(4, 10, "note", None),
        outline(5, 99, "note", Some("t")),
        outline(6, 100, "note", None),
        outline(7, 20, "note", None),
    ];
    assert_eq!(prune_to(&events, cutoff, |_| false), Some(5), "the event at the limit is young");
    assert_eq!(prune_to(&events, cutoff, |event| event.task_id.is_some()), Some(4));
    assert_eq!(prune_to(&events, cutoff, |_| true), None);
    assert_eq!(prune_to(&[], cutoff, |_| false), None);
}

#[test]
fn a_note_of_a_removal_is_not_removed_for_its_own_sake() {
    let cutoff = Timestamp::from_millis(100);
    let note = outline(4, 10, PRUNED, None);
    assert_eq!(prune_to(std::slice::from_ref(&note), cutoff, |_| false), None);
    assert_eq!(prune_to(&[note, outline(5, 11, "note", None)], cutoff, |_| false), Some(5));
}

#[test]
fn a_retention_of_many_years_is_ten() {
    let now = Timestamp::from_millis(i64::from(DAYS_MAX) * 86_400_000);
    let retention = Retention { events_retention_days: u32::MAX, ..Retention::default() };
    assert_eq!(retention.cutoff(now), Timestamp::from_millis(0));
}
