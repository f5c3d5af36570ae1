//! A token in the keyring of a desktop: a real session bus and a real keyring, of the test alone.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use ade_testkit::eventually;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::installation::{Installation, SOON, ended};

const CONFIG: &str = ".config/ade/config.toml";

/// A bus that starts nothing by itself: one that may, gives whoever asks too early a second
/// keyring, which nobody has unlocked.
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

/// Ends with the test.
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
            .expect("dbus-daemon is a Debian package of its name");
        let mut lines = BufReader::new(bus.stdout.take().unwrap()).lines();
        let address = lines.next_line().await.unwrap().expect("a bus has an address");
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
            .expect("gnome-keyring-daemon is of the Debian package gnome-keyring");
        let mut stdin = keyring.stdin.take().unwrap();
        stdin.write_all(b"of the test").await.unwrap();
        drop(stdin);
        let this = Self { bus: address, _processes: [bus, keyring] };
        // It answers questions some time before it takes anything.
        eventually("the keyring takes a secret", SOON, async || {
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

    /// Its own tool, with nothing to read.
    async fn tool(&self, args: &[&str]) -> std::process::Output {
        let mut tool = Command::new("secret-tool");
        tool.args(args).env("DBUS_SESSION_BUS_ADDRESS", &self.bus).stdin(Stdio::null());
        tool.output().await.unwrap()
    }

    /// What it has for the profile.
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
async fn a_token_lies_in_the_keyring_and_in_no_file() {
    let at = Installation::start().await;
    let desktop = Desktop::start(at.home()).await;
    let config = || fs::read_to_string(at.home().join(CONFIG)).unwrap();
    let login = ["login", "--keyring", "--server", &at.url, "--token", &at.agent];
    ended(desktop.ade(&at, &login)).await.with(0).prints("kept in  the keyring");
    assert_eq!(desktop.holds().await, at.agent.as_bytes());
    assert!(!config().contains(&at.agent), "{}", config());

    ended(desktop.ade(&at, &["tasks", "list"])).await.with(0).prints("No tasks yet.");
    ended(desktop.ade(&at, &["config", "get"])).await.with(0).prints("in the keyring");
    // Whoever comes without a desktop is told, and can still sign in.
    let told = ended(at.bare(&["tasks", "list"])).await.with(1);
    told.says("the keyring does not open").says("next     ade login");
    let again = ["login", "--server", &at.url, "--token", &at.reviewer];
    let told = ended(at.bare(&again)).await.with(0);
    told.prints(CONFIG).says("! the keyring still has the token that was kept");
    ended(at.bare(&["whoami", "--jq", ".name"])).await.with(0).prints("Rea");
    ended(desktop.ade(&at, &login)).await.with(0).prints("kept in  the keyring");

    ended(desktop.ade(&at, &["logout"])).await.with(0);
    assert_eq!(desktop.holds().await, b"");
    ended(desktop.ade(&at, &["tasks", "list"])).await.with(77).says("you are not signed in");
}

#[tokio::test]
async fn a_file_has_it_where_no_keyring_is_and_people_are_told() {
    let at = Installation::start().await;
    let login = ["login", "--keyring", "--server", &at.url, "--token", &at.agent];
    let told = ended(at.bare(&login)).await.with(0);
    told.says("! The keyring would not have it, the file has it now").prints(CONFIG);
    let config = fs::read_to_string(at.home().join(CONFIG)).unwrap();
    assert!(config.contains(&at.agent), "{config}");
    ended(at.bare(&["tasks", "list"])).await.with(0);
}

/// Something that is called like the tool and waits for a person.
#[tokio::test]
async fn a_keyring_that_asks_its_owner_is_not_waited_for_without_end() {
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
