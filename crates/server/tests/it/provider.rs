//! A conforming identity provider: its codes work once, for the client and the verifier that they
//! were requested with, and it can change its keys.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

#[derive(Clone)]
pub struct FakeProvider {
    pub issuer: String,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    keys: Keys,
    /// Codes that were issued and not yet redeemed.
    codes: BTreeMap<String, Grant>,
    handed_out: u32,
    asked_for_keys: u32,
    is_silent: bool,
}

struct Keys {
    id: u32,
    private: Vec<u8>,
    public: Value,
}

struct Grant {
    challenge: String,
    callback: String,
    claims: Value,
}

impl Keys {
    fn new(id: u32) -> Self {
        let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let private = EcdsaKeyPair::generate_pkcs8(curve, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(curve, private.as_ref()).unwrap();
        let point = pair.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..65]].map(|part| URL_SAFE_NO_PAD.encode(part));
        let public = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "sig",
                             "kid": id.to_string(), "alg": "ES256" });
        Self { id, private: private.as_ref().to_vec(), public }
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.id.to_string());
        let key = EncodingKey::from_ec_der(&self.private);
        jsonwebtoken::encode(&header, claims, &key).unwrap()
    }
}

impl FakeProvider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let inner = Inner {
            keys: Keys::new(1),
            codes: BTreeMap::new(),
            handed_out: 0,
            asked_for_keys: 0,
            is_silent: false,
        };
        let provider = Self { issuer, inner: Arc::new(Mutex::new(inner)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(description))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        provider
    }

    /// Replaces the key. Only the new one is published.
    pub fn change_keys(&self) {
        let mut inner = self.inner.lock().unwrap();
        let id = inner.keys.id + 1;
        inner.keys = Keys::new(id);
    }

    /// Signs with a key that is not published from now on.
    pub fn sign_with_strange_keys(&self) {
        let mut inner = self.inner.lock().unwrap();
        let strange = Keys::new(99);
        inner.keys.private = strange.private;
        inner.keys.id = 99;
    }

    /// Makes the provider accept requests without answering them.
    pub fn be_silent(&self, is_silent: bool) {
        self.inner.lock().unwrap().is_silent = is_silent;
    }

    pub fn asked_for_keys(&self) -> u32 {
        self.inner.lock().unwrap().asked_for_keys
    }

    /// Follows the link, grants consent, and returns the query of the redirect.
    pub fn agree(&self, link: &str, claims: &Value) -> String {
        let url = Url::parse(link).unwrap();
        let asked: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!(url.path(), "/authorize");
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["client_id"], "ade");
        assert_eq!(asked["code_challenge_method"], "S256");
        assert!(asked["scope"].split(' ').any(|scope| scope == "openid"), "{asked:?}");
        let now = ade_engine::services::webhook_client::seconds();
        let mut all = json!({ "iss": self.issuer, "aud": "ade", "iat": now, "exp": now + 300,
                              "nonce": asked["nonce"] });
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let mut inner = self.inner.lock().unwrap();
        inner.handed_out += 1;
        let code = format!("code-{}", inner.handed_out);
        let grant = Grant {
            challenge: asked["code_challenge"].clone(),
            callback: asked["redirect_uri"].clone(),
            claims: all,
        };
        inner.codes.insert(code.clone(), grant);
        let mut back = Url::parse("http://back/").unwrap();
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &asked["state"])
            .append_pair("iss", &self.issuer);
        back.query().unwrap().to_owned()
    }
}

async fn description(State(provider): State<FakeProvider>) -> String {
    let is_silent = provider.inner.lock().unwrap().is_silent;
    if is_silent {
        std::future::pending::<()>().await;
    }
    let at = |path: &str| format!("{}/{path}", provider.issuer);
    json!({
        "issuer": provider.issuer, "authorization_endpoint": at("authorize"),
        "token_endpoint": at("token"), "jwks_uri": at("keys"),
        "authorization_response_iss_parameter_supported": true,
    })
    .to_string()
}

async fn keys(State(provider): State<FakeProvider>) -> String {
    let mut inner = provider.inner.lock().unwrap();
    inner.asked_for_keys += 1;
    json!({ "keys": [inner.keys.public] }).to_string()
}

async fn token(
    State(provider): State<FakeProvider>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, String) {
    let form = Url::parse(&format!("http://form/?{body}")).unwrap();
    let form: BTreeMap<String, String> = form.query_pairs().into_owned().collect();
    let mut inner = provider.inner.lock().unwrap();
    let grant = form.get("code").and_then(|code| inner.codes.remove(code));
    let given = |name: &str| form.get(name).map(String::as_str);
    let verifier = given("code_verifier").unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let basic = format!("Basic {}", STANDARD.encode(["ade", "a+secret+of+the+client"].join(":")));
    let is_ours = given("client_id") == Some("ade")
        && headers.get("authorization").is_some_and(|given| given == &*basic)
        && given("grant_type") == Some("authorization_code");
    match grant {
        Some(grant)
            if is_ours
                && grant.challenge == challenge
                && given("redirect_uri") == Some(&*grant.callback) =>
        {
            let id_token = inner.keys.sign(&grant.claims);
            (StatusCode::OK, json!({ "id_token": id_token, "token_type": "Bearer" }).to_string())
        }
        _ => (StatusCode::BAD_REQUEST, json!({ "error": "invalid_grant" }).to_string()),
    }
}
