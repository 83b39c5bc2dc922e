use proptest::prelude::*;

use super::*;

/// Places what can be placed, in the order of the plan, until everything is.
fn by_rounds(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < needs.len() {
        for (task, needed) in needs.iter().enumerate() {
            if !order.contains(&task) && needed.iter().all(|needed| order.contains(needed)) {
                order.push(task);
            }
        }
    }
    order
}

#[test]
fn a_cycle_is_found_and_named() {
    assert_eq!(TaskGraph::new(vec![vec![1], vec![2], vec![0]]).err(), Some(vec![0, 1, 2, 0]));
}

#[test]
fn a_chain_of_the_largest_plan_needs_no_recursion() {
    let length = crate::domain::limits::PLAN_TASKS_MAX;
    let backward: Vec<Vec<usize>> =
        (0..length).map(|task| if task + 1 < length { vec![task + 1] } else { Vec::new() }).collect();
    let graph = TaskGraph::new(backward).expect("a chain has no cycle");
    assert_eq!((graph.order()[0], graph.place(0)), (length - 1, length - 1));
}

proptest! {
    #[test]
    fn the_order_is_that_of_the_plan_as_far_as_the_dependencies_allow(
        links in prop::collection::vec((0usize..12, 0usize..12), 0..20),
        names in Just((0usize..12).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut needs = vec![Vec::new(); 12];
        // A random order of the tasks makes edges both ways, and never a cycle.
        for (a, b) in links.into_iter().filter(|(a, b)| a < b) {
            needs[names[b]].push(names[a]);
        }
        let graph = TaskGraph::new(needs.clone()).expect("no cycle");
        prop_assert_eq!(graph.order(), by_rounds(&needs));
        for a in 0..12 {
            for b in 0..12 {
                let reaches = |from: usize, to: usize| {
                    let mut next = needs[from].clone();
                    while let Some(task) = next.pop() {
                        if task == to { return true }
                        next.extend(&needs[task]);
                    }
                    false
                };
                prop_assert_eq!(graph.are_ordered(a, b), reaches(a, b) || reaches(b, a));
            }
        }
    }
}
