//! The lock scripts, assembled from their files: the limits of the core, the shared parts, then the
//! command. The only clock is that of Redis: no argument and no key can change it. Only tests
//! compile a clock of their own into the scripts.

use std::time::Duration;

use ade_core::limits::{
    LEASE_CLAIM_TTL, LEASE_TOMBSTONE_TTL, LOCK_COUNTER_BITS, LOCK_HOLD_MAX, LOCK_LIST_SCANS_MAX,
    LOCK_QUEUE_DEPTH_MAX, LOCK_REBUILD_PAUSE_MAX, LOCK_SWEEP_PER_CALL, LOCKS_PER_AGENT_MAX,
};

use crate::script::Script;

/// A file of a script, without its first line.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) name: &'static str,
    pub(super) text: String,
}

macro_rules! sources {
    ($($name:literal),+) => {
        [$(Source {
            name: $name,
            text: include_str!(concat!("../../lua/lock/", $name, ".lua")).to_owned(),
        }),+]
    };
}

/// The source files, in the order in which they use each other.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    pub(super) first: [Source; 2],
    /// The fast paths of two commands: the common part, then that of acquire and that of release.
    /// They come first, so that the fast paths do not pay for functions they do not call.
    pub(super) at_once: [Source; 3],
    pub(super) parts: [Source; 6],
    pub(super) commands: [Source; 10],
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            first: sources!("clock", "tables"),
            at_once: sources!("tombstones", "grant_at_once", "release_at_once"),
            parts: sources!("space", "record", "judge", "promote", "expire", "wait_for"),
            commands: sources!(
                "acquire",
                "renew",
                "release",
                "cancel",
                "break_lease",
                "refence",
                "register",
                "sweep",
                "rebuild",
                "adopt"
            ),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Scripts {
    pub(super) acquire: Script,
    pub(super) renew: Script,
    pub(super) release: Script,
    pub(super) cancel: Script,
    pub(super) break_lease: Script,
    pub(super) refence: Script,
    pub(super) register: Script,
    pub(super) sweep: Script,
    pub(super) rebuild: Script,
    pub(super) adopt: Script,
}

impl Scripts {
    pub(super) fn new(sources: &Sources) -> Self {
        let join = |parts: &[Source]| -> String { parts.iter().map(body).collect() };
        let (first, shared) = (join(&sources.first), join(&sources.parts));
        let [
            acquire,
            renew,
            release,
            cancel,
            break_lease,
            refence,
            register,
            sweep,
            rebuild,
            adopt,
        ] = &sources.commands;
        let build = |command: &Source, at_once: &str| {
            let text = format!("#!lua\n{}{first}{at_once}{shared}{}", limits(), body(command));
            Script::new(command.name, text)
        };
        let script = |command| build(command, "");
        let [tombstones, grant, give_back] = sources.at_once.each_ref().map(body);
        Self {
            acquire: build(acquire, &format!("{tombstones}{grant}")),
            renew: script(renew),
            release: build(release, &format!("{tombstones}{give_back}")),
            cancel: script(cancel),
            break_lease: script(break_lease),
            refence: script(refence),
            register: script(register),
            sweep: script(sweep),
            rebuild: script(rebuild),
            adopt: script(adopt),
        }
    }
}

/// Builds a read-only script with the shared parts, so that it reads records as they are written.
pub(super) fn looking(name: &'static str, files: &[&str]) -> Script {
    let sources = Sources::default();
    let parts: String = sources.first.iter().chain(&sources.parts).map(body).collect();
    let own = files.iter().map(|text| body(&Source { name, text: (*text).to_owned() }));
    Script::new(name, format!("#!lua\n{}{parts}{}", limits(), own.collect::<String>()))
}

/// Returns the text without comments and without its `#!lua`, which stands once at the top of the
/// whole script.
fn body(source: &Source) -> String {
    let code = source.text.lines().skip(1).filter(|line| !line.trim_start().starts_with("--"));
    code.flat_map(|line| [line, "\n"]).collect()
}

fn limits() -> String {
    let micros = |duration: Duration| duration.as_micros();
    format!(
        "local CLAIM_TTL, TOMBSTONE_TTL = {}, {}\n\
         local QUEUE_DEPTH_MAX, SWEEP_PER_CALL = {LOCK_QUEUE_DEPTH_MAX}, {LOCK_SWEEP_PER_CALL}\n\
         local COUNTER_END, REBUILD_PAUSE_MAX = {}, {}\n\
         local SCANS_MAX = {LOCK_LIST_SCANS_MAX}\n\
         local LOCKS_PER_AGENT_MAX, HOLD_MAX = {LOCKS_PER_AGENT_MAX}, {}\n",
        micros(LEASE_CLAIM_TTL),
        micros(LEASE_TOMBSTONE_TTL),
        1_u64 << LOCK_COUNTER_BITS,
        micros(LOCK_REBUILD_PAUSE_MAX),
        micros(LOCK_HOLD_MAX),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_has_a_shebang_and_reads_the_time_once() {
        let scripts = Scripts::new(&Sources::default());
        for script in [&scripts.acquire, &scripts.sweep, &scripts.adopt] {
            let text = script.text();
            assert!(text.starts_with("#!lua\nlocal CLAIM_TTL"), "{text}");
            assert_eq!(text.matches("#!lua").count(), 1);
            assert_eq!(text.matches("'TIME'").count(), 1);
            assert!(!text.contains("--"), "comments are removed");
        }
    }
}
