//! PostgreSQL over TLS: certificate and name are verified, or there is no connection.

use ade_store::pool::{PoolSettings, is_guarded};
use ade_store::{Pool, PoolClass, migrate};
use ade_testkit::authority::put;
use ade_testkit::{Authority, Certificate, OwnedPostgres, postgres};

/// Starts a server that accepts only TLS, with a certificate for `name`.
async fn guarded(authority: &Authority, name: &str) -> OwnedPostgres {
    let server = OwnedPostgres::start(postgres::PostgresSettings::test()).await;
    let Certificate { certificate, key } = authority.sign(&[name]);
    put(&server.data_dir(), "server.crt", &certificate);
    put(&server.data_dir(), "server.key", &key);
    put(&server.data_dir(), "pg_hba.conf", "hostssl all all 127.0.0.1/32 password\n");
    server.run("ALTER SYSTEM SET ssl = on").await;
    server.run("SELECT pg_reload_conf()").await;
    server
}

async fn ask(url: &str) -> Result<(), ade_store::StoreError> {
    Pool::new(&PoolSettings::new(url), PoolClass::Api)?.ping().await.map(drop)
}

#[tokio::test]
async fn database_tls_verifies_the_server_certificate() {
    let (authority, stranger) = (Authority::default(), Authority::default());
    let server = guarded(&authority, "127.0.0.1").await;
    let trusted = put(&server.data_dir(), "authority.pem", &authority.pem());
    let other = put(&server.data_dir(), "stranger.pem", &stranger.pem());
    let plain = server.url("postgres");
    let checked = |file: &std::path::Path| {
        let mode = format!("sslmode=verify-full&sslrootcert={}", file.display());
        plain.replace("sslmode=disable", &mode)
    };
    ade_testkit::eventually("it speaks TLS", std::time::Duration::from_secs(30), async || {
        ask(&checked(&trusted)).await
    })
    .await;
    migrate::run(&checked(&trusted)).await.unwrap();
    assert!(ask(&plain).await.is_err(), "without TLS");
    assert!(ask(&checked(&other)).await.is_err(), "signed by another authority");
    // The authorities of the system know neither.
    let system = plain.replace("sslmode=disable", "sslmode=verify-full");
    assert!(ask(&system).await.is_err(), "the authority is unknown");
}

#[tokio::test]
async fn database_tls_refuses_a_server_with_another_name() {
    let authority = Authority::default();
    let server = guarded(&authority, "elsewhere.example").await;
    let trusted = put(&server.data_dir(), "authority.pem", &authority.pem());
    let asked = |mode: &str| {
        let mode = format!("sslmode={mode}&sslrootcert={}", trusted.display());
        server.url("postgres").replace("sslmode=disable", &mode)
    };
    // It is this server and its certificate is valid; only the name differs.
    let by_certificate = async || ask(&asked("verify-ca")).await;
    ade_testkit::eventually("it speaks TLS", std::time::Duration::from_secs(30), by_certificate)
        .await;
    assert!(ask(&asked("verify-full")).await.is_err());
}

#[test]
fn database_url_is_guarded_if_local_or_by_verified_tls() {
    for (url, expected) in [
        ("postgres://a@localhost/d", true),
        ("postgres://a:b@127.0.0.1:5432/d?sslmode=disable", true),
        ("postgres://a@[::1]/d", true),
        ("postgres://a@%2Frun%2Fpostgresql/d", true),
        ("postgres:///d?host=/run/postgresql", true),
        ("postgres://a@10.0.0.7/d", false),
        ("postgres://a@db.example/d?sslmode=prefer", false),
        ("postgres://a@db.example/d?sslmode=require", false),
        ("postgres://a@db.example/d?sslmode=verify-ca", false),
        ("postgres://a@db.example/d?sslmode=verify-full", true),
        ("postgres://a@localhost/d?hostaddr=10.0.0.7", false),
        ("postgres://a@localhost/d?host=db.example", false),
    ] {
        assert_eq!(is_guarded(url).unwrap(), expected, "{url}");
    }
    assert!(is_guarded("nowhere").is_err());
}
