//! Resolution of programs and of the interpreters of scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ade-program-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: &str, mode: u32) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.into_os_string().into_string().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(name: &str, path: &str) -> Result<Program, Failure> {
    Program::open(name, Some(OsStr::new(path)), &mut Budget::default())
}

fn paths(program: &Program) -> Vec<&str> {
    program.hashes.iter().map(|hash| hash.path.as_str()).collect()
}

#[test]
fn program_is_resolved_through_the_path() {
    let folder = Folder::new();
    let own = folder.write("sh", "#!/bin/sh\n", 0o755);
    let place = folder.0.to_str().unwrap();
    let first = open("sh", &format!("{place}:/usr/bin:/bin")).unwrap();
    assert_eq!(first.path(), own);
    assert_eq!(paths(&open("/bin/sh", "").unwrap()), ["/bin/sh"]);
    for (name, path, exit) in [
        ("no-such-command", "/usr/bin:/bin", Exit::NoSuchCommand),
        ("./sh", "/usr/bin:/bin", Exit::NoSuchCommand),
        ("", "/usr/bin:/bin", Exit::NoSuchCommand),
        ("sh", "", Exit::NoSuchCommand),
        ("/bin", "", Exit::CannotStart),
    ] {
        assert_eq!(open(name, path).unwrap_err().exit, exit, "{name}");
    }
}

#[test]
fn program_in_a_relative_directory_of_the_path_is_refused() {
    let here = open("Cargo.toml", "/usr/bin:.").unwrap_err();
    assert!(here.what().contains("the relative directory ."), "{}", here.what());
    assert!(open("sh", "/usr/bin:.").is_ok(), "found before it");
}

#[test]
fn program_that_cannot_be_bound_is_refused() {
    let folder = Folder::new();
    for (name, content, mode, says) in [
        ("closed", "#!/bin/sh\n", 0o644, "not executable"),
        ("plain", "echo hello\n", 0o755, "neither a binary nor a script"),
        ("empty", "", 0o755, "neither a binary nor a script"),
        ("relative", "#!sh\n", 0o755, "by an absolute path"),
        ("options", "#!/usr/bin/env -i sh\n", 0o755, "does not resolve"),
        ("assigned", "#!/usr/bin/env -S A=1 sh\n", 0o755, "does not resolve"),
    ] {
        let path = folder.write(name, content, mode);
        let failure = open(&path, "/usr/bin:/bin").unwrap_err();
        assert_eq!(failure.exit, Exit::CannotStart, "{name}");
        assert!(failure.what().contains(says), "{name}: {}", failure.what());
    }
    let long = format!("#!/bin/{}\n", "x".repeat(300));
    assert!(open(&folder.write("long", &long, 0o755), "").unwrap_err().what().contains("longer"));
}

#[test]
fn script_is_opened_with_each_of_its_interpreters() {
    let folder = Folder::new();
    let inner = folder.write("inner", "#! /bin/sh -e\n", 0o755);
    let outer = folder.write("outer", &format!("#!{inner} --one two\n"), 0o755);
    let program = open(&outer, "/usr/bin:/bin").unwrap();
    assert_eq!(paths(&program), [outer.as_str(), inner.as_str(), "/bin/sh"]);
    assert_eq!(program.name, "/bin/sh");
    let arguments: Vec<_> = program.scripts.iter().map(|one| one.arguments.clone()).collect();
    assert_eq!(arguments, [["--one two"], ["-e"]]);

    let found = folder.write("found", "#!/usr/bin/env -S sh -e -u\n", 0o755);
    let program = open(&found, "/usr/bin:/bin").unwrap();
    assert_eq!(paths(&program), [found.as_str(), "/usr/bin/sh"]);
    assert_eq!(program.scripts[0].arguments, ["-e", "-u"]);

    let own = folder.write("own", &format!("#!{}/own\n", folder.0.display()), 0o755);
    assert!(open(&own, "").unwrap_err().what().contains("interpreters"));
}

#[tokio::test]
async fn script_runs_from_its_copy_with_its_arguments() {
    let folder = Folder::new();
    let inner = folder.write("inner", "#!/bin/sh\ntail -n +2 \"$2\"; echo \"$1 $3\"\n", 0o755);
    let outer = folder.write("outer", &format!("#!{inner} own\nreviewed\n"), 0o755);
    let program = open(&outer, "/usr/bin:/bin").unwrap();
    for path in [&inner, &outer] {
        fs::write(path, "#!/bin/sh\necho changed\n").unwrap();
    }
    let ran = program.command(&["given".to_owned()]).unwrap().output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "reviewed\nown given\n", "{ran:?}");
}

#[tokio::test]
async fn binary_runs_from_its_descriptor_under_its_name() {
    let folder = Folder::new();
    let path = folder.0.join("cat");
    fs::copy("/bin/cat", &path).unwrap();
    let program = open(path.to_str().unwrap(), "").unwrap();
    fs::remove_file(&path).unwrap();
    let mut command = program.command(&["/proc/self/cmdline".to_owned()]).unwrap();
    let ran = command.output().await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).replace('\0', " ");
    assert_eq!(said, format!("{} /proc/self/cmdline ", path.display()));
}
