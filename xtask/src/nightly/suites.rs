//! The registry of nightly suites: one row for each, as data, so that it can be listed and tested.

/// The program that runs a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteRunner {
    Cargo,
    Xtask,
}

#[derive(Debug)]
pub struct Suite {
    pub name: &'static str,
    /// Completes the sentence "It shows that …".
    pub shows: &'static str,
    pub program: SuiteRunner,
    /// The arguments, in which `{seed}`, `{piece}` and `{pieces}` are replaced.
    pub arguments: &'static [&'static str],
    /// The size of the suite, as the tests read it.
    pub env: &'static [(&'static str, &'static str)],
    pub pieces: usize,
    /// The expected time of all pieces on two cores.
    pub minutes: usize,
}

impl Suite {
    pub fn args(&self, piece: usize, seed: u64) -> Vec<String> {
        let fill =
            |text: &&str| fill(text, piece, seed).replace("{pieces}", &self.pieces.to_string());
        self.arguments.iter().map(fill).collect()
    }

    /// Returns the command of a piece as it would be typed.
    pub fn spell(&self, piece: usize, seed: u64) -> String {
        let mut words: Vec<String> = self
            .env
            .iter()
            .map(|(name, value)| format!("{name}={}", fill(value, piece, seed)))
            .collect();
        words.push(match self.program {
            SuiteRunner::Cargo => "cargo".to_owned(),
            SuiteRunner::Xtask => "cargo xtask".to_owned(),
        });
        let quoted = |arg: String| if arg.contains([' ', '(']) { format!("'{arg}'") } else { arg };
        words.extend(self.args(piece, seed).into_iter().map(quoted));
        words.join(" ")
    }
}

pub fn fill(text: &str, piece: usize, seed: u64) -> String {
    text.replace("{seed}", &seed.to_string()).replace("{piece}", &piece.to_string())
}

