//! TLS: which connections are accepted, and how a renewed certificate is loaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use ade_core::limits::TLS_HANDSHAKE_TIMEOUT;
use ade_server::tls::{Tls, TlsError};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use reqwest::{Certificate, Client};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::test_server::{TestServer, shared};

/// A short handshake timeout, for a client that sends nothing.
const PATIENCE: Duration = Duration::from_secs(3);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ade-tls-{name}-{}", uuid::Uuid::now_v7()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> [PathBuf; 2] {
        ["certificate.pem", "key.pem"].map(|name| self.0.join(name))
    }

    /// Replaces the certificate with a new one for this machine.
    fn renew(&self) -> Certificate {
        let (CertifiedKey { cert, signing_key }, [certificate, key]) = (made(), self.files());
        let text = cert.pem();
        write(&certificate, &text);
        write(&key, &signing_key.serialize_pem());
        Certificate::from_pem(text.as_bytes()).unwrap()
    }

    fn open(&self) -> Result<Tls, TlsError> {
        self.open_for(TLS_HANDSHAKE_TIMEOUT)
    }

    fn open_for(&self, patience: Duration) -> Result<Tls, TlsError> {
        let [certificate, key] = self.files();
        Tls::open(&certificate, &key, patience)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn made() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap()
}

/// Writes a file with a new modification time, even within one tick of the file system clock.
fn write(path: &Path, text: &str) {
    let before = fs::metadata(path).and_then(|found| found.modified()).ok();
    fs::write(path, text).unwrap();
    if let Some(before) = before {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(before.max(SystemTime::UNIX_EPOCH) + Duration::from_secs(1)).unwrap();
    }
}

fn trusting(certificate: Certificate) -> Client {
    let client = Client::builder().no_proxy().tls_certs_only([certificate]);
    client.pool_max_idle_per_host(0).build().unwrap()
}

async fn says_hello(client: &Client, rig: &TestServer) -> bool {
    let url = format!("https://{}/healthz", rig.address);
    client.get(url).send().await.is_ok_and(|answer| answer.status() == 200)
}

#[tokio::test]
async fn renewed_certificate_is_loaded_and_a_broken_one_ignored() {
    let folder = Folder::new("renewed");
    let old = folder.renew();
    let tls = folder.open().unwrap();
    let rig = TestServer::behind(shared(&[]), Some(tls.clone())).await;
    assert!(says_hello(&trusting(old.clone()), &rig).await);
    assert!(!tls.reload().unwrap(), "nothing has changed");
    let second = trusting(folder.renew());
    // The server also reloads automatically and may have been faster.
    tls.reload().unwrap();
    assert!(says_hello(&second, &rig).await);
    assert!(!says_hello(&trusting(old), &rig).await, "the old certificate is not used");
    let [certificate, key] = folder.files();
    // The key is replaced before the certificate.
    write(&key, &made().signing_key.serialize_pem());
    let message = tls.reload().unwrap_err().to_string();
    assert!(message.contains("cannot be used"), "{message}");
    write(&certificate, "nothing of use");
    assert!(matches!(tls.reload().unwrap_err(), TlsError::Empty { .. }));
    assert!(says_hello(&second, &rig).await, "the last valid certificate stays in use");
    let third = trusting(folder.renew());
    tls.reload().unwrap();
    assert!(says_hello(&third, &rig).await);
}

#[tokio::test]
async fn connection_without_tls_handshake_is_closed_in_time() {
    let folder = Folder::new("silent");
    let known = trusting(folder.renew());
    let rig = TestServer::behind(shared(&[]), Some(folder.open_for(PATIENCE).unwrap())).await;
    let began = Instant::now();
    let mut silent = rig.connect().await;
    let mut plain = rig.connect().await;
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
    assert!(began.elapsed() < PATIENCE, "closed at once");
    let end = silent.read(&mut [0; 16]).await;
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    assert!((PATIENCE..Duration::from_secs(30)).contains(&began.elapsed()));
    assert!(says_hello(&known, &rig).await);
}

#[tokio::test]
async fn tls_versions_before_1_2_are_refused() {
    use reqwest::tls::Version;
    let folder = Folder::new("versions");
    let certificate = folder.renew();
    let rig = TestServer::behind(shared(&[]), Some(folder.open().unwrap())).await;
    for version in [Version::TLS_1_2, Version::TLS_1_3] {
        let client = Client::builder().no_proxy().tls_certs_only([certificate.clone()]);
        let client = client.tls_version_min(version).tls_version_max(version).build().unwrap();
        assert!(says_hello(&client, &rig).await, "{version:?}");
    }
    // A hand-written TLS 1.1 client hello, because no library here supports this version.
    let mut old = rig.connect().await;
    let hello = [&[0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 2][..], &[7; 32], &[0, 0, 2, 0, 0x2f, 1, 0]];
    old.write_all(&hello.concat()).await.unwrap();
    let mut answer = Vec::new();
    let _ = old.read_to_end(&mut answer).await;
    assert_eq!(answer.first(), Some(&0x15), "an alert and nothing else: {answer:?}");
}
