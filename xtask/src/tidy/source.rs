//! Splits a Rust file into tokens and comments, each with its line. This is enough to tell code,
//! comments and literals apart, follow modules and read paths; the grammar is not checked.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Word,
    Mark,
    /// A string or character literal; the text is what is between the quotes.
    Literal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceToken {
    pub line: usize,
    pub kind: Kind,
    pub text: String,
}

impl SourceToken {
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Literal && self.text == text
    }
}

#[derive(Debug, Default)]
pub struct Source {
    pub tokens: Vec<SourceToken>,
    pub comments: Vec<(usize, String)>,
}

impl Source {
    pub fn scan(text: &str) -> Self {
        let mut scanner = Scanner { rest: text, line: 1, found: Self::default() };
        while scanner.step() {}
        scanner.found
    }

    /// Returns the first and last line of each `#[cfg(test)] mod … { … }`.
    pub fn test_modules(&self) -> Vec<(usize, usize)> {
        let opening = ["#", "[", "cfg", "(", "test", ")", "]"];
        let mut modules = Vec::new();
        for (start, window) in self.tokens.windows(opening.len()).enumerate() {
            if !window.iter().zip(opening).all(|(token, text)| token.is(text)) {
                continue;
            }
            let after = self.tokens.get(start + opening.len()..).unwrap_or_default();
            if let (Some(first), Some(last)) = (window.first(), end_of_module(after)) {
                modules.push((first.line, last));
            }
        }
        modules
    }
}

/// Returns the line of the brace that closes the inline module at the beginning of these tokens.
fn end_of_module(tokens: &[SourceToken]) -> Option<usize> {
    let [keyword, _, brace, ..] = tokens else {
        return None;
    };
    if !keyword.is("mod") || !brace.is("{") {
        return None;
    }
    let mut depth = 0_usize;
    for token in tokens {
        if token.is("{") {
            depth += 1;
        } else if token.is("}") {
            depth -= 1;
            if depth == 0 {
                return Some(token.line);
            }
        }
    }
    None
}

struct Scanner<'a> {
    rest: &'a str,
    line: usize,
    found: Source,
}

impl Scanner<'_> {
    /// Consumes the next token, comment or blank; returns false at the end.
    fn step(&mut self) -> bool {
        let Some(next) = self.rest.chars().next() else {
            return false;
        };
        if self.rest.starts_with("//") {
            let length = self.rest.find('\n').unwrap_or(self.rest.len());
            self.comment(length);
        } else if self.rest.starts_with("/*") {
            let length = block_comment(self.rest);
            self.comment(length);
        } else if is_word(next) {
            self.word();
        } else if next == '"' {
            self.literal(0);
        } else if next == '\'' {
            self.quote();
        } else if self.rest.starts_with("::") {
            self.token(Kind::Mark, 2);
        } else if next.is_whitespace() {
            self.advance(next.len_utf8());
        } else {
            self.token(Kind::Mark, next.len_utf8());
        }
        true
    }

    fn advance(&mut self, length: usize) -> String {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken.to_owned()
    }

    fn comment(&mut self, length: usize) {
        let line = self.line;
        let text = self.advance(length);
        self.found.comments.push((line, text));
    }

    fn token(&mut self, kind: Kind, length: usize) {
        let line = self.line;
        let text = self.advance(length);
        self.found.tokens.push(SourceToken { line, kind, text });
    }

    fn word(&mut self) {
        let length = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let hashes = after.len() - after.trim_start_matches('#').len();
        let is_quoted = after.get(hashes..).is_some_and(|text| text.starts_with('"'));
        match word {
            "r" | "br" | "cr" if is_quoted => self.raw(length + hashes + 1, hashes),
            "b" | "c" if hashes == 0 && is_quoted => self.literal(length),
            "b" if after.starts_with('\'') => {
                self.advance(length);
                self.quote();
            }
            _ => self.token(Kind::Word, length),
        }
    }

    fn raw(&mut self, opening: usize, hashes: usize) {
        self.advance(opening);
        let closing = format!("\"{}", "#".repeat(hashes));
        let length = self.rest.find(&closing).unwrap_or(self.rest.len());
        self.token(Kind::Literal, length);
        self.advance(closing.len());
    }

    /// Consumes a string with escapes; `prefix` bytes come before its quote.
    fn literal(&mut self, prefix: usize) {
        self.advance(prefix + 1);
        let length = end_of_escaped(self.rest, '"');
        self.token(Kind::Literal, length);
        self.advance(1);
    }

    /// Consumes a quote: `'x'` and `'\n'` are literals, `'a` is a lifetime.
    fn quote(&mut self) {
        let mut after = self.rest.chars().skip(1);
        let (first, second) = (after.next(), after.next());
        self.advance(1);
        if first == Some('\\') || second == Some('\'') {
            let length = end_of_escaped(self.rest, '\'');
            self.token(Kind::Literal, length);
            self.advance(1);
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn end_of_escaped(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if c == quote {
            return at;
        }
    }
    text.len()
}

/// Returns the length of a block comment; block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let tokens = Source::scan(text).tokens;
        let words = tokens.into_iter().filter(|token| token.kind == Kind::Word);
        words.map(|token| token.text).collect()
    }

    fn literals(text: &str) -> Vec<(usize, String)> {
        let tokens = Source::scan(text).tokens;
        let literals = tokens.into_iter().filter(|token| token.kind == Kind::Literal);
        literals.map(|token| (token.line, token.text)).collect()
    }

    #[test]
    fn scan_skips_comments_and_nested_block_comments() {
        let text = "a // b\n/* c /* d */ é\n e */ f";
        assert_eq!(words(text), ["a", "f"]);
        let comments = Source::scan(text).comments;
        assert_eq!(comments[0], (1, "// b".to_owned()));
        assert_eq!(comments[1].0, 2);
        assert_eq!(comments.len(), 2);
    }

    #[test]
    fn scan_finds_literals_of_every_shape_with_their_line() {
        let text = "\"a\\\"b\"\nr#\"c\"d\"# b\"e\" br\"f\" '\\'' 'g' b'h' c\"i\" z";
        let expected = ["a\\\"b", "c\"d", "e", "f", "\\'", "g", "h", "i"];
        let found = literals(text);
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, expected);
        assert_eq!((found[0].0, found[1].0), (1, 2));
        assert_eq!(words(text), ["z"]);
    }

    #[test]
    fn scan_does_not_take_lifetimes_for_literals() {
        assert_eq!(literals("fn f<'a>(x: &'a str, r#type: u8) { bar(r) }"), []);
        assert_eq!(words("&'static str"), ["static", "str"]);
    }

    #[test]
    fn scan_counts_lines_inside_strings() {
        let tokens = Source::scan("\"a\nb\nc\"\nx").tokens;
        assert_eq!((tokens[0].line, tokens[1].line), (1, 4));
    }

    #[test]
    fn scan_measures_inline_test_modules() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { }\n}\nfn c() {}\n";
        assert_eq!(Source::scan(text).test_modules(), [(2, 5)]);
        let outside = "#[cfg(test)]\n#[path = \"x_tests.rs\"]\nmod tests;\nfn c() {}\n";
        assert_eq!(Source::scan(outside).test_modules(), []);
        let function = "#[cfg(test)]\nfn helper() {\n}\n";
        assert_eq!(Source::scan(function).test_modules(), []);
    }

    #[test]
    fn scan_ends_at_unfinished_text() {
        for text in ["\"abc", "/* abc", "r#\"abc", "'\\", "b'", "'"] {
            Source::scan(text);
        }
    }
}
