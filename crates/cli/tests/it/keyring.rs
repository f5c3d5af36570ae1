//! Tokens in the desktop keyring, with a real session bus and a real keyring for each test.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use ade_testkit::eventually;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::installation::{Installation, SOON, ended};

const CONFIG: &str = ".config/ade/config.toml";

/// The configuration of a bus without service activation, because activation could start a second,
/// locked keyring.
const BUS: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// A desktop session that ends with the test.
struct Desktop {
    bus: String,
    _processes: [Child; 2],
}

impl Desktop {
    async fn start(home: &Path) -> Self {
        let config = home.join("bus.conf");
        fs::write(&config, BUS).unwrap();
        let mut bus = Command::new("dbus-daemon")
            .args(["--print-address", "--nofork", "--nopidfile", "--config-file"])
            .arg(&config)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("dbus-daemon is missing: install dbus");
        let mut lines = BufReader::new(bus.stdout.take().unwrap()).lines();
        let address = lines.next_line().await.unwrap().expect("the bus prints its address");
        let mut keyring = Command::new("gnome-keyring-daemon")
            .args(["--unlock", "--components=secrets", "--foreground"])
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home)
            .env("DBUS_SESSION_BUS_ADDRESS", &address)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("gnome-keyring-daemon is missing: install gnome-keyring");
        let mut stdin = keyring.stdin.take().unwrap();
        stdin.write_all(b"of the test").await.unwrap();
        drop(stdin);
        let this = Self { bus: address, _processes: [bus, keyring] };
        // The keyring answers lookups before it can store secrets.
        eventually("the keyring stores a secret", SOON, async || {
            let kept = this.tool(&["store", "--label=first", "service", "first"]).await;
            if kept.status.success() {
                Ok(())
            } else {
                Err(String::from_utf8(kept.stderr).unwrap())
            }
        })
        .await;
        this
    }

    /// Runs `secret-tool` without input.
    async fn tool(&self, args: &[&str]) -> std::process::Output {
        let mut tool = Command::new("secret-tool");
        tool.args(args).env("DBUS_SESSION_BUS_ADDRESS", &self.bus).stdin(Stdio::null());
        tool.output().await.unwrap()
    }

    /// Returns the stored secret of the default profile.
    async fn holds(&self) -> Vec<u8> {
        self.tool(&["lookup", "service", "ade", "profile", "default"]).await.stdout
    }

    fn ade(&self, at: &Installation, args: &[&str]) -> Command {
        let mut command = at.bare(args);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.bus);
        command
    }
}

#[tokio::test]
async fn keyring_token_is_not_written_to_a_file() {
    let at = Installation::start().await;
    let desktop = Desktop::start(at.home()).await;
    let config = || fs::read_to_string(at.home().join(CONFIG)).unwrap();
    let login = ["login", "--keyring", "--server", &at.url, "--token", &at.agent];
    ended(desktop.ade(&at, &login)).await.with(0).prints("stored in the keyring");
    assert_eq!(desktop.holds().await, at.agent.as_bytes());
    assert!(!config().contains(&at.agent), "{}", config());

    ended(desktop.ade(&at, &["tasks", "list"])).await.with(0).prints("No tasks yet.");
    ended(desktop.ade(&at, &["config", "get"])).await.with(0).prints("in the keyring");
    // Without a desktop session the keyring fails, but a login still works.
    let output = ended(at.bare(&["tasks", "list"])).await.with(1);
    output.says("cannot open the keyring").says("next     ade login");
    let reader = at.reader().await;
    let again = ["login", "--server", &at.url, "--token", &reader];
    let output = ended(at.bare(&again)).await.with(0);
    output.prints(CONFIG).says("! could not remove the old token from the keyring");
    ended(at.bare(&["whoami", "--jq", ".name"])).await.with(0).prints("Rea");
    ended(desktop.ade(&at, &login)).await.with(0).prints("stored in the keyring");

    ended(desktop.ade(&at, &["logout"])).await.with(0);
    assert_eq!(desktop.holds().await, b"");
    ended(desktop.ade(&at, &["tasks", "list"])).await.with(77).says("you are not logged in");
}

#[tokio::test]
async fn keyring_missing_falls_back_to_the_file_with_a_warning() {
    let at = Installation::start().await;
    let login = ["login", "--keyring", "--server", &at.url, "--token", &at.agent];
    let output = ended(at.bare(&login)).await.with(0);
    output.says("! Could not use the keyring, so the token is stored in the file").prints(CONFIG);
    let config = fs::read_to_string(at.home().join(CONFIG)).unwrap();
    assert!(config.contains(&at.agent), "{config}");
    ended(at.bare(&["tasks", "list"])).await.with(0);
}

/// A stand-in for `secret-tool` that hangs as if it waited for a prompt.
#[tokio::test]
async fn keyring_that_prompts_is_abandoned_after_a_timeout() {
    use std::os::unix::fs::PermissionsExt as _;
    let at = Installation::start().await;
    let tools = at.home().join("tools");
    fs::create_dir(&tools).unwrap();
    let tool = tools.join("secret-tool");
    fs::write(&tool, "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.display(), env!("PATH"));
    let login = ["login", "--keyring", "--server", &at.url, "--token", &at.agent];
    let mut command = at.bare(&login);
    command.env("PATH", path);
    ended(command).await.with(0).says("it may be locked").prints(CONFIG);
}

/// Programs of the same account can read a file, but they must not be able to vote.
#[tokio::test]
async fn keyring_is_the_only_place_for_a_deciding_token() {
    let at = Installation::start().await;
    let desktop = Desktop::start(at.home()).await;
    let config = || fs::read_to_string(at.home().join(CONFIG)).unwrap_or_default();
    let login = ["login", "--server", &at.url, "--token", &at.reviewer];
    let refused = ended(at.bare(&login)).await.with(1);
    refused.says("the token was not stored").says("in a keyring only").says("next     ade login");
    assert!(!config().contains(&at.reviewer), "{}", config());
    ended(at.bare(&["whoami"])).await.with(77);
    // The option is not needed: the scopes of the token decide.
    ended(desktop.ade(&at, &login)).await.with(0).prints("stored in the keyring");
    assert_eq!(desktop.holds().await, at.reviewer.as_bytes());
    assert!(!config().contains(&at.reviewer), "{}", config());
    ended(desktop.ade(&at, &["whoami", "--jq", ".name"])).await.with(0).prints("Rea");
}
