//! Power losses: what was not synchronised is gone.
//!
//! A command is killed before one of its calls, and the log of its calls says what a disk may have by then: the bytes that
//! a file had when it was last synchronised, and the names that a folder had when it was.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::jobs::Job;
use crate::kills::Random;
use crate::layer::{Fault, Watched, library};
use crate::support::{Checkout, CommandOutput};

/// What becomes of names that were given or taken since their folder was synchronised.
#[derive(Debug, Clone, Copy)]
enum Names {
    /// They are undone.
    Lost,
    /// They stay, as on most file systems, whose names reach the disk before the bytes do.
    Kept,
    /// Each folder loses its own or keeps them, by chance.
    Mixed,
}

/// A file or folder.
#[derive(Debug, Clone)]
enum Node {
    /// The bytes on the disk are those of this file, `None` where it has none; `changed` if there were others since.
    File { durable: Option<PathBuf>, changed: bool },
    /// Names now, and those on the disk.
    Folder { now: Entries, durable: Entries },
}

type Entries = BTreeMap<String, usize>;

/// A folder and all in it, as it is and as it is on the disk.
struct Disk {
    root: PathBuf,
    /// The first is the root.
    nodes: Vec<Node>,
    handles: HashMap<String, usize>,
}

impl Disk {
    /// The disk with everything in `template` synchronised; paths of the log are below `root`.
    fn new(template: &Path, root: &Path) -> Self {
        let mut disk = Self {
            root: root.to_path_buf(),
            nodes: Vec::new(),
            handles: HashMap::new(),
        };
        disk.add(template);
        disk
    }

    fn add(&mut self, path: &Path) -> usize {
        let at = self.nodes.len();
        if !path.is_dir() {
            let durable = Some(path.to_path_buf());
            self.nodes.push(Node::File { durable, changed: false });
            return at;
        }
        self.nodes.push(folder(Entries::new()));
        let mut entries = Entries::new();
        for entry in fs::read_dir(path).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.insert(name, self.add(&entry.path()));
        }
        self.nodes[at] = folder(entries);
        at
    }

    /// The names in the folder of a path, and the path's own name.
    fn entries(&mut self, path: &str) -> (&mut Entries, String) {
        let path = Path::new(path).strip_prefix(&self.root).expect("a path below");
        let name = path.file_name().expect("a name").to_string_lossy();
        let mut at = 0;
        for part in path.parent().into_iter().flat_map(Path::components) {
            let Node::Folder { now, .. } = &self.nodes[at] else {
                panic!("{}: not a folder", path.display());
            };
            at = now[&*part.as_os_str().to_string_lossy()];
        }
        match &mut self.nodes[at] {
            Node::Folder { now, .. } => (now, name.into_owned()),
            Node::File { .. } => panic!("{}: not in a folder", path.display()),
        }
    }

    /// Carries a call of the log out.
    fn call(&mut self, line: &[String], shadow: &Path) {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        match words[..] {
            ["open", _, handle, how, path] => {
                let next = self.nodes.len();
                let at = if Path::new(path) == self.root {
                    0
                } else {
                    let (entries, name) = self.entries(path);
                    *entries.entry(name).or_insert(next)
                };
                if at == next {
                    self.nodes.push(Node::File { durable: None, changed: true });
                }
                if let (Node::File { changed, .. }, "new") = (&mut self.nodes[at], how) {
                    *changed = true;
                }
                self.handles.insert(handle.to_string(), at);
            }
            ["write", _, handle] => {
                if let Node::File { changed, .. } = &mut self.nodes[self.handles[handle]] {
                    *changed = true;
                }
            }
            ["sync", number, handle] => match &mut self.nodes[self.handles[handle]] {
                Node::File { durable, changed } => {
                    (*durable, *changed) = (Some(shadow.join(number)), false);
                }
                Node::Folder { now, durable } => durable.clone_from(now),
            },
            ["mkdir", _, path] => {
                let next = self.nodes.len();
                let (entries, name) = self.entries(path);
                entries.insert(name, next);
                self.nodes.push(folder(Entries::new()));
            }
            ["unlink", _, path] => {
                let (entries, name) = self.entries(path);
                entries.remove(&name);
            }
            ["rename", _, from, to] | ["link", _, from, to] => {
                let (entries, name) = self.entries(from);
                let at = if words[0] == "rename" {
                    entries.remove(&name)
                } else {
                    entries.get(&name).copied()
                };
                let (entries, name) = self.entries(to);
                entries.insert(name, at.expect("a file of this name"));
            }
            _ => panic!("{line:?}: no call"),
        }
    }

    /// Writes what is left after a power loss.
    fn write(&self, at: usize, to: &Path, names: Names, random: &mut Random) {
        match &self.nodes[at] {
            Node::File { durable, changed } => {
                let bytes = durable.as_ref().map(|path| fs::read(path).expect("a copy"));
                let mut bytes = bytes.unwrap_or_default();
                if *changed {
                    // Of what was written last, nothing has reached the disk, or the file was cut before.
                    bytes.truncate(random.below(bytes.len() + 1));
                }
                fs::write(to, bytes).expect("a file");
            }
            Node::Folder { now, durable } => {
                let is_kept = match names {
                    Names::Lost => false,
                    Names::Kept => true,
                    Names::Mixed => random.below(2) == 0,
                };
                fs::create_dir_all(to).expect("a folder");
                for (name, at) in if is_kept { now } else { durable } {
                    self.write(*at, &to.join(name), names, random);
                }
            }
        }
    }
}

