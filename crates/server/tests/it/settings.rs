//! The program itself: what is wrong with its settings is told by name, whatever it is to do.

use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ade-server");

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().envs(variables.iter().copied());
    command.output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_unknown_setting_stops_every_subcommand() {
    for subcommand in ["api", "worker", "all", "doctor", "openapi", "migrate"] {
        let output = run(&[subcommand], &[("ADE__SERVER__LISTEM", "x")]);
        assert!(!output.status.success(), "{subcommand}");
        assert!(told(&output).contains("listem"), "{subcommand}: {}", told(&output));
    }
}

#[test]
fn plain_http_for_others_is_refused_at_start() {
    let output = run(&["api"], &[("ADE__SERVER__LISTEN", "0.0.0.0:0")]);
    assert!(!output.status.success());
    assert!(told(&output).contains("allow_plain_http"), "{}", told(&output));
}

#[test]
fn the_document_is_printed() {
    let output = run(&["openapi"], &[]);
    assert!(output.status.success(), "{}", told(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["paths"]["/healthz"].is_object());
}

#[test]
fn the_doctor_tells_everything_that_is_missing() {
    let output = run(&["doctor"], &[]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for missing in ["database.url", "auth.pepper_file"] {
        assert!(said.contains(missing), "{said}");
    }
}
