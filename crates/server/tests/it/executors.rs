//! Executors that can apply: a program that the settings allow, and an HTTP endpoint that verifies
//! its caller. Both meet the same requirements. The tests check the effects in the target itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ade_api::claims::FencedResource;
use ade_api::executions::{FinishOutcome, Stream};
use ade_api::tasks::Mode;
use ade_core::change::{Digest, StrictValue};
use ade_core::ids::{ExecutionId, TaskId, TenantId};
use ade_core::resource::ResourceRef;
use ade_engine::services::executors::{
    Applies, CommandExecutor, Executor, ExecutorEntry, ExecutorOutcome, Http, HttpEndpoint, Leash,
    Left, OutputLine, PermittedAttempt, PlanExecutor, PreviewError, Program, ProgramLimits, Signer,
    SqlPreview, Stash,
};
use ade_engine::services::outbound::{AddressError, AddressPolicy};
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::{Pool, PoolClass, PoolSettings};
use ade_testkit::http_target::{AUDIENCE, ISSUER, RESOURCE};
use ade_testkit::process::Process;
use ade_testkit::{HttpTarget, eventually};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::conformance::proposal;

const SOON: Duration = Duration::from_secs(30);

/// A folder that is deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ade-executor-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("state"), "one").unwrap();
        Self(path)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

enum Target {
    Folder(Folder),
    Http(HttpTarget),
}

pub struct Subject {
    pub executor: Arc<dyn Executor>,
    target: Target,
}

const LIMITS: ProgramLimits = ProgramLimits {
    time: Duration::from_mins(5),
    log_bytes: 1_000,
    memory_bytes: 256 * 1024 * 1024,
    cpu: Duration::from_secs(20),
};

impl Subject {
    pub fn command() -> Self {
        Self::limited(LIMITS)
    }

    fn limited(limits: ProgramLimits) -> Self {
        let folder = Folder::new();
        let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs");
        let program = Program {
            path: programs.join("target.sh"),
            arguments: vec![folder.0.join("state").display().to_string()],
            directory: folder.0.clone(),
            environment: vec!["PATH".to_owned(), "CARGO_MANIFEST_DIR".to_owned()],
            limits,
        };
        Self { executor: Arc::new(CommandExecutor::new(program)), target: Target::Folder(folder) }
    }

    pub async fn http() -> Self {
        let target = HttpTarget::start().await;
        let endpoint =
            HttpEndpoint::new(target.url(), AddressPolicy::Loopback, LIMITS.time).unwrap();
        let signer = Arc::new(Signer::from_pkcs8(target.key()).unwrap());
        let executor =
            Arc::new(Http::new(endpoint, signer, ISSUER.to_owned(), Some(AUDIENCE.to_owned())));
        Self { executor, target: Target::Http(target) }
    }

    /// The executor as the settings of an installation name it.
    pub fn entry(&self, types: &str, tenants: TenantBinding) -> ExecutorEntry {
        let types = types.parse().unwrap();
        ExecutorEntry { types, tenants, executor: Arc::clone(&self.executor) }
    }

    pub fn value(&self) -> String {
        match &self.target {
            Target::Folder(folder) => folder.read("state"),
            Target::Http(target) => target.value(),
        }
    }

    pub fn set(&self, value: &str) {
        let Target::Folder(folder) = &self.target else {
            panic!("only the target of a program is a file")
        };
        std::fs::write(folder.0.join("state"), value).unwrap();
    }

    /// Waits until the program stores its rollback data, which it does until `stashed` is called.
    pub async fn stashing(&self) {
        let Target::Folder(folder) = &self.target else { panic!("only a program can wait") };
        eventually("the program stores its rollback data", SOON, async || {
            if folder.0.join("state.stashing").exists() { Ok(()) } else { Err("not yet") }
        })
        .await;
    }

    pub fn stashed(&self) {
        let Target::Folder(folder) = &self.target else { panic!("only a program can wait") };
        std::fs::write(folder.0.join("state.stashed"), "").unwrap();
    }

    /// The tasks that were applied, as the target recorded them.
    pub fn applied(&self) -> String {
        let Target::Folder(folder) = &self.target else {
            panic!("only the target of a program has this record")
        };
        folder.read("state.applied")
    }

