//! A process handle must never signal another process or take a zombie for a live one.

use super::*;

fn sleeper() -> Process {
    // The process ends on its own if the test fails, and holds no pipe of the test open.
    let mut command = Command::new("sleep");
    command.arg("30").stdout(Stdio::null()).stderr(Stdio::null());
    Process::spawn(&mut command).unwrap()
}

#[test]
fn process_stat_is_read_past_parentheses_in_the_name() {
    let text = "7 (a) b) (c) S 3 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 9 9";
    let stat = Stat::parse(text).unwrap();
    assert_eq!((stat.state, stat.parent, stat.born), ('S', 3, 4242));
    assert!(Stat::parse("").is_none());
    assert!(Stat::parse("7 (x) S 3").is_none());
}

#[test]
fn process_lives_until_it_is_stopped() {
    let process = sleeper();
    assert!(process.is_alive());
    assert_eq!(Process::of(process.pid()), Some(process));
    assert_eq!(process.parent(), Some(Process::current().unwrap()));
    assert!(process.stop(Stop::Kill, Duration::from_secs(5)));
    assert!(!process.is_alive());
    assert_eq!(Process::of(process.pid()), None, "reaped");
    assert!(process.stop(Stop::Kill, Duration::ZERO), "stopping it again succeeds");
}

#[test]
fn process_with_a_reused_pid_is_left_alone() {
    let process = sleeper();
    let mistaken = Process::new(process.pid(), process.born() + 1);
    assert!(!mistaken.is_alive());
    assert!(!mistaken.is_paused());
    assert!(!mistaken.signal(Signal::KILL));
    assert!(mistaken.stop(Stop::Kill, Duration::ZERO), "the intended process is gone");
    assert!(process.is_alive());
    assert!(process.stop(Stop::Kill, Duration::from_secs(5)));
}

#[test]
fn process_that_ended_unreaped_is_not_alive() {
    let process = sleeper();
    assert!(process.signal(Signal::KILL));
    let descriptor = pidfd_open(Pid::from_raw(process.pid()).unwrap(), PidfdFlags::empty());
    assert!(has_ended_within(&descriptor.unwrap(), Duration::from_secs(5)));
    assert!(Stat::read(process.pid()).unwrap().has_ended());
    assert!(!process.is_alive());
    process.reap();
}

#[test]
fn process_that_ignores_sigterm_is_killed_after_the_grace() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' QUIT INT; echo ready; exec sleep 30"]);
    let mut child =
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut ready = [0; 6];
    io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let process = Process::of(i32::try_from(child.id()).unwrap()).unwrap();
    let began = Instant::now();
    assert!(process.stop(Stop::Quit, Duration::from_millis(150)));
    assert!(began.elapsed() >= Duration::from_millis(150));
    assert!(!process.is_alive());
    assert!(child.wait().is_err(), "already reaped");
}

#[test]
fn process_that_is_paused_can_still_be_stopped() {
    let process = sleeper();
    assert!(!process.is_paused());
    assert!(process.pause());
    assert!(process.is_paused());
    assert!(process.is_alive());
    assert!(process.resume());
    assert!((0..1_000_000).any(|_| !process.is_paused()));
    assert!(process.pause());
    assert!(process.stop(Stop::Interrupt, Duration::from_secs(5)));
    assert!(!process.is_alive());
    assert!(!process.pause(), "there is nothing to pause");
}

#[test]
fn process_spawn_names_a_missing_program() {
    let failure = Process::spawn(&mut Command::new("no-such-program")).unwrap_err();
    assert!(failure.to_string().contains("start no-such-program"), "{failure}");
}

#[test]
fn stop_signals_round_trip_by_name() {
    for stop in Stop::ALL {
        assert_eq!(Stop::named(stop.name()), Some(stop));
    }
    assert_eq!(Stop::named("HUP"), None);
}
