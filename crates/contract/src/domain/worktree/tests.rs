use super::*;

fn range(first: u16, last: u16) -> Ports {
    Ports { first, last }
}

#[test]
fn a_range_of_ports_is_the_lowest_that_nobody_has() {
    let first = limits::WORKTREE_PORT_FIRST;
    assert_eq!(Ports::free(10, &[]), Some(range(first, first + 9)));
    let taken = [range(first + 4, first + 5), range(first, first + 1)];
    assert_eq!(Ports::free(2, &taken), Some(range(first + 2, first + 3)));
    assert_eq!(Ports::free(3, &taken), Some(range(first + 6, first + 8)));
    assert_eq!(Ports::free(0, &[]), None);
    let all = [range(first, limits::WORKTREE_PORT_LAST)];
    assert_eq!(Ports::free(1, &all), None);
}

#[test]
fn no_two_tasks_share_a_reference_and_git_takes_every_one() {
    let names = ["a", "a.b", "a..b", "a%", "a.", "a.lock", "v1.2"];
    let parts: Vec<String> = names.iter().map(|name| part_name(name)).collect();
    assert_eq!(parts, ["a", "a.b", "a%2E%2Eb", "a%", "a%2E", "a%2Elock", "v1.2"]);
}

#[test]
fn only_clones_of_ended_tasks_without_unmerged_work_are_deleted() {
    let unmerged = Standing::Unmerged { commit: "c".to_owned() };
    let unknown = Standing::Unknown { reason: "the workspace is gone".to_owned() };
    let statuses =
        [None, Some(Status::Done), Some(Status::Failed), Some(Status::Canceled), Some(Status::Blocked)];
    for status in statuses {
        assert!(kept_because(&unmerged, status).is_some(), "{status:?}");
        assert!(kept_because(&unknown, status).is_some(), "{status:?}");
    }
    for standing in [Standing::Empty, Standing::Merged] {
        let is_kept = |status| kept_because(&standing, status).is_some();
        assert_eq!(statuses.map(is_kept), [false, false, false, false, true]);
        assert!(is_kept(Some(Status::Todo)) && is_kept(Some(Status::InProgress)));
    }
}

#[test]
fn a_conflict_names_both_sides_and_the_paths() {
    let side = |at: &str, by: &str| ConflictSide {
        at: at.to_owned(),
        commit: "c0ffee".to_owned(),
        by: vec![by.to_owned()],
    };
    let paths = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let mut conflict = MergeConflict {
        ours: side("main", "`left`"),
        theirs: side("refs/writ/run_1/right", "`right`"),
        paths,
        more_paths: 2,
        problem: None,
    };
    let told = "merge conflict with `left` in a, b, c and 3 more; resolve it in the workspace with \
                `git merge refs/writ/run_1/right`";
    assert_eq!(conflict.told(), told);
    assert_eq!(
        conflict.title("right"),
        "Resolve the merge conflict of `right` with `left` in a, b, c and 3 more"
    );
    conflict.problem = Some("your edits of a would be overwritten".to_owned());
    let told = "merge conflict: your edits of a would be overwritten; its work is in refs/writ/run_1/right";
    assert_eq!(conflict.told(), told);
}
