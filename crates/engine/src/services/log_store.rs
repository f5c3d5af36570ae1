//! Complete logs, stored outside of the database: in a directory or in S3. They are not evidence; a
//! missing log is reported as missing.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;

use ade_core::limits::{BLOB_MAX_BYTES, BLOB_TIMEOUT};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt as _};
use thiserror::Error;
use tokio::time::timeout;

#[derive(Debug, Error)]
pub enum BlobError {
    #[error("`{url}` is neither `file:///…` nor `s3://…`: {problem}")]
    Address { url: String, problem: String },
    #[error("unreachable: {0}")]
    Store(#[from] object_store::Error),
    #[error("no response in time")]
    Silent,
    #[error("the stored log of {bytes} bytes exceeds the limit")]
    TooLarge { bytes: u64 },
}

pub struct Blobs {
    store: Box<dyn ObjectStore>,
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blobs({})", self.store)
    }
}

impl Blobs {
    /// Opens `file:///a/directory`, which must exist, or `s3://bucket/prefix`. The remaining S3
    /// settings come from the environment variables that the AWS tools use.
    pub fn open(url: &str) -> Result<Self, BlobError> {
        let wrong = |problem: &dyn fmt::Display| BlobError::Address {
            url: url.to_owned(),
            problem: problem.to_string(),
        };
        let parsed = reqwest::Url::parse(url).map_err(|error| wrong(&error))?;
        let store: Box<dyn ObjectStore> = match parsed.scheme() {
            "file" => {
                let directory: PathBuf =
                    parsed.to_file_path().map_err(|()| wrong(&"the URL names no directory"))?;
                Box::new(LocalFileSystem::new_with_prefix(directory)?)
            }
            "s3" => {
                let bucket = parsed.host_str().ok_or_else(|| wrong(&"the URL names no bucket"))?;
                let store = AmazonS3Builder::from_env().with_bucket_name(bucket).build()?;
                Box::new(PrefixStore::new(store, parsed.path()))
            }
            other => return Err(wrong(&format!("unsupported scheme `{other}`"))),
        };
        Ok(Self { store })
    }

    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), BlobError> {
        let path = Path::from(key);
        bounded(async { Ok(self.store.put(&path, bytes.into()).await.map(drop)?) }).await
    }

    /// Reads a log. Returns `None` if it does not exist.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, BlobError> {
        let path = Path::from(key);
        bounded(async {
            let found = match self.store.get(&path).await {
                Ok(found) => found,
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let bytes = found.meta.size;
            if bytes > BLOB_MAX_BYTES {
                return Err(BlobError::TooLarge { bytes });
            }
            Ok(Some(found.bytes().await?.into()))
        })
        .await
    }
}

async fn bounded<T>(work: impl Future<Output = Result<T, BlobError>>) -> Result<T, BlobError> {
    timeout(BLOB_TIMEOUT, work).await.unwrap_or(Err(BlobError::Silent))
}
