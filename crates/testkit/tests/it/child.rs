//! Other processes that use the kit: this test binary, started with one of the ignored tests below.
//! Each prints its line and then runs until it is killed or its input ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use ade_testkit::run::{OWNER_VARIABLE, ROOT_VARIABLE, Run};
use ade_testkit::{OwnedPostgres, Postgres, postgres};

pub struct Other {
    child: Child,
    /// Kept open, because the child continues to write after its line.
    _output: BufReader<ChildStdout>,
    pub line: String,
}

impl Other {
    /// Starts a child with `settings` in its environment, which alone decide which run it belongs
    /// to.
    pub fn start(test: &str, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "--nocapture", &format!("child::{test}")])
            .env_remove("NEXTEST_RUN_ID")
            .env_remove(OWNER_VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, value) in settings {
            command.env(name, value);
        }
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let lines = output.by_ref().lines();
        let line = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("child says: ")?.1.to_owned()))
            .expect("the other process printed nothing");
        Self { child, _output: output, line }
    }

    pub fn words(&self) -> Vec<&str> {
        self.line.split(' ').collect()
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Kills the child with SIGKILL, so that none of its destructors run.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn finish(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

fn stay() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

#[tokio::test]
#[ignore = "run by other tests in a process of its own"]
async fn shares_postgres() {
    let server = Postgres::shared().await;
    let process = server.process().unwrap();
    println!("child says: {} {}", process.pid(), server.url("postgres"));
    stay();
}

#[tokio::test]
#[ignore = "run by other tests in a process of its own"]
async fn owns_postgres() {
    let server = OwnedPostgres::start(postgres::PostgresSettings::test()).await;
    let run = Run::own().unwrap();
    let process = server.process().unwrap();
    let watchdog = run.watchdog().unwrap();
    println!(
        "child says: {} {} {} {} {}",
        process.pid(),
        process.born(),
        watchdog.pid(),
        watchdog.born(),
        run.ledger().dir().display(),
    );
    stay();
}

/// Returns a separate root, so that a sweep in one test does not affect another; it is removed with
/// this process.
pub fn private_root(name: &str) -> std::path::PathBuf {
    Run::own().unwrap().ledger().folder(&format!("root-{name}"))
}

pub fn root_setting(root: &std::path::Path) -> (&'static str, &str) {
    (ROOT_VARIABLE, root.to_str().unwrap())
}

pub const SOON: Duration = Duration::from_mins(1);
