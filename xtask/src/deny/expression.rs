//! Evaluates SPDX licence expressions: is there an alternative with allowed licences only? `AND`
//! binds tighter than `OR`, and the old form `A/B` means `A OR B`.

use anyhow::{Result, bail};

pub fn is_allowed(expression: &str, allow: &[&str]) -> Result<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allow };
    let Some(verdict) = reader.either().filter(|_| reader.words.is_empty()) else {
        bail!("`{expression}` is not a licence expression");
    };
    Ok(verdict)
}

struct Reader<'a> {
    words: &'a [&'a str],
    allow: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.next();
        }
        is_next
    }

    fn either(&mut self) -> Option<bool> {
        let mut verdict = self.both()?;
        while self.take("OR") {
            verdict |= self.both()?;
        }
        Some(verdict)
    }

    fn both(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.either()?;
            return self.take(")").then_some(verdict);
        }
        let licence = self.next().filter(|word| !matches!(*word, "OR" | "AND" | "WITH" | ")"))?;
        if self.take("WITH") {
            let exception = self.next()?;
            // A licence with an exception is another licence, which must be allowed by its full
            // name.
            return Some(self.allow.contains(&format!("{licence} WITH {exception}").as_str()));
        }
        Some(self.allow.contains(&licence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expression: &str) -> bool {
        is_allowed(expression, &["MIT", "Apache-2.0", "Zlib WITH x"]).unwrap()
    }

    #[test]
    fn licence_expression_needs_one_allowed_alternative() {
        for allowed in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "Apache-2.0 / MIT",
            "(GPL-3.0 OR MIT) AND Apache-2.0",
            "GPL-3.0 AND GPL-2.0 OR MIT",
            "Zlib WITH x",
            "((MIT))",
        ] {
            assert!(verdict(allowed), "{allowed}");
        }
        for refused in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "GPL-3.0 OR MIT AND GPL-2.0",
            "MIT AND (GPL-3.0 OR GPL-2.0)",
            "MIT WITH x",
            "Zlib",
            "mit",
        ] {
            assert!(!verdict(refused), "{refused}");
        }
    }

    #[test]
    fn licence_expression_that_is_malformed_is_an_error() {
        for broken in ["", "MIT OR", "MIT Apache-2.0", "(MIT", "MIT)", "AND", "MIT WITH", "OR MIT"]
        {
            assert!(is_allowed(broken, &["MIT"]).is_err(), "{broken:?}");
        }
    }
}
