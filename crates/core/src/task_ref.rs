//! How a caller names a task: by its id, or by its number within the tenant, as in `T-8`. The
//! number is short enough to say aloud; only the server knows to which task of a tenant it belongs.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::ids::{IdError, TaskId};
use crate::text::written_as_text;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TaskRefError {
    #[error(transparent)]
    Id(#[from] IdError),
    #[error("`{given}` is not a task: use its id (`task_…`) or its number (`T-8`)")]
    Number { given: String },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskRef {
    Id(TaskId),
    /// The number within the tenant, counted from 1.
    Number(i64),
}

impl From<TaskId> for TaskRef {
    fn from(id: TaskId) -> Self {
        Self::Id(id)
    }
}

impl FromStr for TaskRef {
    type Err = TaskRefError;

    fn from_str(text: &str) -> Result<Self, TaskRefError> {
        if text.starts_with(TaskId::PREFIX) {
            return Ok(Self::Id(text.parse()?));
        }
        let digits = text.strip_prefix("T-").or_else(|| text.strip_prefix("t-")).unwrap_or(text);
        // A number has one spelling: no sign, no leading zero.
        let number = digits.parse::<i64>().ok();
        let number = number.filter(|number| *number > 0 && number.to_string() == digits);
        number.map(Self::Number).ok_or_else(|| TaskRefError::Number { given: text.to_owned() })
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Number(number) => write!(f, "T-{number}"),
        }
    }
}

written_as_text!(TaskRef);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ref_accepts_an_id_and_the_forms_of_a_number() {
        let id = TaskId::from_u128(7);
        assert_eq!(id.to_string().parse(), Ok(TaskRef::Id(id)));
        for text in ["T-8", "t-8", "8"] {
            assert_eq!(text.parse(), Ok(TaskRef::Number(8)), "{text}");
        }
        assert_eq!(TaskRef::Number(8).to_string(), "T-8");
        assert_eq!(TaskRef::from(id).to_string(), id.to_string());
    }

    #[test]
    fn task_ref_refuses_other_texts() {
        for text in
            ["", "0", "T-0", "-8", "+8", "08", "T8", "T-", "T--8", "8 ", "#8", "x-8", "task_1"]
        {
            assert!(text.parse::<TaskRef>().is_err(), "{text}");
        }
        assert!("9223372036854775808".parse::<TaskRef>().is_err(), "larger than any number");
    }
}
