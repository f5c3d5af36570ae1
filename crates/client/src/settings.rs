//! Calls for tenant settings: risk weights, time limits and features.

use ade_api::settings::{
    FlagShown, Flags, NewRiskSettings, NewTimeouts, RiskSettings, SetFlag, Timeouts,
};
use ade_core::flag::Flag;

use crate::error::Error;
use crate::send::Call;
use crate::submitted::Submitted;
use crate::{Client, spelled};

#[derive(Debug, Clone, Copy)]
pub struct Settings<'a>(pub(crate) &'a Client);

impl Settings<'_> {
    pub async fn risk(self) -> Result<RiskSettings, Error> {
        self.0.read("/v1/risk/settings".to_owned()).await
    }

    pub async fn set_risk(
        self,
        version: u64,
        new: &NewRiskSettings,
    ) -> Result<Submitted<RiskSettings>, Error> {
        self.0.submit(Call::put("/v1/risk/settings").matching(version).body(new)).await
    }

    pub async fn timeouts(self) -> Result<Timeouts, Error> {
        self.0.read("/v1/settings/timeouts".to_owned()).await
    }

    pub async fn set_timeouts(
        self,
        version: u64,
        new: &NewTimeouts,
    ) -> Result<Submitted<Timeouts>, Error> {
        self.0.submit(Call::put("/v1/settings/timeouts").matching(version).body(new)).await
    }

    pub async fn flags(self) -> Result<Flags, Error> {
        self.0.read("/v1/flags".to_owned()).await
    }

    pub async fn set_flag(self, flag: Flag, to: &SetFlag) -> Result<Submitted<FlagShown>, Error> {
        let name = spelled(Some(flag)).unwrap_or_default();
        self.0.submit(Call::put(format!("/v1/flags/{name}")).body(to)).await
    }
}
