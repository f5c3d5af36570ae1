//! How the program ends, once: the help, the reference and the code all read this list.

/// Numbers from 64 on follow the custom of `sysexits.h`, so that they seldom meet a command's own.
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
    /// By this signal, before a command ran.
    Signalled(u8),
    /// As the command ended.
    Command(u8),
}

/// A shell tells a signal by this much more.
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

/// What `ade` itself ends with. `ade run` ends with the command's own code once that has run.
pub const TOLD: &[(u8, &str)] = &[
    (Exit::Done.code(), "done"),
    (Exit::Failed.code(), "no; or the server refused it, the task failed, or something here did"),
    (Exit::Usage.code(), "the command line is wrong"),
    (Exit::Rejected.code(), "reviewers rejected it or asked for changes"),
    (Exit::Ended.code(), "it expired, or somebody cancelled it"),
    (Exit::Drifted.code(), "it would no longer do what people agreed to"),
    (Exit::NotFound.code(), "there is no such thing, or none that you may see"),
    (Exit::Unreachable.code(), "the server cannot be reached"),
    (Exit::LeaseLost.code(), "the lock was lost; the command was ended"),
    (Exit::Stale.code(), "it has changed or was decided meanwhile: look again"),
    (Exit::Locked.code(), "somebody else holds the lock, too many wait, or you have too many"),
    (Exit::Frozen.code(), "applies are stopped by a freeze"),
    (Exit::TimedOut.code(), "waited in vain, or the command took too long"),
    (Exit::NotSo.code(), "what was checked is not as it should be"),
    (Exit::NotAllowed.code(), "not signed in, or not allowed"),
    (Exit::CannotStart.code(), "the command cannot be started"),
    (Exit::NoSuchCommand.code(), "there is no such command"),
    (Exit::Signalled(2).code(), "interrupted before the command ran; 128 + n: ended by signal n"),
];

/// For the end of a help page.
pub fn help() -> String {
    let lines = TOLD.iter().map(|(code, says)| format!("  {code:>3}  {says}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_endings_share_a_code() {
        let mut codes: Vec<u8> = TOLD.iter().map(|(code, _)| *code).collect();
        assert!(codes.is_sorted());
        codes.dedup();
        assert_eq!(codes.len(), TOLD.len());
    }

    #[test]
    fn the_help_lists_every_code() {
        let help = help();
        for (code, says) in TOLD {
            assert!(help.contains(&format!("{code:>3}  {says}")), "{code}");
        }
    }
}