pub const SUITES: &[Suite] = &[
    Suite {
        name: "advisories",
        shows: "no locked crate has an open advisory, and the list of advisories is not old",
        program: SuiteRunner::Xtask,
        arguments: &["advisories", "--strict"],
        env: &[],
        pieces: 1,
        minutes: 1,
    },
    Suite {
        name: "faults",
        shows: "every race, cut and kill of the fault tests keeps the invariants at 1,000 rounds",
        program: SuiteRunner::Cargo,
        arguments: &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--no-fail-fast",
            "--partition",
            "slice:{piece}/{pieces}",
            "-E",
            "binary(faults) - test(listeners::) - test(groups::) - test(applies::)",
        ],
        env: &[("ADE_ROUNDS", "1000")],
        pieces: 4,
        minutes: 120,
    },
    Suite {
        name: "listeners",
        shows: "no listener misses or repeats an event while servers and relays are killed",
        program: SuiteRunner::Cargo,
        arguments: &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "-E",
            "binary(faults) & test(listeners::)",
        ],
        env: &[("ADE_ROUNDS", "5000")],
        pieces: 1,
        minutes: 45,
    },
    Suite {
        name: "groups",
        shows: "every event consumer handles every event in order while its readers are killed",
        program: SuiteRunner::Cargo,
        arguments: &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "-E",
            "binary(faults) & test(groups::)",
        ],
        env: &[("ADE_ROUNDS", "5000")],
        pieces: 1,
        minutes: 15,
    },
    Suite {
        name: "applies",
        shows: "no change is made twice while agents, workers and the API are killed at every step",
        program: SuiteRunner::Cargo,
        arguments: &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "-E",
            "binary(faults) & test(applies::)",
        ],
        env: &[("ADE_ROUNDS", "10000")],
        pieces: 1,
        minutes: 30,
    },
    Suite {
        name: "organisations",
        shows: "random organisations decide over HTTP as an independent oracle says",
        program: SuiteRunner::Cargo,
        arguments: &["nextest", "run", "--workspace", "--locked", "-E", "test(organisations::)"],
        env: &[("ADE_CASES", "10000"), ("ADE_SEED", "{seed}")],
        pieces: 1,
        minutes: 45,
    },
    Suite {
        name: "takeover",
        shows: "one admin causes no vote of another person and makes no approval easier alone",
        program: SuiteRunner::Cargo,
        arguments: &["nextest", "run", "--workspace", "--locked", "-E", "test(takeover::)"],
        env: &[("ADE_SEQUENCES", "5000"), ("ADE_SEED", "{seed}{piece}")],
        pieces: 2,
        minutes: 60,
    },
    Suite {
        name: "noisy",
        shows: "a tenant keeps its response times beside a noisy agent of another tenant",
        program: SuiteRunner::Cargo,
        arguments: &["nextest", "run", "--workspace", "--locked", "-E", "test(noisy_tenant::)"],
        env: &[("ADE_NOISE_S", "240"), ("ADE_SEED", "{seed}")],
        pieces: 1,
        minutes: 20,
    },
    Suite {
        name: "soak-rules",
        shows: "the properties of the core hold for random input that was never tried",
        program: SuiteRunner::Xtask,
        arguments: &["soak", "rules", "--seed", "{seed}", "--minutes", "30"],
        env: &[],
        pieces: 1,
        minutes: 32,
    },
    Suite {
        name: "soak-locks",
        shows: "the lock scripts in Redis agree with the model of the core",
        program: SuiteRunner::Xtask,
        arguments: &["soak", "locks", "--seed", "{seed}", "--minutes", "30"],
        env: &[],
        pieces: 1,
        minutes: 32,
    },
    Suite {
        name: "soak-fence",
        shows: "no holder of a lock commits after it was fenced",
        program: SuiteRunner::Xtask,
        arguments: &["soak", "fence", "--seed", "{seed}", "--minutes", "15"],
        env: &[],
        pieces: 1,
        minutes: 17,
    },
    Suite {
        name: "soak-deadlocks",
        shows: "every deadlock is found and the youngest request is its victim",
        program: SuiteRunner::Xtask,
        arguments: &["soak", "deadlocks", "--seed", "{seed}", "--minutes", "15"],
        env: &[],
        pieces: 1,
        minutes: 17,
    },
    Suite {
        name: "soak-failover",
        shows: "locks stay exclusive while Redis masters are killed, emptied and moved",
        program: SuiteRunner::Xtask,
        arguments: &["soak", "failover", "--seed", "{seed}", "--minutes", "50"],
        env: &[],
        pieces: 1,
        minutes: 52,
    },
    Suite {
        name: "schemathesis",
        shows: "50,000 generated requests are answered as the OpenAPI document says",
        program: SuiteRunner::Xtask,
        arguments: &["schemathesis", "--cases", "50000", "--seed", "{seed}"],
        env: &[],
        pieces: 1,
        minutes: 45,
    },
    Suite {
        name: "query",
        shows: "lists, inbox and audit stay fast at ten million tasks",
        program: SuiteRunner::Xtask,
        arguments: &["bench", "query", "--tasks", "10000000"],
        env: &[],
        pieces: 1,
        minutes: 60,
    },
    Suite {
        name: "browser",
        shows: "the dashboard stays usable with 10,000 pending tasks and a million audit entries",
        program: SuiteRunner::Xtask,
        arguments: &["web", "--browser"],
        env: &[("ADE_E2E_TASKS", "10000"), ("ADE_E2E_AUDIT_ENTRIES", "1000000")],
        pieces: 1,
        minutes: 20,
    },
    Suite {
        name: "mutants",
        shows: "the tests of the core notice at least nine of ten planted bugs",
        program: SuiteRunner::Xtask,
        arguments: &["mutants", "--seed", "{seed}"],
        env: &[],
        pieces: 1,
        minutes: 60,
    },
    Suite {
        name: "mutants-lua",
        shows: "the tests of the lock scripts notice almost every line that is left out",
        program: SuiteRunner::Xtask,
        arguments: &["mutants-lua"],
        env: &[],
        pieces: 1,
        minutes: 45,
    },
    // Piece N requests N runs and keeps the earlier ones, so each piece makes one run.
    Suite {
        name: "flaky",
        shows: "the whole suite passes five times in a row while every core is kept busy",
        program: SuiteRunner::Xtask,
        arguments: &["flaky", "--runs", "{piece}", "--load", "--resume", "--seed", "{seed}"],
        env: &[],
        pieces: 5,
        minutes: 250,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn suites_have_unique_names_and_pieces_of_at_most_an_hour() {
        let names: BTreeSet<&str> = SUITES.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), SUITES.len());
        for Suite { name, pieces, minutes, shows, .. } in SUITES {
            assert!(*pieces > 0 && *minutes > 0 && minutes.div_ceil(*pieces) <= 60, "{name}");
            assert!(!shows.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn suites_of_xtask_call_commands_that_exist() {
        use clap::Parser as _;
        for suite in SUITES.iter().filter(|suite| suite.program == SuiteRunner::Xtask) {
            let args = suite.args(1, 7);
            let line = std::iter::once("cargo xtask").chain(args.iter().map(String::as_str));
            assert!(crate::Cli::try_parse_from(line).is_ok(), "{}: {args:?}", suite.name);
        }
    }

    #[test]
    fn commands_are_spelled_as_typed() {
        let spelled =
            |name: &str| SUITES.iter().find(|suite| suite.name == name).unwrap().spell(2, 7);
        assert_eq!(spelled("flaky"), "cargo xtask flaky --runs 2 --load --resume --seed 7");
        assert!(spelled("faults").starts_with("ADE_ROUNDS=1000 cargo nextest run"));
        assert!(spelled("faults").contains("--partition slice:2/4 -E 'binary(faults)"));
        assert!(spelled("organisations").contains("ADE_SEED=7"));
    }
}
