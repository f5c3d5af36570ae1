//! Rate limits.

use std::collections::BTreeMap;

use ade_core::limits::RATE_KEPT_MAX;
use ade_core::rate;
use ade_engine::services::rate_limiter::RateLimitSettings;
use serde::Deserialize;

use super::ConfigError;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    token: Rate,
    tenant: Rate,
    endpoint: Rate,
    endpoints: BTreeMap<String, Rate>,
    submit: Rate,
    submit_owner: Rate,
    submit_tenant: Rate,
    open: Rate,
    refused: Rate,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    per_minute: u32,
    burst: u32,
}

impl Rate {
    fn check(self, name: &str) -> Result<rate::Rate, ConfigError> {
        let rate = rate::Rate { per_minute: self.per_minute, burst: self.burst };
        let is_fit = self.per_minute > 0 && self.burst > 0 && rate.ahead() <= RATE_KEPT_MAX;
        is_fit.then_some(rate).ok_or_else(|| ConfigError::Rate { name: name.to_owned() })
    }
}

impl Rates {
    pub fn settings(&self) -> Result<RateLimitSettings, ConfigError> {
        let own = |(name, rate): (&String, &Rate)| {
            Ok((name.clone(), rate.check(&format!("endpoints.{name}"))?))
        };
        Ok(RateLimitSettings {
            token: self.token.check("token")?,
            tenant: self.tenant.check("tenant")?,
            endpoint: self.endpoint.check("endpoint")?,
            endpoints: self.endpoints.iter().map(own).collect::<Result<_, ConfigError>>()?,
            submit: self.submit.check("submit")?,
            submit_owner: self.submit_owner.check("submit_owner")?,
            submit_tenant: self.submit_tenant.check("submit_tenant")?,
            open: self.open.check("open")?,
            refused: self.refused.check("refused")?,
        })
    }
}
