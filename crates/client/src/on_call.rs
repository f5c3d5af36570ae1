//! Calls for on-call schedules and notification preferences.

use ade_api::notifications::{NewPreferences, Preferences};
use ade_api::on_call::{Duties, Duty, NewDuty};
use ade_core::ids::DutyId;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

const PREFERENCES: &str = "/v1/notifications/preferences";

#[derive(Debug, Clone, Copy)]
pub struct OnCall<'a>(pub(crate) &'a Client);

impl OnCall<'_> {
    pub async fn list(self) -> Result<Duties, Error> {
        self.0.send(Call::get("/v1/on-call")).await
    }

    pub async fn create(self, new: &NewDuty) -> Result<Duty, Error> {
        self.0.send(Call::post("/v1/on-call").body(new)).await
    }

    pub async fn delete(self, id: DutyId) -> Result<Duty, Error> {
        self.0.send(Call::delete(format!("/v1/on-call/{id}"))).await
    }

    pub async fn preferences(self) -> Result<Preferences, Error> {
        self.0.send(Call::get(PREFERENCES)).await
    }

    pub async fn prefer(self, version: u64, new: &NewPreferences) -> Result<Preferences, Error> {
        self.0.send(Call::put(PREFERENCES).matching(version).body(new)).await
    }
}
