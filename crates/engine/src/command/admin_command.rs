//! One change to the tenant's own records (people, agents, tokens, resources): under the tenant
//! lock, with a permission check against the current rules, once per idempotency key, and with an
//! audit entry. A refusal is audited as well.

use std::sync::Arc;

use ade_core::access::{Action, Object};
use ade_core::audit::{AuditEntry, EntryKind, What, Why};
use ade_core::ids::UserId;
use ade_core::rule_change::RuleFinding;
use ade_core::step_up::ConfirmationSubject;
use ade_store::tenant_config::TenantConfig;
use ade_store::{BeginOptions, TenantLock, Tx, audit, scheduled_jobs};
use serde::Serialize;
use serde_json::Value;

use super::confirmation;
use super::idempotency::{key_of, reserve_key, store_response};
use super::permission::{audit_entry, permit, person, refuse};
use super::present::value;
use super::schedule::JobKind;
use super::{Reply, json};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::error::Error;

#[derive(Debug)]
pub struct AdminCommand<'a> {
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a IdempotentRequest,
    pub tx: Tx,
    pub book: Arc<TenantConfig>,
    is_in_setup: bool,
}

/// The object and the action that an audit entry records.
#[derive(Debug)]
pub struct AuditAction {
    pub object: String,
    /// The name of the action, for example `user.create`.
    pub action: &'static str,
}

/// A change that was written but not committed yet.
#[derive(Debug)]
pub struct Applied {
    pub action: AuditAction,
    pub reason: Option<String>,
    pub status: u16,
    pub body: Value,
    /// Consequences for approvals that the tenant configuration does not show.
    pub findings: Vec<RuleFinding>,
}

impl Applied {
    pub fn new(action: AuditAction, status: u16, body: &impl Serialize) -> Result<Self, Error> {
        let body = value(body)?;
        Ok(Self { action, reason: None, status, body, findings: Vec::new() })
    }

    #[must_use]
    pub fn because(self, reason: Option<String>) -> Self {
        Self { reason, ..self }
    }

    #[must_use]
    pub fn with_findings(self, findings: Vec<RuleFinding>) -> Self {
        Self { findings, ..self }
    }
}

impl<'a> AdminCommand<'a> {
    /// Begins the change. `needs` is the required permission; `None` if it concerns only the
    /// caller. A repeated request ends here with [`Error::Replayed`].
    pub async fn begin(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a IdempotentRequest,
        needs: Option<Action>,
    ) -> Result<Self, Error> {
        let key = key_of(caller, attempt);
        let first = BeginOptions { row: None, key: key.as_ref() };
        let (pool, actor) = (&app.pools.api, caller.actor.clone());
        let tx = Tx::begin_with(pool, caller.tenant, actor, TenantLock::Exclusive, first).await?;
        let mut tx = reserve_key(tx, caller, attempt).await?;
        let book = app.books.current(&mut tx).await?;
        let act = Self { app, caller, attempt, tx, book, is_in_setup: false };
        match needs {
            Some(action) => act.require(action, Object::Tenant, &caller.tenant).await,
            None => Ok(act),
        }
    }

    /// Continues only with this permission; a refused attempt on `what` is recorded.
    pub async fn require(
        self,
        action: Action,
        object: Object,
        what: &impl ToString,
    ) -> Result<Self, Error> {
        match permit(self.app, &self.book, &self.caller.actor, action, object) {
            Ok(()) => Ok(self),
            Err(denied) => {
                let what = what.to_string();
                refuse(self.tx, self.caller, action.as_str(), what, &denied).await?;
                Err(denied.into())
            }
        }
    }

    /// Continues only if the caller's passkey has confirmed exactly this action, where a
    /// confirmation is required.
    pub async fn confirmed(mut self, subject: &ConfirmationSubject) -> Result<Self, Error> {
        match confirmation::require(self.app, self.caller, &mut self.tx, subject).await {
            Ok(_) => Ok(self),
            // The key must be free before the caller learns of the refusal, because the caller
            // retries with it.
            Err(error) => {
                self.tx.roll_back().await;
                Err(error)
            }
        }
    }

    /// Schedules a check of all approved tasks, because rules or people have changed.
    pub async fn doubt_approved(&mut self) -> Result<(), Error> {
        scheduled_jobs::set_for_approved(&mut self.tx, JobKind::CheckBasis.as_str()).await?;
        Ok(())
    }

    /// Ends the change with an error; a denied permission is recorded.
    pub async fn refuse(self, error: Error) -> Error {
        let Error::Denied(denied) = &error else { return error };
        let (action, object) = (denied.action.as_str(), self.caller.tenant.to_string());
        match refuse(self.tx, self.caller, action, object, denied).await {
            Ok(()) => error,
            Err(failed) => failed,
        }
    }

    /// Writes the audit entry and the stored response, and commits.
    pub async fn finish(
        self,
        action: AuditAction,
        status: u16,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        self.finish_with_secret(action, status, body, body).await
    }

    /// Finishes with the reason that the caller gave.
    pub async fn finish_because(
        self,
        action: AuditAction,
        reason: Option<String>,
        status: u16,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        self.end(action, Why { reason, ticket: None }, status, body, body).await
    }

    /// Finishes a change to the rules. `is_in_setup` marks one that would otherwise have waited.
    pub async fn finish_applied(
        mut self,
        applied: Applied,
        is_in_setup: bool,
    ) -> Result<Reply, Error> {
        self.is_in_setup = is_in_setup;
        let Applied { action, reason, status, body, .. } = applied;
        self.end(action, Why { reason, ticket: None }, status, &body, &body).await
    }

    /// Finishes with a response that must not be stored: another one is stored in its place.
    pub async fn finish_with_secret(
        self,
        action: AuditAction,
        status: u16,
        kept: &impl Serialize,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        self.end(action, Why::default(), status, kept, body).await
    }

    async fn end(
        mut self,
        action: AuditAction,
        why: Why,
        status: u16,
        kept: &impl Serialize,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        let what = What::new(action.object, action.action);
        let entry = audit_entry(&self.tx, self.caller, EntryKind::Change, what, why);
        let entry = if self.is_in_setup { entry.in_setup() } else { entry };
        audit::append(&mut self.tx, &[entry]).await?;
        store_response(&mut self.tx, self.caller, self.attempt, status, kept).await?;
        self.tx.commit().await?;
        Ok(Reply { status, body: json(body)?, is_repeated: false })
    }

    /// Adds audit entries for further actions in the same transaction.
    pub async fn also(
        &mut self,
        actions: impl IntoIterator<Item = AuditAction>,
    ) -> Result<(), Error> {
        let entries: Vec<AuditEntry> = actions
            .into_iter()
            .map(|AuditAction { object, action }| {
                let what = What::new(object, action);
                audit_entry(&self.tx, self.caller, EntryKind::Change, what, Why::default())
            })
            .collect();
        audit::append(&mut self.tx, &entries).await?;
        Ok(())
    }

    pub fn app(&self) -> &'a App {
        self.app
    }

    /// Returns the calling person; `None` for a worker.
    pub fn person(&self) -> Option<UserId> {
        person(self.caller).ok()
    }
}