    /// The issuer and key of the receipts that the target accepts, if it verifies them.
    pub fn key(&self) -> Option<(String, Vec<u8>)> {
        match &self.target {
            Target::Folder(_) => None,
            Target::Http(target) => Some((ISSUER.to_owned(), target.key().to_vec())),
        }
    }

    fn applies(&self) -> &dyn Applies {
        self.executor.applies().unwrap()
    }

    fn name(&self) -> &'static str {
        self.executor.name()
    }

    fn work(&self, parameters: &Value, fence: u64) -> PermittedAttempt {
        let digest = Digest::of(b"content");
        let receipt = match &self.target {
            Target::Folder(_) => "signed".to_owned(),
            Target::Http(target) => target.receipt(&digest.to_string(), fence),
        };
        let resource: ResourceRef = RESOURCE.parse().unwrap();
        PermittedAttempt {
            task: TaskId::from_u128(1),
            execution: ExecutionId::from_u128(2),
            revision: 1,
            digest,
            task_type: "any.change".to_owned(),
            parameters: StrictValue::from_json(parameters).unwrap(),
            resources: vec![FencedResource { resource, mode: Mode::Exclusive, fence }],
            receipt,
        }
    }

    /// Applies a change within this time. Returns the outcome and all log lines.
    async fn try_out(&self, behave: &str, time: Duration) -> (ExecutorOutcome, Vec<OutputLine>) {
        let work = self.work(&json!({ "behave": behave, "value": "two" }), 9);
        let (leash, _abort, mut lines) = leash(time);
        let outcome = self.applies().apply(&work, &leash).await;
        drop(leash);
        let mut log = Vec::new();
        while let Some(line) = lines.recv().await {
            log.push(line);
        }
        (outcome, log)
    }

    /// Waits until the program has recorded so many processes and returns them.
    pub async fn processes(&self, count: usize) -> Vec<Process> {
        let Target::Folder(folder) = &self.target else { panic!("only a program has processes") };
        let all = async || {
            let pids = folder.read("state.pids");
            let pids: Vec<i32> = pids.lines().filter_map(|line| line.parse().ok()).collect();
            if pids.len() == count { Ok(pids) } else { Err(format!("{pids:?}")) }
        };
        let pids = eventually("the program has started", SOON, all).await;
        pids.into_iter().filter_map(Process::of).collect()
    }
}

fn leash(time: Duration) -> (Leash, watch::Sender<bool>, mpsc::Receiver<OutputLine>) {
    let (sender, abort) = watch::channel(false);
    let (lines, received) = mpsc::channel(1_000);
    (Leash { deadline: Instant::now() + time, abort, lines }, sender, received)
}

async fn subjects() -> [Subject; 2] {
    [Subject::command(), Subject::http().await]
}

