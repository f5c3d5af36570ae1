//! Calls for webhooks and their deliveries.

use ade_api::page::{Page, PageQuery};
use ade_api::webhooks::{
    Delivery, DeliveryState, NewWebhook, Redelivered, Redelivery, Webhook, WebhookChange,
    WebhookRotation, WebhookSecret,
};
use ade_core::ids::WebhookId;

use crate::error::Error;
use crate::send::Call;
use crate::{Client, spelled};

#[derive(Debug, Clone, Copy)]
pub struct Webhooks<'a>(pub(crate) &'a Client);

impl Webhooks<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<Webhook>, Error> {
        self.0.read_page("/v1/webhooks", page).await
    }

    pub async fn get(self, id: WebhookId) -> Result<Webhook, Error> {
        self.0.read(path(id)).await
    }

    /// Creates a webhook. Only this response contains its secret.
    pub async fn create(self, new: &NewWebhook) -> Result<WebhookSecret, Error> {
        self.0.send(Call::post("/v1/webhooks").body(new)).await
    }

    pub async fn change(
        self,
        id: WebhookId,
        version: u64,
        change: &WebhookChange,
    ) -> Result<Webhook, Error> {
        self.0.send(Call::patch(path(id)).matching(version).body(change)).await
    }

    pub async fn delete(self, id: WebhookId) -> Result<Webhook, Error> {
        self.0.send(Call::delete(path(id))).await
    }

    /// Rotates the secret. Only this response contains the new one.
    pub async fn rotate(
        self,
        id: WebhookId,
        rotation: &WebhookRotation,
    ) -> Result<WebhookSecret, Error> {
        self.0.send(Call::post(format!("{}/rotate", path(id))).body(rotation)).await
    }

    pub async fn ping(self, id: WebhookId) -> Result<Delivery, Error> {
        self.0.send(Call::post(format!("{}/ping", path(id)))).await
    }

    pub async fn deliveries(
        self,
        id: WebhookId,
        state: Option<DeliveryState>,
        page: &PageQuery,
    ) -> Result<Page<Delivery>, Error> {
        let call =
            Call::get(format!("{}/deliveries", path(id))).query("state", spelled(state)).page(page);
        self.0.send(call).await
    }

    pub async fn redeliver(
        self,
        id: WebhookId,
        redelivery: &Redelivery,
    ) -> Result<Redelivered, Error> {
        self.0.send(Call::post(format!("{}/redeliver", path(id))).body(redelivery)).await
    }
}

fn path(id: WebhookId) -> String {
    format!("/v1/webhooks/{id}")
}
