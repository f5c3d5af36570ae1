//! Invalid settings are reported by name by every subcommand of the program.

use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ade-server");

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().envs(variables.iter().copied());
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn unknown_setting_stops_every_subcommand() {
    for subcommand in ["api", "worker", "all", "doctor", "openapi", "migrate"] {
        let output = run(&[subcommand], &[("ADE__SERVER__LISTEM", "x")]);
        assert!(!output.status.success(), "{subcommand}");
        assert!(stderr(&output).contains("listem"), "{subcommand}: {}", stderr(&output));
    }
}

#[test]
fn plain_http_on_a_public_address_is_refused_at_start() {
    let output = run(&["api"], &[("ADE__SERVER__LISTEN", "0.0.0.0:0")]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("allow_plain_http"), "{}", stderr(&output));
}

#[test]
fn openapi_document_is_printed() {
    let output = run(&["openapi"], &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["paths"]["/healthz"].is_object());
}

#[test]
fn doctor_reports_everything_that_is_missing() {
    let output = run(&["doctor"], &[]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for missing in ["database.url", "database.worker_url", "auth.pepper_file"] {
        assert!(said.contains(missing), "{said}");
    }
}