fn folder(entries: Entries) -> Node {
    Node::Folder { durable: entries.clone(), now: entries }
}

/// Loses power before call number `at` of a job, or after its end; what is left.
fn lose_power(job: Job, template: &Checkout, at: Option<usize>, names: Names, random: &mut Random) -> (Checkout, usize) {
    let disturbed = template.again();
    let below = disturbed.path("").canonicalize().expect("a checkout");
    let mut command = job.command(&disturbed);
    let mut watched = Watched::new(&mut command, &below).with_shadow(&mut command);
    if let Some(at) = at {
        watched = watched.disturb(&mut command, at, Fault::Kill);
    }
    let said = CommandOutput::from(command.output().expect("starts"));
    assert_eq!(said.code, at.map_or(Some(0), |_| None), "{job:?}: {}", said.err);
    let mut disk = Disk::new(&template.path("").canonicalize().expect("it"), &below);
    for line in watched.log() {
        disk.call(&line, &watched.shadow());
    }
    let left = Checkout::empty();
    disk.write(0, &left.path(""), names, random);
    (left, watched.calls())
}

/// Loses power at about `most` moments of each job, and completes and compares it.
fn lose_power_often(jobs: &[Job], most: usize) {
    if library().is_none() {
        return;
    }
    let mut random = Random::new();
    for &job in jobs {
        let template = job.prepare();
        let undisturbed = template.again();
        job.complete(&undisturbed);
        let expected = job.left(&undisturbed);
        let (ended, calls) = lose_power(job, &template, None, Names::Lost, &mut random);
        // What the command said is done is on the disk.
        if matches!(job, Job::Sweep | Job::Search) {
            assert_eq!(ended.count("done"), ended.ids().len(), "{job:?}: results are lost");
        }
        assert!(job.left(&ended) == expected, "{job:?}: lost after its end");
        let step = calls.div_ceil(most);
        let mut tried = 1;
        for at in (1 + random.below(step)..=calls).step_by(step) {
            let names = [Names::Lost, Names::Kept, Names::Mixed][at / step % 3];
            let (left, _) = lose_power(job, &template, Some(at), names, &mut random);
            job.complete(&left);
            assert!(
                job.left(&left) == expected,
                "{job:?}: other results after a power loss before call {at} of {calls}, {names:?}"
            );
            tried += 1;
        }
        println!("{job:?}: {tried} power losses at {calls} calls");
    }
}

const JOBS: [Job; 6] = [
    Job::Sweep,
    Job::Search,
    Job::Collect,
    Job::Restore,
    Job::Train,
    Job::Pretrain,
];

#[test]
fn a_power_loss_takes_nothing_that_was_said_to_be_done() {
    lose_power_often(&JOBS, 2);
}

#[test]
#[ignore = "half an hour; `./justw test-faults`"]
fn a_power_loss_before_every_call() {
    lose_power_often(&JOBS, usize::MAX);
}
