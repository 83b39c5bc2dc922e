//! The set of tasks that do not get in each other's way and together weigh most.

/// Up to so many candidates every set is looked at; of more, the heaviest are taken one by one.
const EXACT_MAX: usize = 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StartCandidate {
    pub(super) task: usize,
    pub(super) weight: u128,
}

/// At most `room` tasks. Of sets that weigh the same, the one that was offered first.
pub(super) fn choose(
    candidates: &[StartCandidate],
    collide: impl Fn(usize, usize) -> bool,
    room: usize,
) -> Vec<usize> {
    let mut sorted = candidates.to_vec();
    // Stable: equal weights stay in the order in which they were offered.
    sorted.sort_by_key(|candidate| std::cmp::Reverse(candidate.weight));
    let mut set = greedy(&sorted, &collide, room);
    // Without a conflict the greedy set is the heaviest.
    let heaviest = set.iter().copied().eq(0..sorted.len().min(room));
    if !heaviest && sorted.len() <= EXACT_MAX {
        let mut search =
            Search { sorted: &sorted, collide: &collide, room, best: set.clone(), best_weight: 0 };
        search.best_weight = search.weigh(&set);
        search.look(0, &mut Vec::new(), 0);
        set = search.best;
    }
    set.into_iter().map(|index| sorted[index].task).collect()
}

/// The heaviest that fits beside those before it, again and again.
fn greedy(sorted: &[StartCandidate], collide: &impl Fn(usize, usize) -> bool, room: usize) -> Vec<usize> {
    let mut set: Vec<usize> = Vec::new();
    for (index, candidate) in sorted.iter().enumerate() {
        let free = set.iter().all(|&other| !collide(candidate.task, sorted[other].task));
        if free && set.len() < room {
            set.push(index);
        }
    }
    set
}

struct Search<'s, C> {
    sorted: &'s [StartCandidate],
    collide: &'s C,
    room: usize,
    best: Vec<usize>,
    best_weight: u128,
}

impl<C: Fn(usize, usize) -> bool> Search<'_, C> {
    fn weigh(&self, set: &[usize]) -> u128 {
        set.iter().map(|&index| self.sorted[index].weight).sum()
    }

    fn look(&mut self, from: usize, set: &mut Vec<usize>, weight: u128) {
        if weight > self.best_weight {
            self.best_weight = weight;
            self.best.clone_from(set);
        }
        let rest: u128 = self.sorted[from..].iter().map(|candidate| candidate.weight).sum();
        if from == self.sorted.len() || set.len() == self.room || weight + rest <= self.best_weight {
            return;
        }
        let candidate = self.sorted[from];
        if set.iter().all(|&other| !(self.collide)(candidate.task, self.sorted[other].task)) {
            set.push(from);
            self.look(from + 1, set, weight + candidate.weight);
            set.pop();
        }
        self.look(from + 1, set, weight);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidates(weights: &[u128]) -> Vec<StartCandidate> {
        weights.iter().enumerate().map(|(task, &weight)| StartCandidate { task, weight }).collect()
    }

    #[test]
    fn two_that_fit_together_beat_one_that_is_heavier_than_each() {
        let wide = |a: usize, b: usize| a == 0 || b == 0;
        assert_eq!(choose(&candidates(&[5, 3, 3]), wide, 4), [1, 2]);
        assert_eq!(choose(&candidates(&[7, 3, 3]), wide, 4), [0]);
        assert_eq!(choose(&candidates(&[5, 3, 3]), wide, 1), [0], "there is room for one");
    }

    proptest! {
        #[test]
        fn no_set_is_heavier_than_the_chosen_one(
            weights in prop::collection::vec(1u128..50, 0..9),
            edges in prop::collection::btree_set((0usize..9, 0usize..9), 0..14),
            room in 0usize..6,
        ) {
            let collide = |a: usize, b: usize| edges.contains(&(a, b)) || edges.contains(&(b, a));
            let chosen = choose(&candidates(&weights), collide, room);
            let is_set = |set: &[usize]| {
                let pairs = set.iter().enumerate().all(|(i, &a)| set[..i].iter().all(|&b| !collide(a, b)));
                set.len() <= room && pairs
            };
            prop_assert!(is_set(&chosen));
            let weigh = |set: &[usize]| set.iter().map(|&task| weights[task]).sum::<u128>();
            for bits in 0u32..1 << weights.len() {
                let set: Vec<usize> = (0..weights.len()).filter(|task| bits >> task & 1 == 1).collect();
                prop_assert!(!is_set(&set) || weigh(&set) <= weigh(&chosen));
            }
        }
    }
}
