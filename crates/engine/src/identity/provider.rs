//! One identity provider: what it says of itself, the keys it signs with, and codes that are turned
//! into tokens. Descriptions and keys are kept for a while, and asked for anew when a key is not
//! among them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ade_core::identity::Expected;
use ade_core::limits::{
    PROVIDER_ANSWER_MAX_BYTES, PROVIDER_ASKED_AGAIN, PROVIDER_KEPT, PROVIDER_TIMEOUT,
    PROVIDER_WAITERS_MAX,
};
use jsonwebtoken::jwk::JwkSet;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::Identity;
use super::id_token::{IdTokenError, verify};
use crate::webhooks::seconds;

/// As the installation's settings have it.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct Settings {
    pub name: String,
    pub title: String,
    pub issuer: String,
    pub client_id: String,
    /// None of a public client, which PKCE alone protects.
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    /// The claim that names somebody's groups.
    pub groups_claim: String,
    /// Without TLS on this machine, for development.
    pub allow_loopback: bool,
}

#[derive(Debug, Error)]
pub enum ProviderError {
    #[error("`{0}` is no address with https")]
    Address(String),
    #[error("no client can be made for it: {0}")]
    Client(reqwest::Error),
    #[error("it does not answer: {0}")]
    Silent(String),
    #[error("it says of itself that it is `{0}`")]
    AnotherIssuer(String),
    #[error("it does not take the code")]
    CodeRefused,
    #[error("its token is not believed: {0}")]
    Token(#[from] IdTokenError),
}

pub struct Provider {
    settings: Settings,
    client: Client,
    heard: Mutex<Heard>,
    /// One asks, and the others hear what it said.
    turn: tokio::sync::Mutex<()>,
    waiting: Semaphore,
}

/// What it said last.
#[derive(Default)]
struct Heard {
    described: Option<Arc<Described>>,
    /// When it was last asked in vain, and how: nobody waits for it again so soon after.
    silent: Option<(Instant, String)>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.settings.name)
            .field("issuer", &self.settings.issuer)
            .finish_non_exhaustive()
    }
}

struct Described {
    description: Description,
    keys: JwkSet,
    asked_at: Instant,
    /// When it was last asked before its time, because a key was not known.
    asked_early_at: Option<Instant>,
}

#[derive(Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    /// RFC 9207: every answer names its issuer.
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    /// What is left out means the first of them alone.
    #[serde(default = "by_header")]
    token_endpoint_auth_methods_supported: Vec<String>,
}

const BY_HEADER: &str = "client_secret_basic";

fn by_header() -> Vec<String> {
    vec![BY_HEADER.to_owned()]
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

/// What a browser carries to the provider.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub state: &'a str,
    pub nonce: &'a str,
    pub challenge: &'a str,
    pub callback: &'a str,
}

impl Provider {
    pub fn new(settings: Settings) -> Result<Self, ProviderError> {
        address(&settings.issuer, settings.allow_loopback)?;
        let client = Client::builder()
            .redirect(Policy::none())
            .timeout(PROVIDER_TIMEOUT)
            .build()
            .map_err(ProviderError::Client)?;
        let waiting = Semaphore::new(PROVIDER_WAITERS_MAX);
        let (heard, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { settings, client, heard, turn, waiting })
    }

    pub fn name(&self) -> &str {
        &self.settings.name
    }