#[track_caller]
fn assert_failed(outcome: &ExecutorOutcome, wanted: FinishOutcome, says: &str, leaves: Left) {
    let ExecutorOutcome::Failure { kind, error, left, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((*kind, *left), (wanted, leaves), "{error}");
    assert!(error.contains(says), "{error:?} does not say {says:?}");
}

#[tokio::test]
async fn executor_rollback_restores_the_stash() {
    for subject in subjects().await {
        let name = subject.name();
        let (leash, _abort, _lines) = leash(SOON);
        let work = subject.work(&json!({ "value": "two" }), 5);
        let stash = subject.applies().stash(&work, &leash).await.unwrap();
        assert_eq!(subject.value(), "one", "{name}: a stash changes nothing");
        let applied = subject.applies().apply(&work, &leash).await;
        let details = Some(json!({ "set": "two" }));
        assert_eq!(applied, ExecutorOutcome::Success { details }, "{name}");
        assert_eq!(subject.value(), "two", "{name}");
        let back = subject.applies().roll_back(&work, &stash, &leash).await;
        assert!(matches!(back, ExecutorOutcome::Success { .. }), "{name}: {back:?}");
        assert_eq!(subject.value(), "one", "{name}");
    }
}

#[tokio::test]
async fn executor_failure_is_passed_on() {
    for subject in subjects().await {
        let (outcome, _) = subject.try_out("fail", SOON).await;
        assert_failed(&outcome, FinishOutcome::Failed, "no room", Left::Nothing);
        assert_eq!(subject.value(), "one");
    }
}

/// An executor without a complete response may have changed anything.
#[tokio::test]
async fn executor_without_a_complete_response_never_succeeds() {
    let command = Subject::command();
    for (behave, says) in [
        ("junk", "the response is invalid"),
        ("flood", "longer than"),
        ("killed", "signal 9"),
        ("exit", "status 3: cannot"),
        ("both", "both"),
    ] {
        let (outcome, _) = command.try_out(behave, SOON).await;
        assert_failed(&outcome, FinishOutcome::Failed, says, Left::Unknown);
    }
    let http = Subject::http().await;
    for (behave, says) in [
        ("junk", "the response is invalid"),
        ("flood", "longer than"),
        ("cut", "did not respond"),
        ("error", "status 500"),
        ("redirect", "status 302"),
    ] {
        let (outcome, _) = http.try_out(behave, SOON).await;
        assert_failed(&outcome, FinishOutcome::Failed, says, Left::Unknown);
    }
    let Target::Http(target) = &http.target else { unreachable!() };
    assert_eq!(target.calls(), 5, "redirects are not followed");
    assert_eq!(target.refusals(), [""; 0]);
}

#[tokio::test]
async fn executor_deadline_ends_the_apply() {
    for subject in subjects().await {
        let (outcome, _) = subject.try_out("hang", Duration::from_millis(300)).await;
        assert_failed(&outcome, FinishOutcome::TimedOut, "timed out", Left::Unknown);
        assert_eq!(subject.value(), "one");
    }
}

#[tokio::test]
async fn executor_apply_can_be_cancelled() {
    for subject in subjects().await {
        let work = subject.work(&json!({ "behave": "hang", "value": "two" }), 9);
        let (leash, abort, _lines) = leash(SOON);
        let stop = async { abort.send_replace(true) };
        let (outcome, _) = tokio::join!(subject.applies().apply(&work, &leash), stop);
        assert_failed(&outcome, FinishOutcome::Cancelled, "asked to stop", Left::Unknown);
    }
}

pub async fn assert_gone(processes: &[Process]) {
    let all_gone = async || {
        let left: Vec<i32> =
            processes.iter().filter(|one| one.is_alive()).map(|one| one.pid()).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?} still run")) }
    };
    eventually("none of the processes runs", SOON, all_gone).await;
}

#[tokio::test]
async fn program_that_ended_leaves_no_process_behind() {
    // The program times out. It ignores signals, and one of its children has left its process
    // group.
    let subject = Subject::command();
    let work = subject.work(&json!({ "behave": "hang", "value": "two" }), 9);
    let (held, _abort, _lines) = leash(Duration::from_secs(8));
    let (outcome, processes) =
        tokio::join!(subject.applies().apply(&work, &held), subject.processes(3));
    assert_eq!(processes.len(), 3, "the processes ran");
    assert_failed(&outcome, FinishOutcome::TimedOut, "timed out", Left::Unknown);
    assert_gone(&processes).await;

    // The caller is cancelled.
    let subject = Subject::command();
    let (held, _abort, _lines) = leash(SOON);
    let processes = {
        let mut applying = subject.applies().apply(&work, &held);
        tokio::select! {
            outcome = &mut applying => panic!("{outcome:?}"),
            processes = subject.processes(3) => processes,
        }
    };
    assert_eq!(processes.len(), 3, "the processes ran");
    assert_gone(&processes).await;

    // The program succeeds and leaves a child behind.
    let subject = Subject::command();
    let (outcome, _) = subject.try_out("daemon", SOON).await;
    assert!(matches!(outcome, ExecutorOutcome::Success { .. }), "{outcome:?}");
    assert_gone(&subject.processes(1).await).await;
}

