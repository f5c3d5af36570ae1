//! Calls for the audit log.

use ade_api::audit::AuditPage;
use ade_api::page::PageQuery;
use ade_core::audit::EntryKind;
use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

/// Selects audit entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub object: Option<String>,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub kind: Option<EntryKind>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy)]
pub struct Audit<'a>(pub(crate) &'a Client);

impl Audit<'_> {
    pub async fn list(self, filter: &AuditFilter, page: &PageQuery) -> Result<AuditPage, Error> {
        let call = Call::get("/v1/audit")
            .query("object", filter.object.clone())
            .query("user_id", filter.user.map(|user| user.to_string()))
            .query("agent_id", filter.agent.map(|agent| agent.to_string()))
            .query("kind", filter.kind.map(|kind| kind.as_str().to_owned()))
            .query("from", filter.from.map(|from| from.to_string()))
            .query("to", filter.to.map(|to| to.to_string()))
            .page(page);
        self.0.send(call).await
    }
}
