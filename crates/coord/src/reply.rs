//! Reads what a script answered, word by word. What does not fit is an error that shows it,
//! never a default.

use std::str::FromStr;

use redis::Value;

use crate::error::Error;

/// One array of a reply, from its first word on.
#[derive(Debug)]
pub struct Words {
    script: &'static str,
    rest: std::vec::IntoIter<Value>,
}

impl Words {
    pub fn of(script: &'static str, value: Value) -> Result<Self, Error> {
        match value {
            Value::Array(words) => Ok(Self { script, rest: words.into_iter() }),
            other => Err(Error::Reply { script, why: format!("{other:?} is no array") }),
        }
    }

    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Reply { script: self.script, why: why.into() }
    }

    fn next(&mut self) -> Result<Value, Error> {
        self.rest.next().ok_or_else(|| self.wrong("it ends too early"))
    }

    pub fn text(&mut self) -> Result<String, Error> {
        match self.next()? {
            Value::BulkString(bytes) => {
                String::from_utf8(bytes).map_err(|error| self.wrong(error.to_string()))
            }
            Value::SimpleString(text) => Ok(text),
            other => Err(self.wrong(format!("{other:?} is no text"))),
        }
    }

    pub fn parsed<T: FromStr<Err: ToString>>(&mut self) -> Result<T, Error> {
        let text = self.text()?;
        text.parse().map_err(|error: T::Err| self.wrong(error.to_string()))
    }

    pub fn integer(&mut self) -> Result<i64, Error> {
        match self.next()? {
            Value::Int(number) => Ok(number),
            other => Err(self.wrong(format!("{other:?} is no number"))),
        }
    }

    pub fn number(&mut self) -> Result<u64, Error> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|error| self.wrong(error.to_string()))
    }

    pub fn words(&mut self) -> Result<Self, Error> {
        let value = self.next()?;
        Self::of(self.script, value)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.len() == 0
    }

    /// Whatever is left over was not understood.
    pub fn end(self) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.wrong(format!("{} words too many", self.rest.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: Vec<Value>) -> Words {
        Words::of("test", Value::Array(values)).unwrap()
    }

    #[test]
    fn words_are_read_in_turn_and_must_be_read_to_the_end() {
        let nested = Value::Array(vec![Value::Int(9)]);
        let mut read = words(vec![Value::BulkString(b"one".to_vec()), Value::Int(2), nested]);
        assert_eq!(read.text().unwrap(), "one");
        assert_eq!(read.number().unwrap(), 2);
        let mut inner = read.words().unwrap();
        assert!(read.is_empty());
        assert_eq!(inner.integer().unwrap(), 9);
        assert!(inner.number().is_err(), "nothing is left");
        assert!(words(vec![Value::Int(1)]).end().is_err());
    }

    #[test]
    fn what_does_not_fit_is_shown() {
        let told = Words::of("test", Value::Int(3)).unwrap_err().to_string();
        assert!(told.contains("`test`") && told.contains("int(3)"), "{told}");
        assert!(words(vec![Value::Int(-1)]).number().is_err());
        assert!(words(vec![Value::Int(1)]).text().is_err());
        assert!(words(vec![Value::Nil]).integer().is_err());
        let text = Value::BulkString(b"x".to_vec());
        assert!(words(vec![text]).parsed::<u8>().is_err());
    }
}
