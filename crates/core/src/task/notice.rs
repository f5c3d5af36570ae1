//! Who is told of a decision that nobody was waiting for. Whoever is asked for an answer finds it
//! in the inbox, and whoever decides gets an answer; this is for what time and changed rules do,
//! and for overrides, which nobody is to miss.

use std::collections::BTreeSet;

use super::Task;
use super::decide::{Decision, Write};
use crate::actor::Role;
use crate::event::EventKind;
use crate::ids::UserId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What they are told of.
    pub event: EventKind,
    pub roles: BTreeSet<Role>,
    pub people: BTreeSet<UserId>,
}

impl Decision {
    /// `task` is as it was.
    pub fn notices(&self, task: &Task) -> Vec<Notice> {
        let is_told = |event: EventKind| self.events.contains(&event);
        let mut notices = Vec::new();
        let mut tell = |event, roles: &BTreeSet<Role>, people: BTreeSet<UserId>| {
            notices.push(Notice { event, roles: roles.clone(), people });
        };
        let nobody = BTreeSet::new();
        for write in &self.writes {
            match write {
                Write::Notify { roles, people } => {
                    if let Some(event) = self.events.first() {
                        tell(*event, roles, people.clone());
                    }
                }
                Write::Ask { requests, .. } if is_told(EventKind::ApprovalEscalated) => {
                    let people = requests.iter().map(|request| request.reviewer).collect();
                    tell(EventKind::ApprovalRequested, &nobody, people);
                }
                _ => {}
            }
        }
        for event in
            [EventKind::TaskExtended, EventKind::TaskExpired, EventKind::TaskReviewReopened]
        {
            if is_told(event) {
                tell(event, &nobody, [task.involvement.author].into());
            }
        }
        notices
    }
}
