//! Applies a decision to the task. The store writes the same changes as rows; the model checker and
//! the tests use this module.

use std::time::Duration;

use super::decision::{Decision, Write};
use super::{State, Task, To};
use crate::approval::assignment::ReviewRequest;
use crate::approval::{Approval, ApprovalStatus};
use crate::ids::UserId;
use crate::time::Timestamp;

impl Task {
    /// Returns the task after the decision; `None` if it is deleted.
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
            if matches!(state, State::Submitted | State::Reviewing) {
                next.decision = None;
            }
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
            Write::Revise { content, editor, token_issuer } => {
                self.revision += 1;
                self.content = content.clone();
                self.involvement.editors.extend(editor);
                self.involvement.token_issuers.extend(token_issuer);
                self.extended_to = None;
            }
            Write::CarryVotes(votes) => self.votes.extend(votes.iter().cloned()),
            Write::Pin { pins, submitter, token_issuer } => {
                self.pins.clone_from(pins);
                self.involvement.submitter = Some(*submitter);
                self.involvement.token_issuers.extend(token_issuer);
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
                    self.approvals.iter_mut().filter(|open| open.status == ApprovalStatus::Pending);
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
            Write::Decide(decision) => self.decision = Some(decision.clone()),
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
            Write::ReleaseToHost => self.is_released = true,
            Write::ResetAttempts => self.attempts = 0,
            // Stored in tables of their own; no rule reads them back.
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

    /// Adds a request. There is one request per reviewer and revision: a second reason to ask adds
    /// its slots.
    fn ask(&mut self, request: &ReviewRequest, due_at: Timestamp, now: Timestamp) {
        let known = self.approvals.iter_mut().find(|approval| {
            approval.reviewer == request.reviewer && approval.revision == self.revision
        });
        match known {
            Some(approval) => {
                approval.status = ApprovalStatus::Pending;
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
                status: ApprovalStatus::Pending,
                places: request.places.clone(),
                requested_at: now,
                due_at,
            }),
        }
    }

    fn close(&mut self, reviewer: UserId, status: ApprovalStatus) {
        let request = self
            .approvals
            .iter_mut()
            .find(|approval| approval.reviewer == reviewer && approval.revision == self.revision);
        if let Some(approval) = request {
            approval.status = status;
        }
    }

    /// Returns whether the row can be archived: only a resubmission by a person changes it.
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
