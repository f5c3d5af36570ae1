//! One identity provider: its discovery document, its signing keys, and the exchange of codes for
//! tokens. Discovery and keys are cached, and refreshed when a key is unknown.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_core::identity::ExpectedClaims;
use ade_core::limits::{PROVIDER_ANSWER_MAX_BYTES, PROVIDER_TIMEOUT, PROVIDER_WAITERS_MAX};
use ade_store::tenants::TenantIdentity;
use jsonwebtoken::jwk::JwkSet;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::id_token::{IdTokenError, Identity, verify};
use crate::services::tenant_binding::TenantBinding;
use crate::services::webhook_client::seconds;

/// The minimum time between two refreshes caused by an unknown key, and before a request to an
/// unresponsive provider is retried.
const PROVIDER_RETRY_AFTER: Duration = Duration::from_secs(10);
/// How long the discovery document and keys are cached.
const PROVIDER_CACHED_FOR: Duration = Duration::from_hours(1);

/// One provider in the installation's settings.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct ProviderSettings {
    pub name: String,
    pub title: String,
    pub issuer: String,
    pub client_id: String,
    /// The client secret; `None` for a public client, which is protected by PKCE alone.
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    /// The claim that contains a person's groups.
    pub groups_claim: String,
    /// Allows loopback addresses without TLS, for development.
    pub allow_loopback: bool,
    /// The tenants whose people sign in with this provider.
    pub tenants: TenantBinding,
}

#[derive(Debug, Error)]
pub enum ProviderError {
    #[error("`{0}` is not an https URL")]
    Address(String),
    #[error("the HTTP client could not be created: {0}")]
    Client(reqwest::Error),
    #[error("the identity provider did not respond: {0}")]
    Silent(String),
    #[error("the identity provider identifies itself as `{0}`")]
    AnotherIssuer(String),
    #[error("the identity provider rejected the authorization code")]
    CodeRefused,
    #[error("the ID token is not trusted: {0}")]
    Token(#[from] IdTokenError),
}

pub struct Provider {
    settings: ProviderSettings,
    client: Client,
    cache: Mutex<CachedResponse>,
    /// Held by the one caller that queries the provider; the others share its result.
    turn: tokio::sync::Mutex<()>,
    waiting: Semaphore,
}

/// The latest responses of the provider.
#[derive(Default)]
struct CachedResponse {
    metadata: Option<Arc<Metadata>>,
    /// The time and error of the last failed request, which delays the next one.
    silent: Option<(Instant, String)>,
}

/// Omits the client secret.
impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.settings.name)
            .field("issuer", &self.settings.issuer)
            .finish_non_exhaustive()
    }
}

struct Metadata {
    document: DiscoveryDocument,
    keys: JwkSet,
    fetched_at: Instant,
    /// When the provider was last queried early, because a key was unknown.
    refreshed_early_at: Option<Instant>,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    /// RFC 9207: every response names its issuer.
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    /// The supported methods; only `client_secret_basic` if the list is omitted.
    #[serde(default = "default_auth_methods")]
    token_endpoint_auth_methods_supported: Vec<String>,
}

const CLIENT_SECRET_BASIC: &str = "client_secret_basic";

fn default_auth_methods() -> Vec<String> {
    vec![CLIENT_SECRET_BASIC.to_owned()]
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

/// The parameters of the authorization request that a browser takes to the provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuthorizationRequest<'a> {
    pub state: &'a str,
    pub nonce: &'a str,
    pub challenge: &'a str,
    pub callback: &'a str,
}

