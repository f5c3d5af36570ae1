//! Certificates for the servers and clients of one test, signed by a certificate authority of that
//! test.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::failure::{Failure, or_fail};

#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its private key, both in PEM.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub certificate: String,
    pub key: String,
}

impl Default for Authority {
    fn default() -> Self {
        let make = || {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            // A certificate with the same name as its signer would look self-signed.
            params.distinguished_name.push(DnType::CommonName, "authority of a test");
            CertifiedIssuer::self_signed(params, KeyPair::generate()?)
        };
        Self(or_fail(make().map_err(|error| Failure::new("make an authority", error))))
    }
}

impl Authority {
    /// Returns the authority's certificate, which peers need in order to trust what it signed.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Signs a certificate for the given host names or addresses.
    pub fn sign(&self, names: &[&str]) -> Certificate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let sign = || {
            let key = KeyPair::generate()?;
            let signed = CertificateParams::new(names)?.signed_by(&key, &self.0)?;
            Ok::<_, rcgen::Error>(Certificate {
                certificate: signed.pem(),
                key: key.serialize_pem(),
            })
        };
        or_fail(sign().map_err(|error| Failure::new("sign a certificate", error)))
    }
}

/// Writes a file into a server's directory, owned by the user that the server runs as.
pub fn put(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    let put = || {
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let owner = fs::metadata(dir)?;
        chown(&path, Some(owner.uid()), Some(owner.gid()))
    };
    or_fail(put().map_err(|error| Failure::new(path.display(), error)));
    path
}
