//! Calls for event consumers and their dead events.

use ade_api::event_consumers::{
    DeadEvent, DeadEventState, EventConsumer, EventConsumers as Listed, Redrive, Redriven,
};
use ade_api::page::{Page, PageQuery};

use crate::error::Error;
use crate::send::Call;
use crate::{Client, spelled};

#[derive(Debug, Clone, Copy)]
pub struct EventConsumers<'a>(pub(crate) &'a Client);

impl EventConsumers<'_> {
    pub async fn list(self) -> Result<Listed, Error> {
        self.0.send(Call::get("/v1/event-consumers")).await
    }

    pub async fn dead(
        self,
        consumer: Option<EventConsumer>,
        state: Option<DeadEventState>,
        page: &PageQuery,
    ) -> Result<Page<DeadEvent>, Error> {
        let call = Call::get("/v1/event-consumers/dead-events")
            .query("consumer", spelled(consumer))
            .query("state", spelled(state))
            .page(page);
        self.0.send(call).await
    }

    pub async fn redrive(self, redrive: &Redrive) -> Result<Redriven, Error> {
        self.0.send(Call::post("/v1/event-consumers/dead-events/redrive").body(redrive)).await
    }
}
