use super::*;

fn example() -> Marker {
    let boot_id = "0a1b2c3d-0000-4000-8000-123456789abc".to_owned();
    Marker { attempt: Id::from_bits(5), owner: OwnerIdentity::process(4711, 99, boot_id) }
}

#[test]
fn a_mark_is_read_as_it_was_written() {
    let text = example().to_string();
    assert_eq!(text, "attempt_00000000000000000000000005:4711:99:0a1b2c3d-0000-4000-8000-123456789abc");
    assert_eq!(Marker::parse(&text), Ok(example()));
}

#[test]
fn a_mark_names_the_store_and_its_file() {
    let mut mark = example();
    let id = Id::<DataStore>::from_bits(7).to_string();
    mark.owner.store = Some(StoreFile { id: id.clone(), device: 3, inode: 44 });
    let text = mark.to_string();
    assert_eq!(text, format!("{}:{id}:3:44", example()));
    assert_eq!(Marker::parse(&text), Ok(mark.clone()));
    assert_eq!(Marker::parse(&text[..text.len() - 3]), Err(InvalidMarker));
    let copied = StoreFile { id, device: 3, inode: 45 };
    assert!(mark.owner.is(&example().owner) && mark.owner.may_work_for(mark.owner.store.as_ref()));
    assert!(!mark.owner.may_work_for(Some(&copied)) && example().owner.may_work_for(Some(&copied)));
}

#[test]
fn anything_else_is_not_a_mark() {
    let attempt = "attempt_00000000000000000000000005";
    for text in [
        String::new(),
        attempt.to_owned(),
        format!("{attempt}:1:2"),
        format!("{attempt}:1:2:"),
        format!("{attempt}:1:2:b:c"),
        format!("{attempt}:-1:2:b"),
        format!("{attempt}:1:x:b"),
        format!("{attempt}:1:2:b\n"),
        format!("{attempt}:1:2:{}", "b".repeat(65)),
        "task_1:1:2:b".to_owned(),
    ] {
        assert_eq!(Marker::parse(&text), Err(InvalidMarker), "{text:?}");
    }
}
