//! The help page of `ade` itself, which lists the commands by group.

use std::fmt::Write as _;

use clap::Subcommand as _;
use clap::builder::Styles;

use super::Command;

const GROUPS: [(&str, &[&str]); 6] = [
    ("Review", &["inbox", "approve", "reject", "request-changes", "withdraw", "delegations"]),
    ("Propose and apply", &["tasks", "run", "watch", "can-i", "risk"]),
    ("Operate", &["locks", "agents", "freeze", "unfreeze", "freezes", "events", "audit", "doctor"]),
    ("Administer", &["policies", "changes", "timeouts", "users", "tokens", "webhooks"]),
    ("Agent integration", &["mcp", "hook"]),
    (
        "Sign in and set up",
        &["login", "logout", "whoami", "profiles", "config", "completion", "api"],
    ),
];

/// Returns the help template of `ade`: usage, the groups of commands, options and exit codes.
pub fn template() -> String {
    let commands = Command::augment_subcommands(clap::Command::new("ade"));
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let wide = commands.get_subcommands().map(|command| command.get_name().len()).max();
    let wide = wide.unwrap_or_default();
    let mut out = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        let _ = writeln!(out, "\n{header}{title}:{header:#}");
        for command in names.iter().filter_map(|name| commands.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            let _ = writeln!(out, "  {literal}{name:<wide$}{literal:#}  {about}");
        }
    }
    let _ = writeln!(out, "\n{header}Global options:{header:#}");
    out + "{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_belong_to_exactly_one_group() {
        let commands = Command::augment_subcommands(clap::Command::new("ade"));
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<&str> =
            commands.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }
}
