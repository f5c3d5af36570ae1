//! Calls about the groups that read events, and the events that they gave up.

use ade_api::groups::{DeadEvent, DeadEventState, EventGroup, Groups, Redrive, Redriven};
use ade_api::page::{Page, PageQuery};

use crate::error::Error;
use crate::send::Call;
use crate::{Client, spelled};

#[derive(Debug, Clone, Copy)]
pub struct EventGroups<'a>(pub(crate) &'a Client);

impl EventGroups<'_> {
    pub async fn list(self) -> Result<Groups, Error> {
        self.0.send(Call::get("/v1/groups")).await
    }

    pub async fn dead(
        self,
        group: Option<EventGroup>,
        state: Option<DeadEventState>,
        page: &PageQuery,
    ) -> Result<Page<DeadEvent>, Error> {
        let call = Call::get("/v1/dead-events")
            .query("group", spelled(group))
            .query("state", spelled(state))
            .page(page);
        self.0.send(call).await
    }

    pub async fn redrive(self, redrive: &Redrive) -> Result<Redriven, Error> {
        self.0.send(Call::post("/v1/dead-events/redrive").body(redrive)).await
    }
}