impl Provider {
    pub fn new(settings: ProviderSettings) -> Result<Self, ProviderError> {
        address(&settings.issuer, settings.allow_loopback)?;
        let client = Client::builder()
            .redirect(Policy::none())
            .timeout(PROVIDER_TIMEOUT)
            .build()
            .map_err(ProviderError::Client)?;
        let waiting = Semaphore::new(PROVIDER_WAITERS_MAX);
        let (cache, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { settings, client, cache, turn, waiting })
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

    pub(crate) fn serves(&self, tenant: &TenantIdentity) -> bool {
        self.settings.tenants.serves(tenant)
    }

    /// Returns the URL at the provider to which the browser is sent.
    pub(crate) async fn question(
        &self,
        asked: AuthorizationRequest<'_>,
    ) -> Result<Url, ProviderError> {
        let metadata = self.metadata().await?;
        let mut url = self.address(&metadata.document.authorization_endpoint)?;
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

    /// Returns whether a response that names this issuer, or none, can come from this provider.
    pub(crate) async fn is_answer_of(&self, issuer: Option<&str>) -> Result<bool, ProviderError> {
        let metadata = self.metadata().await?;
        Ok(match issuer {
            Some(issuer) => issuer == self.settings.issuer,
            None => !metadata.document.authorization_response_iss_parameter_supported,
        })
    }

    /// Exchanges a code for the identity of the person.
    pub(crate) async fn redeem(
        &self,
        code: &str,
        verifier: &str,
        nonce: &str,
        callback: &str,
    ) -> Result<Identity, ProviderError> {
        let metadata = self.metadata().await?;
        let endpoint = self.address(&metadata.document.token_endpoint)?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
            ("code_verifier", verifier),
            ("client_id", &self.settings.client_id),
        ];
        let mut request = self.client.post(endpoint);
        let methods = &metadata.document.token_endpoint_auth_methods_supported;
        if let Some(secret) = &self.settings.client_secret {
            if methods.iter().any(|method| method == CLIENT_SECRET_BASIC) {
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
        let expected = ExpectedClaims {
            issuer: &self.settings.issuer,
            client: &self.settings.client_id,
            nonce,
            now: seconds(),
        };
        let groups = &self.settings.groups_claim;
        match verify(&tokens.id_token, &metadata.keys, &expected, groups) {
            Err(IdTokenError::UnknownKey) => {
                let refreshed = self.metadata_after(metadata.fetched_at).await?;
                Ok(verify(&tokens.id_token, &refreshed.keys, &expected, groups)?)
            }
            judged => Ok(judged?),
        }
    }

    async fn metadata(&self) -> Result<Arc<Metadata>, ProviderError> {
        let is_enough = |known: &Metadata| known.fetched_at.elapsed() < PROVIDER_CACHED_FOR;
        self.cached_or_fetched(is_enough, None).await
    }

    /// Returns metadata newer than `before`, unless the last early refresh was too recent. Such
    /// refreshes are limited because anyone can send a token with an unknown key.
    async fn metadata_after(&self, before: Instant) -> Result<Arc<Metadata>, ProviderError> {
        let is_enough = |known: &Metadata| {
            let early = known.refreshed_early_at;
            known.fetched_at > before || early.is_some_and(|at| at.elapsed() < PROVIDER_RETRY_AFTER)
        };
        self.cached_or_fetched(is_enough, Some(Instant::now())).await
    }

    /// Returns the cached metadata, or fetches it once for all callers. A limited number of
    /// callers wait and the others get an error immediately: an unresponsive provider must not fill
    /// the server with waiting requests.
    async fn cached_or_fetched(
        &self,
        is_enough: impl Fn(&Metadata) -> bool,
        refreshed_early_at: Option<Instant>,
    ) -> Result<Arc<Metadata>, ProviderError> {
        if let Some(cached) = self.cached(&is_enough) {
            return cached;
        }
        let many =
            |_| ProviderError::Silent("too many requests to the provider are pending".to_owned());
        let _place = self.waiting.try_acquire().map_err(many)?;
        let _turn = self.turn.lock().await;
        if let Some(cached) = self.cached(&is_enough) {
            return cached;
        }
        let metadata = self.fetch(refreshed_early_at).await;
        let mut kept = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        match &metadata {
            Ok(metadata) => {
                *kept = CachedResponse { metadata: Some(Arc::clone(metadata)), silent: None };
            }
            Err(ProviderError::Silent(why)) => kept.silent = Some((Instant::now(), why.clone())),
            Err(_) => {}
        }
        metadata
    }

    /// Returns the cached result, or `None` if the provider has to be queried.
    fn cached(
        &self,
        is_enough: impl Fn(&Metadata) -> bool,
    ) -> Option<Result<Arc<Metadata>, ProviderError>> {
        let kept = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.metadata.as_ref().filter(|known| is_enough(known)) {
            return Some(Ok(Arc::clone(known)));
        }
        let (at, why) = kept.silent.as_ref()?;
        (at.elapsed() < PROVIDER_RETRY_AFTER).then(|| Err(ProviderError::Silent(why.clone())))
    }

    async fn fetch(
        &self,
        refreshed_early_at: Option<Instant>,
    ) -> Result<Arc<Metadata>, ProviderError> {
        let issuer = self.settings.issuer.trim_end_matches('/');
        let page = self.address(&format!("{issuer}/.well-known/openid-configuration"))?;
        let document: DiscoveryDocument = read(ask(self.client.get(page)).await?).await?;
        if document.issuer != self.settings.issuer {
            return Err(ProviderError::AnotherIssuer(document.issuer));
        }
        let keys = self.address(&document.jwks_uri)?;
        let keys: JwkSet = read(ask(self.client.get(keys)).await?).await?;
        let fetched_at = Instant::now();
        Ok(Arc::new(Metadata { document, keys, fetched_at, refreshed_early_at }))
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
            return Err(ProviderError::Silent("the response is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body)
        .map_err(|_| ProviderError::Silent("the response is invalid".to_owned()))
}

/// Form-encodes one part of the client credentials, as RFC 6749 requires before they are joined.
fn encoded(text: &str) -> String {
    let Ok(mut url) = Url::parse("http://form/") else { return String::new() };
    url.query_pairs_mut().append_key_only(text);
    url.query().unwrap_or_default().to_owned()
}

fn address(text: &str, allow_loopback: bool) -> Result<Url, ProviderError> {
    let invalid = || ProviderError::Address(text.to_owned());
    let url = Url::parse(text).map_err(|_| invalid())?;
    let host = url.host_str().unwrap_or_default();
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let is_fit = url.scheme() == "https" || (allow_loopback && is_local && url.scheme() == "http");
    if is_fit { Ok(url) } else { Err(invalid()) }
}
