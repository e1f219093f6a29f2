//! A server on 127.0.0.1 that misbehaves on command, and remembers its requests.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A way to answer a request.
#[derive(Clone, Debug)]
pub enum ServerReply {
    /// A correct answer, with `Range` and `If-Range`.
    Well,
    /// Well, but the connection ends after so many bytes of the body.
    Broken(usize),
    /// Well, but after so many bytes of the body nothing comes any more.
    Stalled(usize),
    /// Nothing comes at all.
    Mute,
    /// Well, but the length given is this one.
    Length(u64),
    /// Well, but slowly: a piece of so many bytes every millisecond.
    Slow(usize),
    /// The whole file, whatever range is requested.
    Whole,
    /// The requested range, whatever `If-Range` says.
    RangeAnyway,
    /// A range of this start, whatever is requested.
    RangeFrom(usize),
    /// These bytes instead of the file's.
    Other(Vec<u8>),
    /// In chunks, without a length; the last chunk is sent or not.
    Chunks { ended: bool },
    /// A web page, with status 200.
    Page,
    /// A status and headers.
    Status(u16, Vec<(String, String)>),
}

/// A file that is served.
#[derive(Clone, Debug, Default)]
pub struct Served {
    pub bytes: Vec<u8>,
    pub headers: Vec<(String, String)>,
}

/// A request, and how much was sent for it.
#[derive(Clone, Debug)]
pub struct SentRequest {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub sent: usize,
}

#[derive(Default)]
struct Shared {
    files: Mutex<HashMap<String, Served>>,
    answers: Mutex<HashMap<String, VecDeque<ServerReply>>>,
    asked: Mutex<Vec<SentRequest>>,
    accepted: AtomicUsize,
}

pub struct Server {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let ours = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                ours.accepted.fetch_add(1, Ordering::SeqCst);
                let shared = ours.clone();
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { port, shared }
    }

    pub fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Serves `bytes` at `path`, with an ETag of their own.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        let etag = format!("\"{}\"", &super::sha256(bytes)[..16]);
        self.put_with(path, bytes, &[("ETag", &etag)]);
    }

    pub fn put_with(&self, path: &str, bytes: &[u8], headers: &[(&str, &str)]) {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let served = Served {
            bytes: bytes.to_vec(),
            headers,
        };
        self.shared
            .files
            .lock()
            .unwrap()
            .insert(path.to_string(), served);
    }

    /// Sets the answers to the next requests for `path`, in this order; later ones are answered correctly.
    pub fn answer(&self, path: &str, answers: &[ServerReply]) {
        self.shared
            .answers
            .lock()
            .unwrap()
            .insert(path.to_string(), answers.iter().cloned().collect());
    }

    pub fn redirect(&self, path: &str, status: u16, to: &str) {
        let answer = ServerReply::Status(status, vec![("Location".into(), to.into())]);
        self.answer(path, &vec![answer; 50]);
    }

    pub fn asked(&self) -> Vec<SentRequest> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// Bytes of bodies that were sent, in all.
    pub fn sent(&self) -> usize {
        self.asked().iter().map(|asked| asked.sent).sum()
    }

    /// The requests with this method.
    pub fn count(&self, method: &str) -> usize {
        self.asked()
            .iter()
            .filter(|asked| asked.method == method)
            .count()
    }

    /// Serves a file of a repository as the Hub does: small files itself, those in LFS from `storage`.
    pub fn hub_file(&self, repo: &str, path: &str, bytes: &[u8], storage: Option<&Server>) {
        let at = format!("/{repo}/resolve/{}/{path}", super::COMMIT);
        let size = bytes.len().to_string();
        let Some(storage) = storage else {
            let etag = format!("\"{}\"", super::git_blob(bytes));
            self.put_with(
                &at,
                bytes,
                &[("ETag", &etag), ("X-Repo-Commit", super::COMMIT)],
            );
            return;
        };
        let sha256 = super::sha256(bytes);
        let blob = format!("/storage/{sha256}");
        // Storage has an ETag of its own making.
        storage.put_with(
            &blob,
            bytes,
            &[("ETag", &format!("\"part-{}\"", &sha256[..8]))],
        );
        let headers = [
            (
                "Location",
                // Another host by name, as storage is: Python looks only at the name.
                format!("http://localhost:{}{blob}?Signature=secret", storage.port),
            ),
            ("X-Repo-Commit", super::COMMIT.to_string()),
            ("X-Linked-Etag", format!("\"{sha256}\"")),
            ("X-Linked-Size", size),
        ];
        let headers = headers
            .map(|(name, value)| (name.to_string(), value))
            .to_vec();
        self.answer(&at, &vec![ServerReply::Status(302, headers); 200]);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_string();
    let target = words.next().unwrap_or_default().to_string();
    let path = target.split('?').next().unwrap_or_default().to_string();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.trim().to_lowercase(), value.trim().to_string());
        }
    }
    let next = shared
        .answers
        .lock()
        .unwrap()
        .get_mut(&path)
        .and_then(VecDeque::pop_front);
    let file = shared.files.lock().unwrap().get(&path).cloned();
    let index = {
        let mut asked = shared.asked.lock().unwrap();
        asked.push(SentRequest {
            method: method.clone(),
            path,
            headers: headers.clone(),
            sent: 0,
        });
        asked.len() - 1
    };
    let answer = match (next, &file) {
        (Some(answer), _) => answer,
        (None, Some(_)) => ServerReply::Well,
        (None, None) => ServerReply::Status(404, vec![]),
    };
    let sent = respond(
        &mut stream,
        answer,
        &file.unwrap_or_default(),
        &headers,
        method == "HEAD",
    );
    shared.asked.lock().unwrap()[index].sent = sent;
    let _ = stream.flush();
    let _ = stream.shutdown(Shutdown::Write);
    // Closing with something unread resets the connection, and the other side may lose what is under way.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let _ = stream.read(&mut [0; 64]);
}

