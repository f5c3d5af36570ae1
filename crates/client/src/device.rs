//! Calls for the device login, which confirms a terminal login in a browser.

use ade_api::device::{
    DeviceApproval, DeviceLogin, DevicePoll, DeviceRequest, DeviceToken, NewDeviceLogin,
};
use ade_core::limits::CLIENT_CALL_TIMEOUT;

use crate::Client;
use crate::error::Error;
use crate::send::{Call, segment};

#[derive(Debug, Clone, Copy)]
pub struct Device<'a>(pub(crate) &'a Client);

impl Device<'_> {
    /// Starts a device login. This call and [`Device::token`] need no token.
    pub async fn begin(self, new: &NewDeviceLogin) -> Result<DeviceLogin, Error> {
        self.0.send(Call::post("/auth/device").body(new)).await
    }

    /// Polls for the token without retries, because the caller controls the polling interval.
    pub async fn token(self, device_code: &str) -> Result<DeviceToken, Error> {
        let poll = DevicePoll { device_code: device_code.to_owned() };
        let call = Call::post("/auth/device/token").body(&poll).once(CLIENT_CALL_TIMEOUT);
        self.0.send(call).await
    }

    pub async fn get(self, user_code: &str) -> Result<DeviceRequest, Error> {
        self.0.read(format!("/v1/device/{}", segment(user_code))).await
    }

    pub async fn approve(
        self,
        user_code: &str,
        wanted: &DeviceApproval,
    ) -> Result<DeviceRequest, Error> {
        let path = format!("/v1/device/{}/approve", segment(user_code));
        self.0.send(Call::post(path).body(wanted)).await
    }

    pub async fn deny(self, user_code: &str) -> Result<DeviceRequest, Error> {
        self.0.send(Call::post(format!("/v1/device/{}/deny", segment(user_code)))).await
    }
}
