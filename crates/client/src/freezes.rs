//! Calls for freezes of applies.

use ade_api::freezes::{Freeze, NewFreeze};
use ade_api::page::{Page, PageQuery};
use ade_core::ids::FreezeId;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::submitted::Submitted;

#[derive(Debug, Clone, Copy)]
pub struct Freezes<'a>(pub(crate) &'a Client);

impl Freezes<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<Freeze>, Error> {
        self.0.read_page("/v1/freezes", page).await
    }

    pub async fn create(self, new: &NewFreeze) -> Result<Freeze, Error> {
        self.0.send(Call::post("/v1/freezes").body(new)).await
    }

    pub async fn lift(self, id: FreezeId, reason: String) -> Result<Submitted<Freeze>, Error> {
        let call = Call::delete(format!("/v1/freezes/{id}")).query("reason", Some(reason));
        self.0.submit(call).await
    }
}
