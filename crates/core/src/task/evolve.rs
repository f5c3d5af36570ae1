//! What a decision makes of the task. The store writes the same things as rows; the model
//! checker and the tests walk whole lives with this.

use std::time::Duration;

use super::decide::{Decision, Write};
use super::{State, Task, To};
use crate::approval::assignment::Request;
use crate::approval::{Approval, Status};
use crate::ids::UserId;
use crate::time::Timestamp;

impl Task {
    /// The task after the decision; `None` once it is deleted.
    #[must_use]
    pub fn after(&self, decision: &Decision, now: Timestamp) -> Option<Self> {
        let state = match decision.to {
            To::State(state) => state,
            To::NewDraft => self.state,
            To::Gone => return None,
        };
        let mut next = self.clone();
        if next.state != state {
            next.since = now;
        }
        next.state = state;
        next.version += 1;
        for write in &decision.writes {
            next.take(write, now);
        }
        Some(next)
    }

    fn take(&mut self, write: &Write, now: Timestamp) {
        match write {
            Write::Revise { content, editor } => {
                self.revision += 1;
                self.content = content.clone();
                self.involvement.editors.extend(editor);
                self.extended_to = None;
            }
            Write::CarryVotes(votes) => self.votes.extend(votes.iter().cloned()),
            Write::Pin { pins, submitter } => {
                self.pins.clone_from(pins);
                self.involvement.submitter = Some(*submitter);
            }
            Write::OpenReview => {
                self.review_opened_at = Some(now);
                self.escalated_to = Duration::ZERO;
                self.extended_to = None;
            }
            Write::Ask { requests, due_at } => {
                for request in requests {
                    self.ask(request, *due_at, now);
                }
            }
            Write::CloseApprovals { status } => {
                let pending =
                    self.approvals.iter_mut().filter(|open| open.status == Status::Pending);
                pending.for_each(|open| open.status = *status);
            }
            Write::CloseApproval { reviewer, status } => self.close(*reviewer, *status),
            Write::Record(vote) => self.votes.push(vote.clone()),
            Write::WithdrawVote { voter } => self.withdraw(*voter),
            Write::NextRound => self.round += 1,
            Write::EscalatedTo(after) => self.escalated_to = *after,
            Write::ExtendTo(until) => self.extended_to = Some(*until),
            Write::SetBasis(basis) => self.basis = Some(basis.clone()),
            Write::ClearBasis => self.basis = None,
            Write::AskOverride(glass) => self.break_glass = Some(glass.clone()),
            Write::ConfirmOverride(confirmation) => {
                if let Some(glass) = &mut self.break_glass {
                    glass.confirmed = Some(*confirmation);
                }
            }
            Write::DropOverride => self.break_glass = None,
            Write::StartExecution(execution) => {
                self.attempts += 1;
                self.execution = Some(execution.clone());
            }
            Write::Begin => {
                if let Some(execution) = &mut self.execution {
                    execution.begun_at = Some(now);
                }
            }
            Write::RequestAbort => {
                if let Some(execution) = &mut self.execution {
                    execution.abort_requested = true;
                }
            }
            Write::EndExecution => self.execution = None,
            Write::ResetAttempts => self.attempts = 0,
            // Kept in tables of their own; no rule reads them back.
            Write::TellShortages(_)
            | Write::Notify { .. }
            | Write::OpenAfterReview { .. }
            | Write::NotBefore(_)
            | Write::LateReport { .. }
            | Write::Comment { .. }
            | Write::FrontOfQueue => {}
        }
    }

    fn withdraw(&mut self, voter: UserId) {
        let latest = self.votes.iter_mut().rfind(|vote| vote.voter == voter);
        if let Some(vote) = latest {
            vote.withdrawn = true;
        }
    }

    /// One request per reviewer and revision: a second reason to ask adds its places.
    fn ask(&mut self, request: &Request, due_at: Timestamp, now: Timestamp) {
        let known = self.approvals.iter_mut().find(|approval| {
            approval.reviewer == request.reviewer && approval.revision == self.revision
        });
        match known {
            Some(approval) => {
                approval.status = Status::Pending;
                approval.due_at = due_at;
                for place in &request.places {
                    if !approval.places.contains(place) {
                        approval.places.push(place.clone());
                    }
                }
            }
            None => self.approvals.push(Approval {
                reviewer: request.reviewer,
                revision: self.revision,
                status: Status::Pending,
                places: request.places.clone(),
                requested_at: now,
                due_at,
            }),
        }
    }

    fn close(&mut self, reviewer: UserId, status: Status) {
        let request = self
            .approvals
            .iter_mut()
            .find(|approval| approval.reviewer == reviewer && approval.revision == self.revision);
        if let Some(approval) = request {
            approval.status = status;
        }
    }

    /// Whether the row can be put away: nothing moves it any more but a person's resubmit.
    pub fn is_closed(&self) -> bool {
        match self.state {
            State::Completed | State::Rejected | State::Cancelled | State::Expired => true,
            State::Draft
            | State::Submitted
            | State::Reviewing
            | State::Approved
            | State::Applying
            | State::Failed
            | State::Unknown => false,
        }
    }
}
