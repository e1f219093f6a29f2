//! A folder as a power loss leaves it: computed from the log of a command's calls.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::kills::Random;

/// Fate of names that were given or taken since their folder was synchronised.
#[derive(Debug, Clone, Copy)]
pub enum Names {
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
    File {
        durable: Option<PathBuf>,
        changed: bool,
    },
    /// Names now, and those on the disk.
    Folder { now: Entries, durable: Entries },
}

type Entries = BTreeMap<String, usize>;

/// A folder and all in it, as it is and as it is on the disk.
pub struct Disk {
    root: PathBuf,
    /// The first is the root.
    nodes: Vec<Node>,
    handles: HashMap<String, usize>,
}

impl Disk {
    /// The disk with everything in `template` synchronised; paths of the log are below `root`.
    pub fn new(template: &Path, root: &Path) -> Self {
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
            self.nodes.push(Node::File {
                durable,
                changed: false,
            });
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
        let path = Path::new(path)
            .strip_prefix(&self.root)
            .expect("a path below");
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
    pub fn call(&mut self, line: &[String], shadow: &Path) {
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
                    self.nodes.push(Node::File {
                        durable: None,
                        changed: true,
                    });
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
    pub fn write(&self, at: usize, to: &Path, names: Names, random: &mut Random) {
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
    Node::Folder {
        durable: entries.clone(),
        now: entries,
    }
}
