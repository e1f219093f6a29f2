use super::*;

#[derive(Debug, Deserialize)]
struct Card {
    #[serde(default)]
    fetch: Vec<Fetch>,
}

const SHA: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn read(text: &str) -> Result<Vec<Download>, String> {
    let text = text.replace("$SHA", SHA).replace("$COMMIT", COMMIT);
    let card: Card = toml::from_str(&text).map_err(|error| error.message().to_string())?;
    Ok(card.fetch.iter().flat_map(Fetch::downloads).collect())
}

#[test]
fn a_card_without_downloads_has_none() {
    assert_eq!(read(""), Ok(vec![]));
}

#[test]
fn an_address_is_tried_before_its_mirrors() {
    let got = read(
        "[[fetch]]\nkind = 'url'\nurl = 'https://a.org/x'\nmirrors = ['http://b.org/x']\nsha256 = '$SHA'\nsize = 4\nto = 'c/x'",
    );
    let [download] = &got.expect("a card")[..] else {
        panic!("one download")
    };
    let Source::Urls(urls) = &download.source else {
        panic!("addresses")
    };
    assert_eq!(
        urls.iter().map(WebUrl::as_str).collect::<Vec<_>>(),
        ["https://a.org/x", "http://b.org/x"]
    );
    assert_eq!(download.sha256.as_ref().map(Sha256::as_str), Some(SHA));
    assert_eq!(
        (download.size, download.to.as_ref().map(Below::as_str)),
        (Some(4), Some("c/x"))
    );
}

#[test]
fn each_file_of_a_repository_is_a_download() {
    let got = read(
        "[[fetch]]\nkind = 'hub-model'\nrepo = 'a/b'\nrevision = '$COMMIT'\nfiles = [{ path = 'x/y.bin', size = 7 }, { path = 'vocab.txt' }]",
    )
    .expect("a card");
    let paths: Vec<_> = got
        .iter()
        .map(|download| match &download.source {
            Source::Hub {
                kind: RepoKind::Model,
                path,
                ..
            } => path.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(paths, ["x/y.bin", "vocab.txt"]);
    assert_eq!(got[0].size, Some(7));
}

#[test]
fn what_a_card_cannot_mean_is_refused() {
    let url = "[[fetch]]\nkind = 'url'\nurl = 'https://a.org/x'\n";
    let hub = "[[fetch]]\nkind = 'hub-dataset'\nrepo = 'a/b'\n";
    for (text, expected) in [
        (url.to_string(), "neither `to` nor `unpack`"),
        (
            format!("{url}to = 'x'\nunpack = {{ format = 'gz', to = 'y' }}"),
            "both `to` and `unpack`",
        ),
        (format!("{url}to = '../x'"), "it has the part `..`"),
        (format!("{url}to = '/x'"), "starts at the root"),
        (format!("{url}to = 'C:/x'"), "names a drive"),
        (format!("{url}to = 'a//x'"), "empty part"),
        (format!("{url}to = 'a\\x'"), "backslash"),
        (format!("{url}to = \"a\\u0000x\""), "control character"),
        (
            format!("{url}to = 'x'\nmirror = []"),
            "unknown field `mirror`",
        ),
        (
            format!("{url}to = 'x'\nsha256 = 'ABC'"),
            "expected 64 lower-case hexadecimal digits",
        ),
        (format!("{url}to = 'x'\nsize = -1"), "invalid value"),
        (
            format!("{url}unpack = {{ format = 'rar', to = 'x' }}"),
            "unknown variant `rar`",
        ),
        (
            format!("{url}unpack = {{ format = 'zip' }}"),
            "neither `members` nor `to`",
        ),
        (
            format!("{url}unpack = {{ format = 'gz', members = [{{ path = 'a', to = 'b' }}] }}"),
            "expected `to`, the file",
        ),
        (
            format!(
                "{url}unpack = {{ format = 'zip', members = [{{ path = 'a', to = 'b' }}, {{ path = 'c', to = 'b' }}] }}"
            ),
            "listed twice",
        ),
        (
            "[[fetch]]\nkind = 'url'\nurl = 'ftp://a.org/x'\nto = 'x'".into(),
            "starts with `https://`",
        ),
        (
            "[[fetch]]\nkind = 'url'\nurl = 'https://me:pw@a.org/x'\nto = 'x'".into(),
            "without a user",
        ),
        ("[[fetch]]\nkind = 's3'\n".into(), "unknown variant `s3`"),
        (
            format!("{hub}revision = 'main'\nfiles = []"),
            "40 lower-case hexadecimal digits",
        ),
        (
            format!("{hub}revision = '$COMMIT'\nfiles = [{{ path = 'a/../b' }}]"),
            "it has the part `..`",
        ),
        (
            "[[fetch]]\nkind = 'hub-model'\nrepo = 'a/b/c'\nrevision = '$COMMIT'\nfiles = []"
                .into(),
            "`owner/name`",
        ),
        (
            "[[fetch]]\nkind = 'hub-model'\nrepo = 'a--b'\nrevision = '$COMMIT'\nfiles = []".into(),
            "`owner/name`",
        ),
    ] {
        let error = read(&text).expect_err(&text);
        assert!(
            error.contains(expected),
            "{text}\nsaid: {error}\nexpected: {expected}"
        );
    }
}