#[expect(clippy::too_many_lines, reason = "one arm for each way to answer")]
fn respond(
    stream: &mut TcpStream,
    answer: ServerReply,
    file: &Served,
    asked: &BTreeMap<String, String>,
    head: bool,
) -> usize {
    match answer {
        ServerReply::Status(status, headers) => {
            let length = if (300..400).contains(&status) {
                ""
            } else {
                "Content-Length: 0\r\n"
            };
            let _ = stream.write_all(start(status, &headers, length).as_bytes());
            return 0;
        }
        ServerReply::Page => {
            let page = b"<!DOCTYPE html><html><body>Please log in</body></html>";
            let lines = format!(
                "Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n",
                page.len()
            );
            let _ = stream.write_all(start(200, &[], &lines).as_bytes());
            return stream.write(page).unwrap_or(0);
        }
        ServerReply::Mute => {
            thread::sleep(Duration::from_secs(3));
            return 0;
        }
        _ => {}
    }
    let bytes = match &answer {
        ServerReply::Other(bytes) => bytes,
        _ => &file.bytes,
    };
    let etag = file
        .headers
        .iter()
        .find(|(name, _)| name == "ETag")
        .map(|(_, value)| value.as_str());
    let same = asked
        .get("if-range")
        .is_none_or(|wanted| Some(wanted.as_str()) == etag);
    let from = match &answer {
        ServerReply::Whole
        | ServerReply::Other(_)
        | ServerReply::Length(_)
        | ServerReply::Chunks { .. } => None,
        ServerReply::RangeFrom(from) => Some(*from),
        ServerReply::RangeAnyway => wanted(asked),
        _ => wanted(asked).filter(|_| same),
    };
    if let Some(from) = from.filter(|&from| from >= bytes.len()) {
        assert!(from >= bytes.len());
        let lines = format!(
            "Content-Range: bytes */{}\r\nContent-Length: 0\r\n",
            bytes.len()
        );
        let _ = stream.write_all(start(416, &file.headers, &lines).as_bytes());
        return 0;
    }
    let body = &bytes[from.unwrap_or(0)..];
    let mut lines = match answer {
        ServerReply::Length(length) => format!("Content-Length: {length}\r\n"),
        ServerReply::Chunks { .. } => "Transfer-Encoding: chunked\r\n".to_string(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    if let Some(from) = from {
        lines += &format!(
            "Content-Range: bytes {from}-{}/{}\r\n",
            bytes.len() - 1,
            bytes.len()
        );
    }
    let status = if from.is_some() { 206 } else { 200 };
    if stream
        .write_all(start(status, &file.headers, &lines).as_bytes())
        .is_err()
        || head
    {
        return 0;
    }
    let put =
        |stream: &mut TcpStream, bytes: &[u8]| stream.write_all(bytes).map_or(0, |()| bytes.len());
    match answer {
        ServerReply::Broken(length) => put(stream, &body[..length.min(body.len())]),
        ServerReply::Stalled(length) => {
            let sent = put(stream, &body[..length.min(body.len())]);
            thread::sleep(Duration::from_millis(1500));
            sent
        }
        ServerReply::Slow(piece) => {
            let mut sent = 0;
            for piece in body.chunks(piece) {
                if stream.write_all(piece).is_err() {
                    break;
                }
                sent += piece.len();
                thread::sleep(Duration::from_millis(1));
            }
            sent
        }
        ServerReply::Chunks { ended } => {
            for chunk in body.chunks(10_000) {
                let _ = stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes());
                let _ = stream.write_all(chunk);
                let _ = stream.write_all(b"\r\n");
            }
            let _ = stream.write_all(if ended { b"0\r\n\r\n" } else { b"" });
            body.len()
        }
        _ => put(stream, body),
    }
}

fn wanted(asked: &BTreeMap<String, String>) -> Option<usize> {
    asked
        .get("range")?
        .strip_prefix("bytes=")?
        .strip_suffix('-')?
        .parse()
        .ok()
}

fn start(status: u16, headers: &[(String, String)], lines: &str) -> String {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!("HTTP/1.1 {status} Said\r\nConnection: close\r\n{headers}{lines}\r\n")
}
