use super::*;

#[test]
fn only_what_is_certainly_gone_may_be_swept() {
    let all = [Remains::Running, Remains::Stopped, Remains::Gone, Remains::Left, Remains::Unseen];
    let swept: Vec<Remains> = all.into_iter().filter(|remains| remains.may_be_swept()).collect();
    assert_eq!(swept, [Remains::Gone]);
    for remains in all {
        assert!(remains.of_process(7).contains("process 7"));
        // Waiting helps, or a person is told what to do.
        let waits = matches!(remains, Remains::Running | Remains::Gone);
        assert_eq!(remains.remedy(7).is_none(), waits, "{remains:?}");
    }
}

#[test]
fn an_identity_of_before_machines_had_names_is_still_read() {
    let old = r#"{"pid": 7, "start_time": 8, "boot_id": "b"}"#;
    let read: ProcessIdentity = serde_json::from_str(old).unwrap();
    assert_eq!((read.pid, read.machine.as_str()), (7, ""));
    assert!(!serde_json::to_string(&read).unwrap().contains("machine"));
}
