//! A script: its text, and the digest by which it is called.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

#[derive(Debug, Clone)]
pub struct Script {
    name: &'static str,
    text: String,
    digest: String,
}

impl Script {
    pub fn new(name: &'static str, text: String) -> Self {
        let mut digest = String::with_capacity(40);
        for byte in Sha1::digest(&text) {
            let _ = write!(digest, "{byte:02x}");
        }
        Self { name, text, digest }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_digest_equals_the_one_of_redis() {
        let script = Script::new("one", "return 1".to_owned());
        assert_eq!(script.digest(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    }
}
