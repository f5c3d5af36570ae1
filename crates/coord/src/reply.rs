//! Reads the reply of a script word by word. An unexpected value is an error that shows it, never a
//! default.

use std::str::FromStr;

use redis::Value;

use crate::error::CoordError;

/// One array of a reply, read from its first word on.
#[derive(Debug)]
pub struct Words {
    script: &'static str,
    rest: std::vec::IntoIter<Value>,
}

impl Words {
    pub fn of(script: &'static str, value: Value) -> Result<Self, CoordError> {
        match value {
            Value::Array(words) => Ok(Self { script, rest: words.into_iter() }),
            other => Err(CoordError::Reply { script, why: format!("{other:?} is not an array") }),
        }
    }

    pub fn wrong(&self, why: impl Into<String>) -> CoordError {
        CoordError::Reply { script: self.script, why: why.into() }
    }

    fn next(&mut self) -> Result<Value, CoordError> {
        self.rest.next().ok_or_else(|| self.wrong("the response ends too early"))
    }

    pub fn text(&mut self) -> Result<String, CoordError> {
        match self.next()? {
            Value::BulkString(bytes) => {
                String::from_utf8(bytes).map_err(|error| self.wrong(error.to_string()))
            }
            Value::SimpleString(text) => Ok(text),
            other => Err(self.wrong(format!("{other:?} is not a string"))),
        }
    }

    pub fn parsed<T: FromStr<Err: ToString>>(&mut self) -> Result<T, CoordError> {
        let text = self.text()?;
        text.parse().map_err(|error: T::Err| self.wrong(error.to_string()))
    }

    pub fn integer(&mut self) -> Result<i64, CoordError> {
        match self.next()? {
            Value::Int(number) => Ok(number),
            other => Err(self.wrong(format!("{other:?} is not a number"))),
        }
    }

    pub fn number(&mut self) -> Result<u64, CoordError> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|error| self.wrong(error.to_string()))
    }

    pub fn words(&mut self) -> Result<Self, CoordError> {
        let value = self.next()?;
        Self::of(self.script, value)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.len() == 0
    }

    /// Ends the reading. Words that are left over are an error.
    pub fn end(self) -> Result<(), CoordError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.wrong(format!("{} unexpected trailing values", self.rest.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: Vec<Value>) -> Words {
        Words::of("test", Value::Array(values)).unwrap()
    }

    #[test]
    fn reply_words_are_read_in_order_and_completely() {
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
    fn reply_of_an_unexpected_type_is_shown_in_the_error() {
        let message = Words::of("test", Value::Int(3)).unwrap_err().to_string();
        assert!(message.contains("`test`") && message.contains("int(3)"), "{message}");
        assert!(words(vec![Value::Int(-1)]).number().is_err());
        assert!(words(vec![Value::Int(1)]).text().is_err());
        assert!(words(vec![Value::Nil]).integer().is_err());
        let text = Value::BulkString(b"x".to_vec());
        assert!(words(vec![text]).parsed::<u8>().is_err());
    }
}
