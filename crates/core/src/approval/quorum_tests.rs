//! Quorum as matching, against an oracle that tries every assignment.

use super::*;
use proptest::prelude::*;

fn user(number: u128) -> UserId {
    UserId::from_u128(number)
}

fn seat(owner: u128, fillers: &[u128]) -> SlotCandidates {
    SlotCandidates {
        owner: user(owner),
        fillers: fillers.iter().map(|filler| user(*filler)).collect(),
    }
}

fn own(owners: &[u128]) -> Vec<SlotCandidates> {
    owners.iter().map(|owner| seat(*owner, &[*owner])).collect()
}

fn humans(numbers: &[u128]) -> BTreeSet<UserId> {
    numbers.iter().map(|number| user(*number)).collect()
}

/// Tries every way to give each human one seat or none, and returns the most needs met.
fn most_by_brute_force(needs: &[Need], humans: &[UserId]) -> u32 {
    fn search(
        needs: &[Need],
        humans: &[UserId],
        used: &mut BTreeSet<(usize, usize)>,
        counts: &mut Vec<u32>,
    ) -> u32 {
        let Some((human, rest)) = humans.split_first() else {
            return needs.iter().zip(counts).map(|(need, count)| need.min.min(*count)).sum();
        };
        let mut best = search(needs, rest, used, counts);
        for (g, need) in needs.iter().enumerate() {
            for (s, seat) in need.seats.iter().enumerate() {
                if seat.fillers.contains(human) && used.insert((g, s)) {
                    counts[g] += 1;
                    best = best.max(search(needs, rest, used, counts));
                    counts[g] -= 1;
                    used.remove(&(g, s));
                }
            }
        }
        best
    }
    search(needs, humans, &mut BTreeSet::new(), &mut vec![0; needs.len()])
}

fn any_needs() -> impl Strategy<Value = Vec<Need>> {
    let seat = (0u128..5, prop::collection::btree_set(0u128..5, 0..4)).prop_map(|(owner, more)| {
        SlotCandidates { owner: user(owner), fillers: more.into_iter().map(user).collect() }
    });
    let need =
        (0u32..4, prop::collection::vec(seat, 0..4)).prop_map(|(min, seats)| Need { min, seats });
    prop::collection::vec(need, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn quorum_matching_agrees_with_brute_force(
        needs in any_needs(),
        voters in prop::collection::btree_set(0u128..5, 0..5),
    ) {
        let voters: BTreeSet<UserId> = voters.into_iter().map(user).collect();
        let list: Vec<UserId> = voters.iter().copied().collect();
        let tally = tally(&needs, &voters);
        let met: u32 = tally.groups.iter().map(|group| group.needed - group.missing()).sum();
        prop_assert_eq!(met, most_by_brute_force(&needs, &list));

        // Every filled seat is real, filled by an eligible voter, and each voter is used once.
        let mut used = BTreeSet::new();
        for (group, need) in tally.groups.iter().zip(&needs) {
            prop_assert!(group.filled.len() <= need.min as usize);
            let mut seats = need.seats.clone();
            for filled in &group.filled {
                prop_assert!(voters.contains(&filled.by));
                prop_assert!(used.insert(filled.by), "each human is used once");
                let place = seats
                    .iter()
                    .position(|s| s.owner == filled.owner && s.fillers.contains(&filled.by));
                prop_assert!(place.is_some(), "a seat is filled once, by an eligible human");
                seats.remove(place.unwrap());
            }
        }
    }

    #[test]
    fn quorum_is_never_lost_by_another_approval(
        needs in any_needs(),
        voters in prop::collection::btree_set(0u128..5, 0..5),
        newcomer in 0u128..5,
    ) {
        let mut voters: BTreeSet<UserId> = voters.into_iter().map(user).collect();
        let before = tally(&needs, &voters);
        voters.insert(user(newcomer));
        let after = tally(&needs, &voters);
        prop_assert!(after.missing() <= before.missing());
        prop_assert!(!before.is_met() || after.is_met());
    }
}

#[test]
fn quorum_counts_a_human_in_two_groups_once() {
    let needs = [Need { min: 1, seats: own(&[1, 2]) }, Need { min: 1, seats: own(&[1, 3]) }];
    assert!(!tally(&needs, &humans(&[1])).is_met());
    assert_eq!(tally(&needs, &humans(&[1])).missing(), 1);
    assert!(tally(&needs, &humans(&[1, 2])).is_met(), "1 moves to the second group");
    assert!(tally(&needs, &humans(&[1, 3])).is_met());
    assert!(!tally(&needs, &humans(&[2])).is_met());
}

#[test]
fn quorum_reassigns_a_seat_so_that_both_count() {
    // 1 is placed first, in the first group; 2 fits only there.
    let needs = [Need { min: 1, seats: own(&[1, 2]) }, Need { min: 1, seats: own(&[1]) }];
    assert!(tally(&needs, &humans(&[1, 2])).is_met());
}

#[test]
fn quorum_gives_two_delegates_of_one_owner_one_seat() {
    let needs = [Need { min: 2, seats: vec![seat(1, &[1, 9]), seat(2, &[2])] }];
    assert!(!tally(&needs, &humans(&[1, 9])).is_met(), "owner and follower share one seat");
    assert!(tally(&needs, &humans(&[9, 2])).is_met());
}

#[test]
fn quorum_without_groups_is_never_met() {
    assert!(!tally(&[], &humans(&[1, 2, 3])).is_met());
}

#[test]
fn quorum_of_a_group_with_too_few_seats_is_unreachable() {
    let needs = [Need { min: 3, seats: own(&[1, 2]) }];
    let tally = tally(&needs, &humans(&[1, 2, 3, 4]));
    assert_eq!((tally.is_met(), tally.missing()), (false, 1));
}
