//! The failures that an agent can meet. Each surface of an agent has a table of what it returns for
//! each of them: a cause for programs, the reason that a person gave or a rule has, and the next
//! step. A failure that cannot occur on a surface has a row that says why.

/// Defines the failures and lists all of them in the order in which one installation can meet them:
/// those that move the clock come after those that need a lease, and the last one stops the server.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FailureCase { $($case,)+ }

        impl FailureCase {
            pub const ALL: &[Self] = &[$(Self::$case,)+];
        }
    };
}

cases! {
    Rejected,
    ChangesRequested,
    Cancelled,
    Frozen,
    Paused,
    LockBusy,
    Deadlock,
    Broken,
    LeaseLost,
    Expired,
    WrongToken,
    WrongScope,
    RateLimited,
    Restart,
}

/// What a surface returns for a failure.
#[derive(Debug, Clone, Copy)]
pub enum FailureRow {
    Returns {
        of: FailureCase,
        /// The call that fails.
        call: &'static str,
        cause: &'static str,
        reason: &'static str,
        next: &'static str,
    },
    Impossible {
        of: FailureCase,
        because: &'static str,
    },
}

/// What a call has returned, as the surface presents it.
#[derive(Debug)]
pub struct Returned {
    pub call: &'static str,
    /// The cause for programs.
    pub cause: String,
    /// The places that must contain the reason, and those that must contain the next step.
    pub reason: Vec<String>,
    pub next: Vec<String>,
    /// The whole response, for the message of a failed test.
    pub whole: String,
}

pub const fn returns(
    of: FailureCase,
    call: &'static str,
    cause: &'static str,
    reason: &'static str,
    next: &'static str,
) -> FailureRow {
    FailureRow::Returns { of, call, cause, reason, next }
}

pub const fn impossible(of: FailureCase, because: &'static str) -> FailureRow {
    FailureRow::Impossible { of, because }
}

impl FailureRow {
    const fn of(&self) -> FailureCase {
        match self {
            Self::Returns { of, .. } | Self::Impossible { of, .. } => *of,
        }
    }
}

/// Asserts that a table has each case: what its calls return, or why the case is impossible.
#[track_caller]
pub fn assert_complete(table: &[FailureRow]) {
    for case in FailureCase::ALL {
        let rows: Vec<&FailureRow> = table.iter().filter(|row| row.of() == *case).collect();
        assert!(!rows.is_empty(), "the table has no row for {case:?}");
        for row in &rows {
            if let FailureRow::Impossible { because, .. } = row {
                assert!(!because.is_empty(), "{case:?} is impossible without a reason");
                assert_eq!(rows.len(), 1, "{case:?} is impossible and has other rows");
            }
        }
    }
}

/// Asserts that the calls of a case have returned what the table says, and that the table says
/// something about each of them.
#[track_caller]
pub fn assert_returned(table: &[FailureRow], failure: FailureCase, returned: &[Returned]) {
    let mut rows = 0;
    for row in table {
        let FailureRow::Returns { of, call, cause, reason, next } = row else { continue };
        if *of != failure {
            continue;
        }
        rows += 1;
        let calls: Vec<&Returned> = returned.iter().filter(|one| one.call == *call).collect();
        assert_eq!(calls.len(), 1, "{failure:?}: {call} was not called once: {returned:#?}");
        for one in calls {
            let whole = &one.whole;
            assert_eq!(one.cause, *cause, "{failure:?}, {call}: the cause differs in\n{whole}");
            let places = [("reason", &one.reason, reason), ("next step", &one.next, next)];
            for (what, texts, wanted) in places {
                let is_there = texts.iter().all(|text| text.contains(wanted));
                assert!(
                    is_there && !texts.is_empty() && !wanted.is_empty(),
                    "{failure:?}, {call}: the {what} `{wanted}` is missing in {texts:#?}\n{whole}"
                );
            }
        }
    }
    assert_eq!(rows, returned.len(), "{failure:?}: the table does not list each of {returned:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<FailureRow> {
        let rows = FailureCase::ALL.iter().map(|case| impossible(*case, "a reason"));
        rows.collect()
    }

    #[test]
    fn failure_table_with_each_case_is_complete() {
        assert_complete(&table());
    }

    #[test]
    #[should_panic(expected = "no row for Restart")]
    fn failure_table_without_a_case_is_not_complete() {
        let mut table = table();
        table.pop();
        assert_complete(&table);
    }

    #[test]
    #[should_panic(expected = "the reason `launch day` is missing")]
    fn failure_row_whose_reason_is_missing_is_reported() {
        let table = [returns(FailureCase::Frozen, "claim", "frozen", "launch day", "wait")];
        let returned = Returned {
            call: "claim",
            cause: "frozen".to_owned(),
            reason: vec!["launch day".to_owned(), "frozen".to_owned()],
            next: vec!["wait".to_owned()],
            whole: String::new(),
        };
        assert_returned(&table, FailureCase::Frozen, &[returned]);
    }
}
