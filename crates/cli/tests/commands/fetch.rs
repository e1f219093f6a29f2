//! `data fetch` and `encoders fetch` against a server on 127.0.0.1: their messages, files and exit codes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::Checkout;

/// `printf hello | sha256sum`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

/// A server that has `hello` at `/hello` and nothing else, and counts connections.
fn server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let ours = count.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            ours.fetch_add(1, Ordering::SeqCst);
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let mut first = String::new();
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                if first.is_empty() {
                    first.clone_from(&line);
                }
                line.clear();
            }
            let (status, body) = if first.contains(" /hello ") {
                ("200 OK", "hello")
            } else {
                ("404 Not Found", "")
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let body = if first.starts_with("HEAD") { "" } else { body };
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    (address, count)
}

/// A checkout whose dataset `hello` has these lines in its card.
fn checkout(lines: &str) -> Checkout {
    let checkout = Checkout::new();
    let card =
        std::fs::read_to_string(checkout.path("datasets/disaster-tweets.toml")).expect("a card");
    let card = card
        .replace("\"disaster-tweets\"", "\"hello\"")
        .replace("disaster_tweets/train.csv", "hello/train.csv");
    checkout.write("datasets/hello.toml", &format!("{card}\n{lines}"));
    checkout
}

#[test]
fn a_dataset_is_fetched_once_and_the_codes_say_what_happened() {
    let (address, count) = server();
    let entry = format!(
        "[[fetch]]\nkind = 'url'\nurl = '{address}/hello'\nto = 'hello/greeting.txt'\nsha256 = '{HELLO}'"
    );
    let checkout = checkout(&entry);
    let dry = checkout.run(&["data", "fetch", "hello", "--dry-run"]);
    assert_eq!(dry.code, Some(1), "{}", dry.err);
    assert!(
        dry.out.contains("missing") && dry.out.contains("5 B") && dry.out.contains(&address),
        "{}",
        dry.out
    );
    let asked = count.load(Ordering::SeqCst);
    let offline = checkout.run(&["data", "fetch", "hello", "--offline"]);
    assert_eq!(
        (offline.code, count.load(Ordering::SeqCst)),
        (Some(1), asked),
        "{}",
        offline.out
    );
    let fetched = checkout.succeed(&["data", "fetch", "hello"]);
    assert!(fetched.contains("fetched"), "{fetched}");
    let path = checkout.path("data/hello/greeting.txt");
    assert_eq!(std::fs::read(path).expect("the file"), b"hello");
    let asked = count.load(Ordering::SeqCst);
    let again = checkout.succeed(&["data", "fetch", "hello", "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again[0]["files"][0]["state"], "verified");
    assert_eq!(count.load(Ordering::SeqCst), asked);
}

#[test]
fn without_names_nothing_is_fetched() {
    let (address, count) = server();
    let entry = format!(
        "[[fetch]]\nkind = 'url'\nurl = '{address}/hello'\nto = 'hello/greeting.txt'\nsha256 = '{HELLO}'\nsize = 5"
    );
    let checkout = checkout(&entry);
    let said = checkout.run(&["data", "fetch"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    for expected in [
        "expected those of datasets to fetch, or --all",
        "hello ",
        "5 B",
    ] {
        assert!(said.err.contains(expected), "{}", said.err);
    }
    let said = checkout.run(&["encoders", "fetch"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("all-minilm-l6-v2"), "{}", said.err);
    assert_eq!(count.load(Ordering::SeqCst), 0);
    // What there is may be asked without names.
    let offline = checkout.run(&["encoders", "fetch", "--offline"]);
    assert_eq!(offline.code, Some(1), "{}", offline.err);
    assert!(offline.out.contains("missing"), "{}", offline.out);
    let both = checkout.run(&["data", "fetch", "hello", "--all"]);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn what_cannot_be_fetched_says_how_to_get_it() {
    let checkout = checkout("");
    let said = checkout.run(&["data", "fetch", "hello"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(
        said.out.contains("no public download") && said.out.contains("kaggle"),
        "{}",
        said.out
    );
    assert_eq!(checkout.run(&["data", "fetch", "helo"]).code, Some(2));
}

#[test]
fn a_wrong_file_gets_no_place_and_the_hash_is_shown_where_the_card_has_none() {
    let (address, _) = server();
    let entry = format!("[[fetch]]\nkind = 'url'\nurl = '{address}/hello'\nto = 'x/y'");
    let wrong = checkout(&format!("{entry}\nsha256 = '{}'", "0".repeat(64)));
    let said = wrong.run(&["data", "fetch", "hello"]);
    assert!(
        said.code == Some(1) && said.out.contains(HELLO),
        "{}",
        said.out
    );
    assert!(!wrong.path("data/x").exists());
    let open = checkout(&entry);
    let said = open.run(&["data", "fetch", "hello"]);
    assert!(
        said.code == Some(1) && said.out.contains("--accept-unverified"),
        "{}",
        said.out
    );
    let said = open.succeed(&["data", "fetch", "hello", "--accept-unverified"]);
    assert!(said.contains(&format!("sha256 = \"{HELLO}\"")), "{said}");
}

#[test]
fn a_missing_dataset_names_the_command() {
    let checkout = checkout(&format!(
        "[[fetch]]\nkind = 'url'\nurl = 'http://127.0.0.1:9/x'\nto = 'x'\nsha256 = '{HELLO}'"
    ));
    let said = checkout.run(&["data", "check", "hello"]);
    assert!(
        format!("{}{}", said.out, said.err).contains("totune data fetch hello"),
        "{}{}",
        said.out,
        said.err
    );
}
