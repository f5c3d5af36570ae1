//! The repository as a map from path to text, so that rules and generators are functions of it and
//! their tests need no disk. Build output and data of other programs are excluded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Directories that never contain sources of this repository.
const FOREIGN: &[&str] = &[".git", ".stack", "node_modules", "target"];

#[derive(Debug, Default)]
pub struct Tree {
    texts: BTreeMap<String, String>,
    /// Every path, text or not, because a link may point to it.
    names: BTreeSet<String>,
}

impl Tree {
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.descend(root, "")?;
        Ok(tree)
    }

    fn descend(&mut self, directory: &Path, prefix: &str) -> Result<()> {
        let context = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(directory).with_context(context)? {
            let entry = entry.with_context(context)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type().with_context(context)?;
            // In a worktree `.git` is a file.
            if FOREIGN.contains(&name.as_str()) || name.starts_with("mutants.out") {
                continue;
            }
            if kind.is_dir() {
                // Cargo marks its output directory with this file, whatever its name is.
                let is_output = entry.path().join("CACHEDIR.TAG").exists();
                if !is_output {
                    self.names.insert(path.clone());
                    self.descend(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() {
                let bytes =
                    fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
                if let Ok(text) = String::from_utf8(bytes) {
                    self.texts.insert(path.clone(), text);
                }
                self.names.insert(path);
            }
        }
        Ok(())
    }

    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub fn ending(&self, ending: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(move |(path, _)| path.ends_with(ending))
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub fn holds(&self, path: &str) -> bool {
        self.names.contains(path)
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.texts.insert((*path).to_owned(), (*text).to_owned());
            for (at, _) in path.match_indices('/') {
                tree.names.insert(path[..at].to_owned());
            }
            tree.names.insert((*path).to_owned());
        }
        tree
    }
}

/// Joins two paths: `a/b/../c` is `a/c`. Returns `None` when the result leaves the repository.
pub fn join(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the directory of a file; empty for the root.
pub fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_never_leave_the_repository() {
        assert_eq!(join("docs/adr", "../README.md").as_deref(), Some("docs/README.md"));
        assert_eq!(join("", "./a//b").as_deref(), Some("a/b"));
        assert_eq!(join("docs", "../../x"), None);
        assert_eq!((directory_of("a/b/c.rs"), directory_of("c.rs")), ("a/b", ""));
    }

    #[test]
    fn tree_of_the_repository_excludes_build_output() {
        let tree = Tree::read(&crate::shell::root().unwrap()).unwrap();
        assert!(tree.text("Cargo.toml").is_some());
        assert!(tree.holds("xtask/src") && tree.holds("xtask/src/tree.rs"));
        assert!(!tree.texts().any(|(path, _)| path.starts_with("target/")));
        assert!(!tree.holds(".git"));
        assert!(tree.ending("Cargo.toml").count() > 1);
    }
}
