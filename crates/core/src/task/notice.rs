//! Who is notified of a decision. People who are asked find the request in the inbox, and people
//! who decide get a response; this is for the effects of time and changed policies, and for
//! overrides, which no one should miss.

use std::collections::BTreeSet;

use super::Task;
use super::decision::{Decision, Write};
use crate::actor::Role;
use crate::event::EventKind;
use crate::ids::UserId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The event they are notified of.
    pub event: EventKind,
    pub roles: BTreeSet<Role>,
    pub people: BTreeSet<UserId>,
}

impl Decision {
    /// Returns the notices of the decision. `task` is the task before the decision.
    pub fn notices(&self, task: &Task) -> Vec<Notice> {
        let is_emitted = |event: EventKind| self.events.contains(&event);
        let mut notices = Vec::new();
        let mut tell = |event, roles: &BTreeSet<Role>, people: BTreeSet<UserId>| {
            notices.push(Notice { event, roles: roles.clone(), people });
        };
        let no_roles = BTreeSet::new();
        for write in &self.writes {
            match write {
                Write::Notify { roles, people } => {
                    if let Some(event) = self.events.first() {
                        tell(*event, roles, people.clone());
                    }
                }
                Write::Ask { requests, .. } if is_emitted(EventKind::ApprovalEscalated) => {
                    let people = requests.iter().map(|request| request.reviewer).collect();
                    tell(EventKind::ApprovalRequested, &no_roles, people);
                }
                _ => {}
            }
        }
        for event in
            [EventKind::TaskExtended, EventKind::TaskExpired, EventKind::TaskReviewReopened]
        {
            if is_emitted(event) {
                tell(event, &no_roles, [task.involvement.author].into());
            }
        }
        notices
    }
}
