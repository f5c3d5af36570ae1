//! The exit codes of `ade`. The help and the CLI reference are generated from this list.

/// The ways `ade` ends. Codes from 64 follow `sysexits.h`, so they rarely clash with a command's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    Rejected,
    Ended,
    Drifted,
    NotFound,
    Unreachable,
    LeaseLost,
    Stale,
    Locked,
    Frozen,
    TimedOut,
    NotSo,
    NotAllowed,
    CannotStart,
    NoSuchCommand,
    /// A signal ended `ade` before a command ran.
    Signalled(u8),
    /// The exit code of the command itself.
    Command(u8),
}

/// The offset that shells add to a signal number.
const SIGNALLED: u8 = 128;

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 64,
            Self::Rejected => 65,
            Self::Ended => 66,
            Self::Drifted => 67,
            Self::NotFound => 68,
            Self::Unreachable => 69,
            Self::LeaseLost => 70,
            Self::Stale => 71,
            Self::Locked => 72,
            Self::Frozen => 73,
            Self::TimedOut => 75,
            Self::NotSo => 76,
            Self::NotAllowed => 77,
            Self::CannotStart => 126,
            Self::NoSuchCommand => 127,
            Self::Signalled(signal) => SIGNALLED.saturating_add(signal),
            Self::Command(code) => code,
        }
    }
}

/// Codes of `ade` itself with their descriptions. `ade run` returns the command's code once it ran.
pub const CODES: &[(u8, &str)] = &[
    (Exit::Done.code(), "success"),
    (Exit::Failed.code(), "a negative answer, a refused request, a failed task, or another error"),
    (Exit::Usage.code(), "invalid command line"),
    (Exit::Rejected.code(), "the task was rejected or changes were requested"),
    (Exit::Ended.code(), "the task expired or was cancelled"),
    (Exit::Drifted.code(), "the effect or the command differs from what was approved"),
    (Exit::NotFound.code(), "not found, or not visible to you"),
    (Exit::Unreachable.code(), "the server is unreachable"),
    (Exit::LeaseLost.code(), "the lease was lost and the command was stopped"),
    (Exit::Stale.code(), "the object changed or was decided in the meantime; reload it"),
    (Exit::Locked.code(), "the lock is held, its queue is full, or you hold too many locks"),
    (Exit::Frozen.code(), "applies are frozen"),
    (Exit::TimedOut.code(), "the wait timed out, or the command ran too long"),
    (Exit::NotSo.code(), "a check failed"),
    (Exit::NotAllowed.code(), "not logged in, or not allowed"),
    (Exit::CannotStart.code(), "the command cannot be started"),
    (Exit::NoSuchCommand.code(), "command not found"),
    (Exit::Signalled(2).code(), "interrupted before the command ran; 128 + n: ended by signal n"),
];

/// Returns the list of exit codes for the end of a help page.
pub fn help() -> String {
    let lines = CODES.iter().map(|(code, says)| format!("  {code:>3}  {says}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_unique() {
        let mut codes: Vec<u8> = CODES.iter().map(|(code, _)| *code).collect();
        assert!(codes.is_sorted());
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
    }

    #[test]
    fn exit_code_help_lists_every_code() {
        let help = help();
        for (code, says) in CODES {
            assert!(help.contains(&format!("{code:>3}  {says}")), "{code}");
        }
    }
}
