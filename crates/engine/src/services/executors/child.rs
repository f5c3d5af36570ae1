//! Runs one program in its own process group, without the server's environment, and with limits on
//! time, memory and output. However the run ends, even if it is dropped midway, no process of the
//! program is left running. Linux only.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use ade_api::executions::Stream;
use ade_core::limits::{
    EXECUTION_LINE_MAX_BYTES, EXECUTOR_ANSWER_MAX_BYTES, EXECUTOR_DRAIN, EXECUTOR_GRACE,
    EXECUTOR_KILL_WAIT,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, pidfd_send_signal,
    prlimit,
};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};
use uuid::Uuid;

use super::job::{Leash, OutputLine};

/// The maximum number of searches for leftover processes; each kills all that it finds.
const EXECUTOR_SWEEPS_MAX: usize = 50;

/// The environment variable that marks every process of one run, even outside its group.
const MARK: &str = "ADE_RUN";
const CHUNK: usize = 8 * 1024;

/// A program that the settings allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The absolute path, so that no search path decides which program runs.
    pub path: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    /// The names of the variables that the program inherits from the server's environment.
    pub environment: Vec<String>,
    pub limits: ProgramLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramLimits {
    pub time: Duration,
    pub log_bytes: usize,
    /// The limit on address space, for the program and for each of its children.
    pub memory_bytes: u64,
    pub cpu: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    Deadline,
    Aborted,
    /// The program's output exceeded the limit.
    Flooded,
}

#[derive(Debug)]
pub struct ProgramResult {
    pub ending: Ending,
    pub answer: Vec<u8>,
    /// The last line of the program's log.
    pub last_line: Option<String>,
}

/// The processes of one run. Dropping it ends all of them.
struct Group {
    leader: Pid,
    mark: String,
    is_over: bool,
}

impl Group {
    /// Sends a signal to the group. Until the leader has been reaped, its process id cannot be
    /// reused.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }

    async fn end(&mut self) {
        self.signal(Signal::KILL);
        let mark = self.mark.clone();
        let _ = tokio::task::spawn_blocking(move || sweep(&mark)).await;
        self.is_over = true;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
            let mark = self.mark.clone();
            std::thread::spawn(move || sweep(&mark));
        }
    }
}

/// Kills every process that carries the mark, even outside the group. The settings must not allow
/// programs that deliberately hide their children.
fn sweep(mark: &str) {
    for _ in 0..EXECUTOR_SWEEPS_MAX {
        let mut has_found = false;
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        for pid in pids.filter(|pid| is_marked(*pid, mark)) {
            has_found = true;
            let descriptor = Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
            // The process is checked again now that its id cannot be reused.
            if let Some(Ok(descriptor)) = descriptor
                && is_marked(pid, mark)
            {
                let _ = pidfd_send_signal(&descriptor, Signal::KILL);
                await_end(&descriptor);
            }
        }
        if !has_found {
            return;
        }
    }
    tracing::error!(mark, "failed to kill leftover child processes");
}

fn await_end(descriptor: &OwnedFd) {
    let limit = Timespec::try_from(EXECUTOR_KILL_WAIT).ok();
    let _ = poll(&mut [PollFd::new(descriptor, PollFlags::IN)], limit.as_ref());
}

fn is_marked(pid: i32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

/// Runs the program. Returns an error only if it was not started or never got its input.
pub async fn run(program: &Program, input: &[u8], leash: &Leash) -> io::Result<ProgramResult> {
    let mark = Uuid::new_v4().to_string();
    let mut child = spawn(program, &mark)?;
    let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let leader = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    let mut group = Group { leader, mark, is_over: false };
    let exit = watched(pidfd_open(leader, PidfdFlags::empty())?)?;
    limit(leader, &program.limits)?;
    let flood = Notify::new();
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut talk = std::pin::pin!(talk(pipes, input, program.limits.log_bytes, leash, &flood));
    let mut output = None;
    let deadline = leash.deadline.min(Instant::now() + program.limits.time);
    let early = loop {
        tokio::select! {
            done = &mut talk, if output.is_none() => output = Some(done),
            _ = exit.readable() => break None,
            () = sleep_until(deadline) => break Some(Ending::Deadline),
            () = leash.aborted() => break Some(Ending::Aborted),
            () = flood.notified() => break Some(Ending::Flooded),
        }
    };
    if early.is_some() {
        group.signal(Signal::TERM);
        let ends = async {
            loop {
                tokio::select! {
                    done = &mut talk, if output.is_none() => output = Some(done),
                    _ = exit.readable() => return,
                }
            }
        };
        let _ = timeout(EXECUTOR_GRACE, ends).await;
    }
    group.end().await;
    let ending = ending(&mut child, &exit).await?;
    let output = match output {
        Some(output) => Some(output),
        None => timeout(EXECUTOR_DRAIN, &mut talk).await.ok(),
    };
    let (answer, last_line) = output.unwrap_or_default();
    // A program may have exited because its output was no longer read, before the loop above
    // noticed the flood.
    let has_flooded = tokio::select! {
        biased;
        () = flood.notified() => true,
        () = std::future::ready(()) => false,
    };
    let early = early.or(has_flooded.then_some(Ending::Flooded));
    Ok(ProgramResult { ending: early.unwrap_or(ending), answer, last_line })
}

#[expect(
    deprecated,
    reason = "its successor is unsafe code; the descriptor is owned and stays open as long"
)]
fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}

