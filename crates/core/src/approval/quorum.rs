//! Counts approvals. Distinct humans are matched to the seats of all groups at once, so that one
//! human counts once per task, whichever chains and groups lead to them. The matching is a maximum
//! flow from humans over seats to groups; it is exact, not greedy.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ids::UserId;

/// One seat in a group, with the humans who may fill it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotCandidates {
    pub owner: UserId,
    pub fillers: BTreeSet<UserId>,
}

/// A group that needs `min` of its seats filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub min: u32,
    pub seats: Vec<SlotCandidates>,
}

/// A seat that counts, with its owner and the human who fills it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Filled {
    pub owner: UserId,
    pub by: UserId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupTally {
    pub needed: u32,
    pub filled: Vec<Filled>,
}

impl GroupTally {
    pub fn is_met(&self) -> bool {
        self.missing() == 0
    }

    pub fn missing(&self) -> u32 {
        let filled = u32::try_from(self.filled.len()).unwrap_or(u32::MAX);
        self.needed.saturating_sub(filled)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub groups: Vec<GroupTally>,
}

impl Tally {
    /// Returns whether all groups are satisfied. An empty list of groups is never satisfied: at
    /// least one person must be asked.
    pub fn is_met(&self) -> bool {
        !self.groups.is_empty() && self.groups.iter().all(GroupTally::is_met)
    }

    pub fn missing(&self) -> u32 {
        self.groups.iter().map(GroupTally::missing).sum()
    }
}

/// A seat, identified by group and position.
type SeatIndex = (usize, usize);

/// Returns the largest number of needs that these humans can fill together, using each human once.
pub fn tally(needs: &[Need], humans: &BTreeSet<UserId>) -> Tally {
    let mut matching = Matching { needs, taken: BTreeMap::new() };
    for human in humans {
        matching.place(*human, &mut BTreeSet::new());
    }
    let mut groups: Vec<GroupTally> =
        needs.iter().map(|need| GroupTally { needed: need.min, filled: Vec::new() }).collect();
    for ((group, seat), human) in &matching.taken {
        let owner = needs.get(*group).and_then(|need| need.seats.get(*seat));
        if let (Some(tally), Some(seat)) = (groups.get_mut(*group), owner) {
            tally.filled.push(Filled { owner: seat.owner, by: *human });
        }
    }
    Tally { groups }
}

struct Matching<'a> {
    needs: &'a [Need],
    taken: BTreeMap<SeatIndex, UserId>,
}

impl Matching<'_> {
    fn has_room(&self, group: usize, min: u32) -> bool {
        let filled = self.taken.range((group, 0)..=(group, usize::MAX)).count();
        u32::try_from(filled).is_ok_and(|filled| filled < min)
    }

    /// Finds a seat for the human, moving others if that makes room. `tried` keeps a search from
    /// visiting a seat twice; a full group is entered only through one of its taken seats.
    fn place(&mut self, human: UserId, tried: &mut BTreeSet<SeatIndex>) -> bool {
        for (group, need) in self.needs.iter().enumerate() {
            for (position, seat) in need.seats.iter().enumerate() {
                let index = (group, position);
                if !seat.fillers.contains(&human) || !tried.insert(index) {
                    continue;
                }
                if let Some(sitting) = self.taken.get(&index).copied() {
                    if self.place(sitting, tried) {
                        self.taken.insert(index, human);
                        return true;
                    }
                } else if self.has_room(group, need.min) || self.make_room(group, tried) {
                    self.taken.insert(index, human);
                    return true;
                }
            }
        }
        false
    }

    /// Tries to free a seat of a group that is full: a further seat counts only if another human
    /// can move away.
    fn make_room(&mut self, group: usize, tried: &mut BTreeSet<SeatIndex>) -> bool {
        let sitters: Vec<(SeatIndex, UserId)> = self
            .taken
            .range((group, 0)..=(group, usize::MAX))
            .map(|(index, human)| (*index, *human))
            .collect();
        for (index, sitter) in sitters {
            if !tried.insert(index) {
                continue;
            }
            if self.place(sitter, tried) {
                self.taken.remove(&index);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
#[path = "quorum_tests.rs"]
mod tests;