#[tokio::test]
async fn program_environment_has_only_the_allowed_variables() {
    let subject = Subject::command();
    let (outcome, log) = subject.try_out("environment", SOON).await;
    assert!(matches!(outcome, ExecutorOutcome::Success { .. }), "{outcome:?}");
    let names: Vec<&str> =
        log.iter().filter_map(|line| line.text.split_once('=')).map(|(name, _)| name).collect();
    // The variables of the shell itself, the two allowed ones, and the id of the run.
    let known = ["ADE_RUN", "CARGO_MANIFEST_DIR", "OLDPWD", "PATH", "PWD", "SHLVL", "_"];
    let others: Vec<&&str> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(names.contains(&"CARGO_MANIFEST_DIR") && names.contains(&"ADE_RUN"), "{names:?}");
    let Target::Folder(folder) = &subject.target else { unreachable!() };
    let place = std::fs::canonicalize(&folder.0).unwrap().display().to_string();
    assert_eq!(log.last().map(|line| line.text.clone()), Some(place), "the configured directory");
}

#[tokio::test]
async fn program_log_is_kept_up_to_its_limit() {
    let subject = Subject::command();
    let (outcome, log) = subject.try_out("chatter", SOON).await;
    assert!(matches!(outcome, ExecutorOutcome::Success { .. }), "{outcome:?}");
    let (note, lines) = log.split_last().unwrap();
    let kept: usize = lines.iter().map(|line| line.text.len()).sum();
    assert!(kept <= LIMITS.log_bytes && kept > LIMITS.log_bytes - 20, "{kept}");
    assert!(lines.iter().enumerate().all(|(at, line)| line.text == format!("line {at}")));
    assert!(lines.iter().all(|line| line.stream == Stream::Stderr));
    let whole: usize = (0..200).map(|at| format!("line {at}").len()).sum();
    let dropped = format!("the log is full: {} more bytes were dropped", whole - kept);
    assert_eq!((note.stream, note.text.as_str()), (Stream::Note, dropped.as_str()));
}

#[tokio::test]
async fn program_over_its_memory_limit_fails() {
    let subject = Subject::command();
    let (outcome, _) = subject.try_out("memory", SOON).await;
    assert_failed(&outcome, FinishOutcome::Failed, "status 4", Left::Unknown);
    assert_eq!(subject.value(), "one");
    let roomy = Subject::limited(ProgramLimits { memory_bytes: 4 << 30, ..LIMITS });
    let (outcome, _) = roomy.try_out("memory", SOON).await;
    assert!(
        matches!(outcome, ExecutorOutcome::Success { .. }),
        "more memory is enough: {outcome:?}"
    );
}

#[tokio::test]
async fn program_that_is_missing_has_changed_nothing() {
    let program = Program {
        path: PathBuf::from("/nowhere/at/all"),
        arguments: Vec::new(),
        directory: std::env::temp_dir(),
        environment: Vec::new(),
        limits: LIMITS,
    };
    let target = Target::Folder(Folder::new());
    let subject = Subject { executor: Arc::new(CommandExecutor::new(program)), target };
    let (outcome, _) = subject.try_out("", SOON).await;
    assert_failed(&outcome, FinishOutcome::Failed, "could not be run", Left::Nothing);
    let (leash, _abort, _lines) = leash(SOON);
    let unstashed = subject.applies().stash(&subject.work(&json!({}), 1), &leash).await;
    assert_eq!(unstashed.unwrap_err().kind, FinishOutcome::Failed);
    let wanted = proposal(&json!({ "value": "two" }), None);
    let preview = subject.executor.preview(TenantId::from_u128(1), &wanted).await;
    assert!(matches!(preview, Err(PreviewError::Unavailable { .. })), "{preview:?}");
}

