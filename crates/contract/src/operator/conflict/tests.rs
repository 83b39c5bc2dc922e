use proptest::prelude::*;

use super::*;

fn claim((task, path, shared, active): &(u8, String, bool, bool)) -> Option<PathClaim> {
    let mode = if *shared { LockMode::Shared } else { LockMode::Exclusive };
    let task_id = TaskRef::parse(&format!("T-{task}"))?;
    Some(PathClaim { task_id, scope: Scope::parse(path, None).ok()?, mode, active: *active })
}

proptest! {
    #[test]
    fn a_conflict_has_no_direction(
        a in (0..3u8, "[abA./]{1,8}", any::<bool>(), any::<bool>()),
        b in (0..3u8, "[abA./]{1,8}", any::<bool>(), any::<bool>()),
        fold: bool,
    ) {
        let (Some(a), Some(b)) = (claim(&a), claim(&b)) else { return Ok(()) };
        prop_assert_eq!(conflict(&a, &b, fold), conflict(&b, &a, fold));
        prop_assert!(!conflict(&a, &a, fold));
    }

    #[test]
    fn one_pass_finds_what_comparing_all_pairs_finds(
        claims in prop::collection::vec((0..4u8, "[abA./ -]{1,8}", any::<bool>(), Just(true)), 0..14), fold: bool,
    ) {
        let claims: Vec<PathClaim> = claims.iter().filter_map(claim).collect();
        let mut found = std::collections::BTreeSet::new();
        let entries = claims.iter().enumerate().map(|(index, claim)| {
            let group = usize::from(claim.task_id.as_str().as_bytes()[2]);
            OverlapEntry::new(&claim.scope, fold, group, index).shared(claim.mode == LockMode::Shared)
        });
        let name = |at: usize| (claims[at].task_id.as_str(), folded_key(&claims[at].scope, fold), claims[at].mode);
        for (a, b) in overlapping(entries.collect(), usize::MAX) {
            found.insert((name(a).min(name(b)), name(a).max(name(b))));
        }
        let mut expected = std::collections::BTreeSet::new();
        for a in 0..claims.len() {
            for b in a + 1..claims.len() {
                if conflict(&claims[a], &claims[b], fold) {
                    expected.insert((name(a).min(name(b)), name(a).max(name(b))));
                }
            }
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_cover_contains_what_one_of_its_scopes_contains(
        scopes in prop::collection::vec("[abA./]{1,6}", 0..5), path in "[abA./]{1,8}", fold: bool,
    ) {
        let scopes: Vec<Scope> = scopes.iter().filter_map(|text| Scope::parse(text, None).ok()).collect();
        let Ok(path) = Scope::parse(&path, None) else { return Ok(()) };
        let contains = |scope: &Scope| {
            if fold { scope.folded().contains(&path.folded()) } else { scope.contains(&path) }
        };
        prop_assert_eq!(ScopeCover::new(scopes.iter(), fold).contains(&path), scopes.iter().any(contains));
    }
}
