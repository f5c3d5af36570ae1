//! `ade run` refuses to run anything but what reviewers saw: files that were swapped after the
//! review, and environments that load other code. In each case nothing of the command runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use crate::installation::{Ended, Installation, ended};
use crate::run::{finish, run, text};

/// The trace that an approved or a swapped program would leave.
const TRACE: &str = "ran";

fn program(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Proposes a command, changes something while a person reads, approves, and returns how it ended.
/// Checks that nothing ran and that the task is cancelled.
async fn swapped(at: &Installation, command: Command, change: impl FnOnce(&Path)) -> Ended {
    let mut command = command;
    let child = command.spawn().unwrap();
    at.task_in("REVIEWING").await;
    change(at.home());
    let task = at.answer("approve", "as shown").await;
    let ended = finish(child).await.with(67);
    assert!(!at.home().join(TRACE).exists(), "the command ran: {}", ended.err);
    let task = at.task(text(&task["id"])).await;
    assert_eq!(task["state"], "CANCELLED", "{}", ended.err);
    ended.says("error[command_changed]: the command is not what was approved");
    ended
}

#[tokio::test]
async fn run_of_a_rewritten_script_is_refused() {
    let at = Installation::start().await;
    let script = at.home().join("deploy.sh");
    program(&script, "#!/bin/sh\necho approved > ran\n");
    let command = at.ade(&run(&[], &["./deploy.sh"]));
    let ended = swapped(&at, command, |home| {
        program(&home.join("deploy.sh"), "#!/bin/sh\necho SOMETHING ELSE > ran\n");
    });
    ended.await.says("the program ").says("deploy.sh has changed from sha256:");
}

#[tokio::test]
async fn run_of_a_swapped_binary_is_refused() {
    let at = Installation::start().await;
    fs::copy("/bin/true", at.home().join("tool")).unwrap();
    let command = at.ade(&run(&[], &["./tool", TRACE]));
    let ended = swapped(&at, command, |home| {
        fs::copy("/bin/touch", home.join("other")).unwrap();
        fs::rename(home.join("other"), home.join("tool")).unwrap();
    });
    ended.await.says("tool has changed from sha256:");
}

#[tokio::test]
async fn run_of_a_program_planted_in_the_path_is_refused() {
    let at = Installation::start().await;
    let (first, second) = (at.home().join("first"), at.home().join("second"));
    for folder in [&first, &second] {
        fs::create_dir(folder).unwrap();
    }
    program(&second.join("deploy"), "#!/bin/sh\necho approved > ran\n");
    let mut command = at.ade(&run(&[], &["deploy"]));
    let path = format!("{}:{}:{}", first.display(), second.display(), env!("PATH"));
    command.env("PATH", path);
    let ended = swapped(&at, command, |home| {
        program(&home.join("first/deploy"), "#!/bin/sh\necho planted > ran\n");
    });
    ended.await.says("second/deploy is now ").says("first/deploy");
}

#[tokio::test]
async fn run_of_a_swapped_interpreter_is_refused() {
    let at = Installation::start().await;
    let shell = at.home().join("own-shell");
    fs::copy("/bin/sh", &shell).unwrap();
    let script = format!("#!{}\necho approved > ran\n", shell.display());
    program(&at.home().join("deploy"), &script);
    let command = at.ade(&run(&[], &["./deploy"]));
    let ended = swapped(&at, command, |home| {
        fs::remove_file(home.join("own-shell")).unwrap();
        program(&home.join("own-shell"), "#!/bin/sh\necho intercepted > ran\n");
    });
    ended.await.says("own-shell has changed");
}

#[tokio::test]
async fn run_with_a_changed_argument_file_is_refused() {
    let at = Installation::start().await;
    let input = |content: &str| fs::write(at.home().join("input.sh"), content).unwrap();
    for argument in ["input.sh", "-finput.sh", "--file=input.sh"] {
        input("echo approved > ran");
        let script = "cat input.sh | sh";
        let command = at.ade(&run(&[], &["sh", "-c", script, "sh", argument]));
        let ended = swapped(&at, command, |home| {
            fs::write(home.join("input.sh"), "echo changed > ran").unwrap();
        });
        ended.await.says("the file input.sh has changed from sha256:");
    }
    // A file that the arguments do not name.
    input("echo approved > ran");
    let command = at.ade(&run(&["--file", "input.sh"], &["sh", "-c", ". ./input.sh"]));
    let ended = swapped(&at, command, |home| {
        fs::remove_file(home.join("input.sh")).unwrap();
    });
    ended.await.says("cannot read the file input.sh");
}

#[tokio::test]
async fn run_in_a_swapped_directory_is_refused() {
    let at = Installation::start().await;
    let work = at.home().join("work");
    fs::create_dir(&work).unwrap();
    let mut command = at.ade(&run(&[], &["sh", "-c", "echo approved > ../ran"]));
    command.current_dir(&work);
    let ended = swapped(&at, command, |home| {
        fs::rename(home.join("work"), home.join("old")).unwrap();
        fs::create_dir(home.join("work")).unwrap();
    });
    ended.await.says("/work is now ");
}

#[tokio::test]
async fn run_with_variables_that_load_code_is_refused() {
    let at = Installation::start().await;
    let load = at.home().join("load.sh");
    fs::write(&load, "echo loaded > ran").unwrap();
    for name in ["LD_PRELOAD", "BASH_ENV", "ENV", "PYTHONPATH", "NODE_OPTIONS", "GIT_SSH_COMMAND"] {
        let mut command = at.ade(&run(&[], &["bash", "-c", "true"]));
        // The loader only warns of a file that is no library.
        command.env(name, &load);
        ended(command)
            .await
            .with(64)
            .says(&format!("the environment can change what the command runs: {name}"))
            .says(&format!("show them to reviewers with --env {name}"));
    }
    assert!(!at.home().join(TRACE).exists());
    assert_eq!(at.get("/v1/tasks").await["items"], json!([]), "no task was created");
}

#[tokio::test]
async fn run_of_an_unchanged_script_passes_named_variables() {
    let at = Installation::start().await;
    let load = at.home().join("load.sh");
    fs::write(&load, "echo loaded").unwrap();
    let script = "#!/usr/bin/env bash\necho \"$1 from $(basename \"$ADE_PROGRAM\")\"\n";
    program(&at.home().join("deploy"), script);
    let mut command = at.ade(&run(&["--env", "BASH_ENV"], &["./deploy", "one"]));
    command.env("BASH_ENV", &load);
    let child = command.spawn().unwrap();
    let task = at.answer("approve", "with load.sh").await;
    finish(child).await.with(0).prints("loaded\none from deploy\n");
    let parameters = at.task(text(&task["id"])).await["parameters"].clone();
    let shown = json!({ "name": "BASH_ENV", "value": load });
    assert!(parameters["environment"].as_array().unwrap().contains(&shown), "{parameters}");
    let paths = parameters["program"].as_array().unwrap();
    assert!(paths.len() == 2 && text(&paths[1]["path"]).ends_with("/bash"), "{paths:?}");
}