#[tokio::test]
async fn http_target_refuses_stale_fences_and_unknown_signers() {
    let subject = Subject::http().await;
    let Target::Http(target) = &subject.target else { unreachable!() };
    let (leash, _abort, _lines) = leash(SOON);
    let apply = async |value: &str, fence: u64| {
        let work = subject.work(&json!({ "value": value }), fence);
        subject.applies().apply(&work, &leash).await
    };
    assert!(matches!(apply("two", 7).await, ExecutorOutcome::Success { .. }));
    let late = apply("late", 6).await;
    assert_failed(&late, FinishOutcome::Failed, "status 403", Left::Unknown);
    let mut forged = subject.work(&json!({ "value": "forged" }), 8);
    forged.digest = Digest::of(b"another");
    let forged = subject.applies().apply(&forged, &leash).await;
    assert_failed(&forged, FinishOutcome::Failed, "status 403", Left::Unknown);
    let endpoint = HttpEndpoint::new(target.url(), AddressPolicy::Loopback, LIMITS.time).unwrap();
    let stranger = Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap();
    let stranger = Http::new(endpoint, Arc::new(stranger), ISSUER.to_owned(), None);
    let work = subject.work(&json!({ "value": "strange" }), 9);
    let unknown = stranger.apply(&work, &leash).await;
    assert_failed(&unknown, FinishOutcome::Failed, "status 403", Left::Unknown);
    assert_eq!(target.value(), "two");
    let refusals = target.refusals();
    let why: Vec<bool> = refusals
        .iter()
        .zip(["is stale", "another content", "unknown key"])
        .map(|(refusal, wanted)| refusal.contains(wanted))
        .collect();
    assert_eq!(why, [true; 3], "{refusals:?}");
}

#[tokio::test]
async fn http_endpoint_that_is_down_has_changed_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let endpoint = HttpEndpoint::new(&url, AddressPolicy::Loopback, LIMITS.time).unwrap();
    let signer = Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap();
    let http = Http::new(endpoint, Arc::new(signer), ISSUER.to_owned(), None);
    let subject = Subject { executor: Arc::new(http), target: Target::Folder(Folder::new()) };
    let (outcome, _) = subject.try_out("", SOON).await;
    assert_failed(&outcome, FinishOutcome::Failed, "did not respond", Left::Nothing);
}

/// Covers other spellings of an address, names that resolve to a closed one, and invalid addresses.
#[test]
fn http_endpoint_at_a_closed_address_is_refused() {
    let time = LIMITS.time;
    for url in [
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://0x7f.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://0xa9fea9fe/",
        "https://2852039166/",
        "https://10.0.0.1:8443/",
        "https://192.168.0.1/",
        "https://172.16.0.1/",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://[fe80::1]/",
        "https://[fd00:ec2::254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:7f00:1::]/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://localhost/",
    ] {
        let refused = HttpEndpoint::new(url, AddressPolicy::Open, time);
        assert!(matches!(refused, Err(AddressError::Closed { .. })), "{url}: {refused:?}");
    }
    for url in ["http://example.org/", "ftp://example.org/", "file:///etc/passwd", "gopher://x/"] {
        let refused = HttpEndpoint::new(url, AddressPolicy::Open, time);
        assert!(matches!(refused, Err(AddressError::Plain { .. })), "{url}: {refused:?}");
    }
    for url in ["https://a:b@example.org/", "https://a@example.org/"] {
        let refused = HttpEndpoint::new(url, AddressPolicy::Open, time);
        assert!(matches!(refused, Err(AddressError::Credentials { .. })), "{url}");
    }
    for url in ["", "example.org", "https://", "https://[::1", "https://1.2.3.4.5/"] {
        let refused = HttpEndpoint::new(url, AddressPolicy::Open, time);
        assert!(matches!(refused, Err(AddressError::NotAnAddress { .. })), "{url}: {refused:?}");
    }
    // The development setting allows only this machine.
    let elsewhere = HttpEndpoint::new("http://8.8.8.8/", AddressPolicy::Loopback, time);
    assert!(matches!(elsewhere, Err(AddressError::Closed { .. })), "{elsewhere:?}");
}

#[tokio::test]
async fn executor_that_only_previews_cannot_apply() {
    assert!(PlanExecutor.applies().is_none());
    let settings = PoolSettings::new("postgres://127.0.0.1:1/none");
    let pool = Pool::new(&settings, PoolClass::Api).unwrap();
    assert!(SqlPreview::new(BTreeMap::new(), pool).applies().is_none());
}

/// A rollback gets its stash exactly as it was returned.
#[tokio::test]
async fn executor_stash_is_returned_unchanged() {
    for subject in subjects().await {
        let (leash, _abort, _lines) = leash(SOON);
        let work = subject.work(&json!({ "value": "two" }), 3);
        let stash = Stash(json!({ "kept": "long ago" }));
        subject.applies().roll_back(&work, &stash, &leash).await;
        assert_eq!(subject.value(), "long ago", "{}", subject.name());
    }
}