    pub fn title(&self) -> &str {
        &self.settings.title
    }

    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    pub(super) async fn question(&self, asked: Question<'_>) -> Result<Url, ProviderError> {
        let described = self.described().await?;
        let mut url = self.address(&described.description.authorization_endpoint)?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", asked.callback)
            .append_pair("scope", &self.settings.scopes.join(" "))
            .append_pair("state", asked.state)
            .append_pair("nonce", asked.nonce)
            .append_pair("code_challenge", asked.challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Whether an answer that names this issuer, or none, can be this provider's.
    pub(super) async fn is_answer_of(&self, issuer: Option<&str>) -> Result<bool, ProviderError> {
        let described = self.described().await?;
        Ok(match issuer {
            Some(issuer) => issuer == self.settings.issuer,
            None => !described.description.authorization_response_iss_parameter_supported,
        })
    }

    /// Who has brought this code.
    pub(super) async fn redeem(
        &self,
        code: &str,
        verifier: &str,
        nonce: &str,
        callback: &str,
    ) -> Result<Identity, ProviderError> {
        let described = self.described().await?;
        let endpoint = self.address(&described.description.token_endpoint)?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
            ("code_verifier", verifier),
            ("client_id", &self.settings.client_id),
        ];
        let mut request = self.client.post(endpoint);
        let methods = &described.description.token_endpoint_auth_methods_supported;
        if let Some(secret) = &self.settings.client_secret {
            if methods.iter().any(|method| method == BY_HEADER) {
                let [id, secret] = [&self.settings.client_id, secret].map(|text| encoded(text));
                request = request.basic_auth(id, Some(secret));
            } else {
                form.push(("client_secret", secret));
            }
        }
        let answer = ask(request.form(&form)).await?;
        if answer.status().is_client_error() {
            return Err(ProviderError::CodeRefused);
        }
        let tokens: Tokens = read(answer).await?;
        let expected = Expected {
            issuer: &self.settings.issuer,
            client: &self.settings.client_id,
            nonce,
            now: seconds(),
        };
        let groups = &self.settings.groups_claim;
        match verify(&tokens.id_token, &described.keys, &expected, groups) {
            Err(IdTokenError::UnknownKey) => {
                let anew = self.described_after(described.asked_at).await?;
                Ok(verify(&tokens.id_token, &anew.keys, &expected, groups)?)
            }
            judged => Ok(judged?),
        }
    }

    async fn described(&self) -> Result<Arc<Described>, ProviderError> {
        let is_enough = |known: &Described| known.asked_at.elapsed() < PROVIDER_KEPT;
        self.described_so(is_enough, None).await
    }

    /// Newer than what was asked at `before`, if it may be asked again already: anybody can show a
    /// token with a key that nobody knows.
    async fn described_after(&self, before: Instant) -> Result<Arc<Described>, ProviderError> {
        let is_enough = |known: &Described| {
            let early = known.asked_early_at;
            known.asked_at > before || early.is_some_and(|at| at.elapsed() < PROVIDER_ASKED_AGAIN)
        };
        self.described_so(is_enough, Some(Instant::now())).await
    }

    /// As it was heard, or asked for once for all who want it. Of those some wait and the others
    /// are told at once: a provider that is silent must not fill the server with people who wait.
    async fn described_so(
        &self,
        is_enough: impl Fn(&Described) -> bool,
        asked_early_at: Option<Instant>,
    ) -> Result<Arc<Described>, ProviderError> {
        if let Some(heard) = self.heard(&is_enough) {
            return heard;
        }
        let many = |_| ProviderError::Silent("many wait for its answer already".to_owned());
        let _place = self.waiting.try_acquire().map_err(many)?;
        let _turn = self.turn.lock().await;
        if let Some(heard) = self.heard(&is_enough) {
            return heard;
        }
        let described = self.describe(asked_early_at).await;
        let mut kept = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match &described {
            Ok(described) => {
                *kept = Heard { described: Some(Arc::clone(described)), silent: None };
            }
            Err(ProviderError::Silent(why)) => kept.silent = Some((Instant::now(), why.clone())),
            Err(_) => {}
        }
        described
    }

    /// Nothing, if it has to be asked.
    fn heard(
        &self,
        is_enough: impl Fn(&Described) -> bool,
    ) -> Option<Result<Arc<Described>, ProviderError>> {
        let kept = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.described.as_ref().filter(|known| is_enough(known)) {
            return Some(Ok(Arc::clone(known)));
        }
        let (at, why) = kept.silent.as_ref()?;
        (at.elapsed() < PROVIDER_ASKED_AGAIN).then(|| Err(ProviderError::Silent(why.clone())))
    }

    async fn describe(
        &self,
        asked_early_at: Option<Instant>,
    ) -> Result<Arc<Described>, ProviderError> {
        let issuer = self.settings.issuer.trim_end_matches('/');
        let page = self.address(&format!("{issuer}/.well-known/openid-configuration"))?;
        let description: Description = read(ask(self.client.get(page)).await?).await?;
        if description.issuer != self.settings.issuer {
            return Err(ProviderError::AnotherIssuer(description.issuer));
        }
        let keys = self.address(&description.jwks_uri)?;
        let keys: JwkSet = read(ask(self.client.get(keys)).await?).await?;
        let asked_at = Instant::now();
        Ok(Arc::new(Described { description, keys, asked_at, asked_early_at }))
    }

    fn address(&self, text: &str) -> Result<Url, ProviderError> {
        address(text, self.settings.allow_loopback)
    }
}

async fn ask(request: RequestBuilder) -> Result<Response, ProviderError> {
    request.send().await.map_err(silent)
}

fn silent(error: reqwest::Error) -> ProviderError {
    ProviderError::Silent(error.without_url().to_string())
}

async fn read<T: DeserializeOwned>(mut answer: Response) -> Result<T, ProviderError> {
    if !answer.status().is_success() {
        return Err(ProviderError::Silent(format!("status {}", answer.status().as_u16())));
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(silent)? {
        if body.len() + chunk.len() > PROVIDER_ANSWER_MAX_BYTES {
            return Err(ProviderError::Silent("its answer is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body)
        .map_err(|_| ProviderError::Silent("its answer cannot be read".to_owned()))
}

/// As in a form: RFC 6749 wants both parts so before they are joined.
fn encoded(text: &str) -> String {
    let Ok(mut url) = Url::parse("http://form/") else { return String::new() };
    url.query_pairs_mut().append_key_only(text);
    url.query().unwrap_or_default().to_owned()
}

fn address(text: &str, allow_loopback: bool) -> Result<Url, ProviderError> {
    let unfit = || ProviderError::Address(text.to_owned());
    let url = Url::parse(text).map_err(|_| unfit())?;
    let host = url.host_str().unwrap_or_default();
    let is_here = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let is_fit = url.scheme() == "https" || (allow_loopback && is_here && url.scheme() == "http");
    if is_fit { Ok(url) } else { Err(unfit()) }
}
