//! Calls for API tokens.

use ade_api::page::{Page, PageQuery};
use ade_api::tokens::{IssuedToken, NewToken, Token};
use ade_core::ids::{AgentId, UserId};

use crate::Client;
use crate::error::Error;
use crate::send::{Call, segment};

#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a>(pub(crate) &'a Client);

impl Tokens<'_> {
    /// Lists the tokens of a user or an agent, or the caller's own.
    pub async fn list(
        self,
        user: Option<UserId>,
        agent: Option<AgentId>,
        page: &PageQuery,
    ) -> Result<Page<Token>, Error> {
        let call = Call::get("/v1/tokens")
            .query("user_id", user.map(|user| user.to_string()))
            .query("agent_id", agent.map(|agent| agent.to_string()))
            .page(page);
        self.0.send(call).await
    }

    /// Creates a token. Only this response contains it.
    pub async fn create(self, new: &NewToken) -> Result<IssuedToken, Error> {
        self.0.send(Call::post("/v1/tokens").body(new)).await
    }

    pub async fn revoke(self, key_id: &str) -> Result<Token, Error> {
        self.0.send(Call::delete(format!("/v1/tokens/{}", segment(key_id)))).await
    }
}