fn spawn(program: &Program, mark: &str) -> io::Result<Child> {
    let known = program.environment.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((name.clone(), value))
    });
    Command::new(&program.path)
        .args(&program.arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(known)
        .env(MARK, mark)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Sets the limits of the program before it gets its input. Its children inherit them.
fn limit(leader: Pid, limits: &ProgramLimits) -> io::Result<()> {
    for (resource, most) in
        [(Resource::As, limits.memory_bytes), (Resource::Cpu, limits.cpu.as_secs())]
    {
        let most = Rlimit { current: Some(most), maximum: Some(most) };
        match prlimit(Some(leader), resource, most) {
            // The program has ended already.
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn ending(child: &mut Child, exit: &AsyncFd<OwnedFd>) -> io::Result<Ending> {
    use std::os::unix::process::ExitStatusExt as _;
    let _ = exit.readable().await?;
    let status = child.wait().await?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    })
}

type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// Exchanges input and output with the program. Returns its response and the last line of its log.
async fn talk(
    (stdin, stdout, stderr): Pipes,
    input: &[u8],
    log_bytes: usize,
    leash: &Leash,
    flood: &Notify,
) -> (Vec<u8>, Option<String>) {
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input may still respond.
            let _ = stdin.write_all(input).await;
        }
    };
    let ((), answer, last_line) =
        tokio::join!(feed, answer(stdout, flood), log(stderr, log_bytes, leash));
    (answer, last_line)
}

async fn answer(stdout: Option<ChildStdout>, flood: &Notify) -> Vec<u8> {
    let mut answer = Vec::new();
    let Some(mut stdout) = stdout else { return answer };
    while let Some(chunk) = chunk(&mut stdout).await {
        if answer.len() + chunk.len() > EXECUTOR_ANSWER_MAX_BYTES {
            flood.notify_one();
            return Vec::new();
        }
        answer.extend_from_slice(&chunk);
    }
    answer
}

async fn chunk(pipe: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut chunk = Vec::with_capacity(CHUNK);
    match pipe.read_buf(&mut chunk).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(chunk),
    }
}

/// Forwards log lines up to a limit; the rest is read and dropped, so that the program does not
/// block.
async fn log(stderr: Option<ChildStderr>, log_bytes: usize, leash: &Leash) -> Option<String> {
    let mut stderr = stderr?;
    let mut log = Log { room: log_bytes, dropped: 0, last: None };
    let mut line: Vec<u8> = Vec::new();
    while let Some(chunk) = chunk(&mut stderr).await {
        for byte in chunk {
            let is_end = byte == b'\n';
            if !is_end {
                line.push(byte);
            }
            if is_end || line.len() >= EXECUTION_LINE_MAX_BYTES {
                log.add(std::mem::take(&mut line), leash).await;
            }
        }
    }
    if !line.is_empty() {
        log.add(line, leash).await;
    }
    if log.dropped > 0 {
        let text = format!("the log is full: {} more bytes were dropped", log.dropped);
        let _ = leash.lines.send(OutputLine { stream: Stream::Note, text }).await;
    }
    log.last
}

struct Log {
    room: usize,
    dropped: usize,
    last: Option<String>,
}

impl Log {
    async fn add(&mut self, line: Vec<u8>, leash: &Leash) {
        if line.len() > self.room {
            self.dropped += line.len();
            self.room = 0;
            return;
        }
        self.room -= line.len();
        let text = String::from_utf8_lossy(&line).into_owned();
        self.last = Some(text.clone());
        let _ = leash.lines.send(OutputLine { stream: Stream::Stderr, text }).await;
    }
}
