//! Several addresses of one file, and redirects to other addresses.

use super::*;

#[test]
fn mirrors_are_tried_in_order_and_go_on_where_the_first_broke_off() {
    let mut answers = vec![ServerReply::Broken(MIB)];
    answers.extend(vec![ServerReply::Broken(0); 3]);
    let scene = Scene::new(&answers);
    let (second, third) = (Server::start(), Server::start());
    second.put("/copy", &scene.file);
    second.answer("/copy", &[ServerReply::Page]);
    third.put("/copy", &scene.file);
    let mirrors = format!(
        "mirrors = ['{}', '{}']\n",
        second.at("/copy"),
        third.at("/copy")
    );
    let job = scene.job(&format!("sha256 = '{}'\n{mirrors}", sha256(&scene.file)));
    let fetched = fetch(&scene.fetcher, &job).unwrap();
    scene.check_right();
    assert_eq!(fetched.from, Some(third.at("/copy")));
    assert_eq!((second.asked().len(), third.sent()), (1, 2 * MIB));
}

#[test]
fn when_no_address_has_it_each_one_is_named() {
    let scene = Scene::new(&[ServerReply::Status(404, vec![])]);
    let job = scene.job(&format!(
        "sha256 = '{}'\nmirrors = ['http://127.0.0.1:9/x']",
        sha256(&scene.file)
    ));
    let error = fetch(&scene.fetcher, &job).unwrap_err().to_string();
    assert!(
        error.contains("none of 2 addresses") && error.contains("/file") && error.contains(":9/x"),
        "{error}"
    );
}

#[test]
fn redirects_are_followed_and_end() {
    let scene = Scene::new(&[]);
    let other = Server::start();
    other.put("/real", &scene.file);
    for status in [301, 302, 303, 307, 308] {
        scene.server.redirect("/a/start", status, "../b/next");
        scene.server.redirect("/b/next", status, &other.at("/real"));
        let root = tempfile::tempdir().unwrap();
        let url = scene.server.at("/a/start");
        let card = format!(
            "[[fetch]]\nkind = 'url'\nurl = '{url}'\nto = 'x'\nsha256 = '{}'",
            sha256(&scene.file)
        );
        fetch(&scene.fetcher, &job(&card, root.path())).unwrap();
        assert!(std::fs::read(root.path().join("x")).unwrap() == scene.file);
    }
    scene.server.redirect("/to-itself", 302, "/to-itself");
    scene.server.redirect("/ping", 302, "/pong");
    scene.server.redirect("/pong", 302, "/ping");
    scene
        .server
        .redirect("/to-a-file", 302, "file:///etc/passwd");
    scene
        .server
        .answer("/to-nowhere", &[ServerReply::Status(302, vec![])]);
    for number in 0..20 {
        scene
            .server
            .redirect(&format!("/long/{number}"), 302, &format!("{}", number + 1));
    }
    for (path, words) in [
        ("/to-itself", "redirects without end"),
        ("/ping", "redirects without end"),
        ("/long/0", "redirects without end"),
        ("/to-a-file", "which is no address"),
        ("/to-nowhere", "a redirect (302) to nowhere"),
    ] {
        let card = format!(
            "[[fetch]]\nkind = 'url'\nurl = '{}'\nto = 'x'\nsha256 = '{}'",
            scene.server.at(path),
            sha256(b"x")
        );
        let error = fetch(&scene.fetcher, &job(&card, scene.root.path())).unwrap_err();
        assert_eq!(error.kind, Kind::Protocol, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    scene.check_nothing();
}

#[test]
fn a_file_that_was_packed_on_the_way_is_refused() {
    let scene = Scene::new(&[]);
    scene
        .server
        .put_with("/file", &scene.file, &[("Content-Encoding", "gzip")]);
    let error = fetch(&scene.fetcher, &scene.hashed()).unwrap_err();
    assert!(error.to_string().contains("encoded as `gzip`"), "{error}");
    scene.check_nothing();
}

#[test]
fn the_proxy_of_the_scheme_is_taken_and_socks_is_refused_by_name() {
    let scene = Scene::new(&[]);
    let proxy = Server::start();
    let fetch_with = |variables: &[(&str, &str)]| {
        let fetcher = Fetcher::new(settings(variables));
        fetch(&fetcher, &scene.exact()).map(|fetched| fetched.bytes)
    };
    let socks = ("ALL_PROXY", "socks5h://127.0.0.1:9");
    let error = fetch_with(&[socks]).unwrap_err().to_string();
    assert!(error.contains("ALL_PROXY: found a SOCKS proxy"), "{error}");
    // A server that is no proxy: it is asked, and nothing else is.
    let http = proxy.at("");
    fetch_with(&[socks, ("HTTP_PROXY", &http)]).unwrap_err();
    assert!(proxy.count("CONNECT") > 0);
    assert_eq!(scene.server.asked().len(), 0);
    let direct = [socks, ("HTTP_PROXY", &http), ("NO_PROXY", "127.0.0.1")];
    assert_eq!(fetch_with(&direct).unwrap(), 3 * MIB as u64);
}
