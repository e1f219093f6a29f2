//! The library of faults, `fault.c`: compiled once, and set up for a command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// Fault of a call that changes files.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It fails, and no other.
    Once(Errno),
    /// It fails, and all later ones.
    From(Errno),
    /// A write takes half of its bytes; then all fail.
    Short(Errno),
    /// It is carried out and reported as failed.
    After(Errno),
    /// The process is killed before it.
    Kill,
}

/// Number of an error on Linux, with the words of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errno {
    InputOutput = 5,
    StorageFull = 28,
    ReadOnly = 30,
    Quota = 122,
}

impl Errno {
    /// Words in the message of the error and in the advice that follows it.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Self::InputOutput => ["Input/output error", "check the disk"],
            Self::StorageFull => ["No space left on device", "free some space"],
            Self::ReadOnly => ["Read-only file system", "make the file system writable"],
            Self::Quota => ["Disk quota exceeded", "ask for a larger quota"],
        }
    }
}

impl Fault {
    fn variables(self) -> (&'static str, i32) {
        match self {
            Self::Once(errno) => ("once", errno as i32),
            Self::From(errno) => ("from", errno as i32),
            Self::Short(errno) => ("short", errno as i32),
            Self::After(errno) => ("after", errno as i32),
            Self::Kill => ("kill", 0),
        }
    }

    /// The error that a command may report; none where it is killed.
    pub fn errno(self) -> Option<Errno> {
        match self {
            Self::Once(errno) | Self::From(errno) | Self::Short(errno) | Self::After(errno) => {
                Some(errno)
            }
            Self::Kill => None,
        }
    }
}

/// The compiled library; `None`, with the reason printed, on another system than Linux.
///
/// # Panics
/// Where there is no `cc`: these tests would pass without having run.
pub fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = LIBRARY.get_or_init(|| {
        if !cfg!(target_os = "linux") {
            println!("skipped: the library of faults is for Linux");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let library = folder.path().join("fault.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/faults/fault.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]);
        let said = cc.arg(&library).arg(source).output();
        let said = said.expect("expected `cc`, which building totune needs too");
        let errors = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success(), "fault.c: {errors}");
        Some((folder, library))
    });
    built.as_ref().map(|(_, library)| library.as_path())
}

/// A command under the library: its calls below a folder are counted and written to a log.
pub struct Watched {
    folder: TempDir,
}

impl Watched {
    /// Sets a command up, of whose calls below `below` nothing becomes of any.
    pub fn new(command: &mut Command, below: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        command
            .env("LD_PRELOAD", library().expect("a compiled library"))
            .env("FAULT_PROGRAM", "totune")
            .env("FAULT_BELOW", below)
            .env("FAULT_LOG", log);
        Self { folder }
    }

    /// Makes something happen at call number `at`, counted from 1.
    pub fn disturb(self, command: &mut Command, at: usize, fault: Fault) -> Self {
        let (how, errno) = fault.variables();
        command
            .env("FAULT_AT", at.to_string())
            .env("FAULT_HOW", how)
            .env("FAULT_ERRNO", errno.to_string());
        self
    }

    /// Has each synchronised file copied, so that [`Watched::shadow`] has them.
    pub fn with_shadow(self, command: &mut Command) -> Self {
        fs::create_dir(self.shadow()).expect("a folder");
        command.env("FAULT_SHADOW", self.shadow());
        self
    }

    /// The folder of synchronised files, by number of the call.
    pub fn shadow(&self) -> PathBuf {
        self.folder.path().join("shadow")
    }

    /// Lines of the log: a call, its number, and what it is about.
    pub fn log(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let words = |line: &str| line.split('\t').map(String::from).collect();
        text.lines().map(words).collect()
    }

    /// Number of calls that were counted.
    pub fn calls(&self) -> usize {
        let log = self.log();
        let numbers = log.iter().map(|line| line[1].parse().expect("a number"));
        numbers.max().unwrap_or(0)
    }
}
