//! Commands without the start of a program: LibTorch registers its operators for 0.4 s before `main`, so one process does
//! that once and forks for each command.
//!
//! The server is this test program again, with a test of its own as its only one, so that it forks before any thread of
//! totune is there. What has to be a process of the binary is one: all that are spawned, and the commands of a checkout
//! [`in_processes`](super::Checkout::in_processes).

use std::process::{Command, Output};

/// Runs a command of the binary to its end; as [`Command::output`], but with standard input closed and both outputs taken.
pub fn output(command: &mut Command) -> Output {
    #[cfg(target_os = "linux")]
    if let Some(request) = linux::Request::of(command) {
        return linux::forked(request);
    }
    command.output().expect("the binary starts")
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::hash::RandomState;
    use std::io::{BufRead, BufReader, Read, Write, stdout};
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::os::unix::process::ExitStatusExt;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, ExitStatus, Output, Stdio};
    use std::sync::OnceLock;
    use std::{env, mem, thread};

    use crate::faults::layer;
    use serde::{Deserialize, Serialize};

    /// Variable with the path of the server's socket.
    const SOCKET: &str = "TEST_FORKS_SOCKET";

    /// A command as a line of JSON.
    #[derive(Serialize, Deserialize)]
    pub struct Request {
        /// Its words, the program's name first.
        words: Vec<String>,
        /// Changes of the environment; none to remove a variable.
        variables: Vec<(String, Option<String>)>,
        /// Its current folder.
        folder: Option<PathBuf>,
        /// Files for standard output and standard error.
        #[serde(default)]
        outputs: [PathBuf; 2],
    }

    impl Request {
        /// A command of the binary whose words are UTF-8; `None` for another.
        pub fn of(command: &Command) -> Option<Self> {
            if command.get_program() != env!("CARGO_BIN_EXE_totune") {
                return None;
            }
            let words = [command.get_program()]
                .into_iter()
                .chain(command.get_args());
            let words = words.map(|word| word.to_str().map(String::from));
            let variables = command.get_envs().map(|(name, value)| {
                let value = match value {
                    Some(value) => Some(value.to_str()?.to_string()),
                    None => None,
                };
                Some((name.to_str()?.to_string(), value))
            });
            Some(Self {
                words: words.collect::<Option<_>>()?,
                variables: variables.collect::<Option<_>>()?,
                folder: command.get_current_dir().map(PathBuf::from),
                outputs: Default::default(),
            })
        }
    }

    /// The server at work, which ends when its standard input does, and so with this process.
    struct Server {
        /// The folder of its socket, which it removes.
        folder: PathBuf,
        /// With the other end of its standard input.
        _process: Child,
    }

    impl Server {
        fn start() -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder").keep();
            let mut command = Command::new(env::current_exe().expect("this program"));
            command
                .args(["--exact", "support::forks::linux::serve_forks", "--ignored"])
                .args(["--nocapture", "--test-threads=1"])
                .env(SOCKET, folder.join("socket"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            if let Some(library) = layer::library() {
                command.env("LD_PRELOAD", library);
            }
            let mut child = command.spawn().expect("the server starts");
            // It says that it listens; nothing is said later.
            let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
            let ready = lines
                .map_while(Result::ok)
                .any(|line| line.contains(SOCKET));
            assert!(ready, "the server does not listen");
            Self {
                folder,
                _process: child,
            }
        }
    }

    /// Has the server run a command.
    pub fn forked(mut request: Request) -> Output {
        static SERVER: OnceLock<Server> = OnceLock::new();
        let server = SERVER.get_or_init(Server::start);
        let folder = tempfile::tempdir().expect("a temporary folder");
        request.outputs = ["out", "err"].map(|name| folder.path().join(name));
        let socket = UnixStream::connect(server.folder.join("socket"));
        let mut socket = socket.expect("the server listens");
        let line = serde_json::to_string(&request).expect("plain data");
        writeln!(socket, "{line}").expect("the server reads");
        let mut status = String::new();
        socket
            .read_to_string(&mut status)
            .expect("the server answers");
        let status = status.parse().expect("the status of a process");
        let [stdout, stderr] = request
            .outputs
            .map(|path| fs::read(path).expect("an output"));
        Output {
            status: ExitStatus::from_raw(status),
            stdout,
            stderr,
        }
    }

    #[test]
    #[ignore = "no test: the server from which commands are forked"]
    fn serve_forks() {
        let Some(path) = env::var_os(SOCKET) else {
            return;
        };
        let listener = UnixListener::bind(&path).expect("a socket");
        println!("{SOCKET}");
        stdout().flush().expect("the test reads");
        while wait_for(&listener) {
            let (socket, _) = listener.accept().expect("a request");
            // Hash maps of two commands differ in their order, as those of two processes do.
            let _ = RandomState::new();
            // SAFETY: the other thread of this process waits for this one and holds no lock.
            match unsafe { libc::fork() } {
                0 => answer(socket),
                -1 => panic!("fork: {}", std::io::Error::last_os_error()),
                _ => drop(socket),
            }
            // SAFETY: takes the status of children that have ended, if there are any.
            while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
        }
        // The process that made the folder has ended.
        let folder = Path::new(&path).parent().expect("a folder");
        let _ = fs::remove_dir_all(folder);
        // SAFETY: ends the process, whose output nobody reads any more.
        unsafe { libc::_exit(0) }
    }

    /// Waits for a request; false when standard input has ended instead.
    fn wait_for(listener: &UnixListener) -> bool {
        let entry = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut entries = [entry(0), entry(listener.as_raw_fd())];
        // SAFETY: `poll` writes to the two entries.
        let found = unsafe { libc::poll(entries.as_mut_ptr(), 2, -1) };
        found > 0 && entries[0].revents == 0
    }

    /// Runs the requested command in a process of its own, and answers with its status.
    fn answer(mut socket: UnixStream) -> ! {
        let mut line = String::new();
        let read = BufReader::new(&socket).read_line(&mut line);
        read.expect("a request");
        let request: Request = serde_json::from_str(&line).expect("a request");
        // SAFETY: this process has one thread.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(socket);
            run(request);
        }
        let mut status = 0;
        // SAFETY: `waitpid` writes to `status`.
        let ended = unsafe { libc::waitpid(child, &mut status, 0) };
        assert!(ended == child, "the command cannot be waited for");
        let _ = write!(socket, "{status}");
        drop(socket);
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) }
    }

    /// Runs a command in this process, as if it had just been started.
    fn run(request: Request) -> ! {
        redirect(File::open("/dev/null"), 0);
        for (path, fd) in request.outputs.iter().zip(1..) {
            redirect(File::create(path), fd);
        }
        if let Some(folder) = &request.folder {
            env::set_current_dir(folder).expect("a folder");
        }
        for (name, value) in &request.variables {
            // SAFETY: this process has one thread.
            match value {
                Some(value) => unsafe { env::set_var(name, value) },
                None => unsafe { env::remove_var(name) },
            }
        }
        disturb();
        let words: Vec<_> = request.words.into_iter().map(OsString::from).collect();
        // The stack of a first thread, which is larger than that of a test.
        let main = thread::Builder::new()
            .name("main".into())
            .stack_size(8 << 20);
        let main = main.spawn(|| totune_cli::run(words)).expect("a thread");
        let panicked = main.join().is_err();
        assert!(panicked, "a command ends its process");
        // SAFETY: ends the process, with the status of a program that panicked.
        unsafe { libc::_exit(101) }
    }

    fn redirect(file: std::io::Result<File>, to: RawFd) {
        let file = file.expect("a file");
        // SAFETY: both are open.
        assert!(unsafe { libc::dup2(file.as_raw_fd(), to) } == to, "dup2");
    }

    /// Has the library of faults read its variables, which were not set when it was loaded.
    fn disturb() {
        if env::var_os("FAULT_PROGRAM").is_none() {
            return;
        }
        let program = env::current_exe().expect("this program");
        let name = program.file_name().map(Path::new).expect("a name");
        // SAFETY: this process has one thread; the library, which is loaded, has a function of this name and type.
        unsafe {
            env::set_var("FAULT_PROGRAM", name);
            let begin = libc::dlsym(libc::RTLD_DEFAULT, c"fault_begin".as_ptr());
            assert!(!begin.is_null(), "the library of faults is not loaded");
            mem::transmute::<*mut libc::c_void, extern "C" fn()>(begin)();
        }
    }
}
