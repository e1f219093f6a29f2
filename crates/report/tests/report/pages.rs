//! The committed pages as a reader meets them: links, pictures, the index, and all of it in a browser.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The index and every page below it, but for those of fixtures, which are not committed.
fn pages() -> Vec<PathBuf> {
    let reports = reports();
    let mut pages = vec![reports.join("index.html")];
    for paper in folders(&reports) {
        let profiles = folders(&paper).into_iter();
        let profiles = profiles.filter(|profile| !profile.ends_with("fixture"));
        pages.extend(profiles.map(|profile| profile.join("index.html")));
    }
    pages.retain(|page| page.exists());
    pages.sort();
    assert!(pages.len() > 1, "no page in {}", reports.display());
    pages
}

fn reports() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the project").join("reports")
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of an attribute.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    let values = page.split(begin.as_str()).skip(1);
    values
        .map(|rest| rest.split('"').next().unwrap_or_default())
        .collect()
}

#[test]
fn every_link_of_a_committed_page_leads_somewhere() {
    let mut dead = Vec::new();
    for path in pages() {
        let page = read(&path);
        let ids = attributes(&page, "id");
        let unique: HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len(), "{}: an id twice", path.display());
        let folder = path.parent().expect("a folder");
        for link in [attributes(&page, "href"), attributes(&page, "src")].concat() {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let leads = match (file, place) {
                (web, _) if web.starts_with("https://") || web.starts_with("http://") => true,
                ("", place) => unique.contains(place),
                (file, "") => folder.join(file).is_file(),
                (file, place) => attributes(&read(&folder.join(file)), "id").contains(&place),
            };
            if !leads {
                dead.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn every_picture_says_what_it_shows() {
    for path in pages() {
        let page = read(&path);
        let files = fs::read_dir(path.with_file_name("figures"));
        let files = files
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let svgs = files.filter(|file| file.extension().is_some_and(|ending| ending == "svg"));
        for (place, text) in svgs
            .map(|file| (file.clone(), read(&file)))
            .chain([(path.clone(), page)])
        {
            for picture in text.split("<svg").skip(1) {
                let (head, body) = picture.split_once('>').expect("a tag");
                let place = place.display();
                assert!(head.contains("role=\"img\""), "{place}: {head}");
                for (open, close) in [("<title>", "</title>"), ("<desc>", "</desc>")] {
                    let inside = body
                        .split(open)
                        .nth(1)
                        .and_then(|rest| rest.split(close).next());
                    assert!(
                        inside.is_some_and(|words| words.len() > 2),
                        "{place}: {open} of {head}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_index_is_made_of_what_the_reports_say() {
    let place = tempfile::tempdir().expect("a folder");
    for page in pages() {
        let summary = page.with_file_name("summary.json");
        if let (true, Ok(below)) = (summary.exists(), summary.strip_prefix(reports())) {
            let target = place.path().join("reports").join(below);
            fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
            fs::copy(&summary, target).expect("a copy");
        }
    }
    let written = totune_report::index(place.path()).expect("an index");
    let (found, committed) = (read(&written), read(&reports().join("index.html")));
    assert!(
        found == committed,
        "write any report again, which writes reports/index.html too"
    );
}

/// Widths of a telephone and of a desk.
const WIDTHS: [u32; 2] = [400, 1200];

/// A script before anything else on the page, which records errors while it loads.
const WATCH: &str = r#"<script>
window.wrong = [];
addEventListener("error", event => wrong.push("error: " + (event.message || event.target.outerHTML)), true);
const told = console.error;
console.error = (...words) => { wrong.push("console: " + words.join(" ")); told(...words); };
</script>"#;

/// A script after the page has loaded, which reports defects to the page around it.
const LOOK: &str = r##"<script>
addEventListener("load", () => {
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const boxes = [...document.querySelectorAll("body *")].filter(box =>
      box.getBoundingClientRect().right > root.clientWidth + 1 && !box.parentElement.closest(".scroll, .bar"));
    wrong.push("wider than the screen: " + boxes.slice(0, 3).map(box => box.outerHTML.slice(0, 120)).join(" | "));
  }
  for (const link of document.querySelectorAll("a[href^='#']"))
    if (!document.getElementById(link.getAttribute("href").slice(1))) wrong.push("no target: " + link.outerHTML);
  for (const image of document.images)
    if (!image.complete || image.naturalWidth === 0) wrong.push("no image: " + image.outerHTML);
  for (const picture of document.querySelectorAll("svg"))
    if (picture.getBoundingClientRect().width < 100) wrong.push("too small: " + picture.querySelector("title").textContent);
  parent.postMessage(JSON.stringify({ width: innerWidth, wrong }), "*");
});
</script>"##;

/// A page around the page: a window is no narrower than 500 pixels, a frame is.
fn frame(width: u32) -> String {
    format!(
        "<!DOCTYPE html><body><script>onmessage = told => document.body.append(`RESULT${{told.data}}TLUSER`);</script>\
         <iframe src=\"page.html\" width=\"{width}\" height=\"900\" style=\"border: 0\"></iframe></body>"
    )
}

#[test]
#[ignore = "needs chromium: `./justw test browser -- --ignored`"]
fn no_page_goes_wrong_in_a_browser() {
    let mut wrong = Vec::new();
    for path in pages() {
        let folder = path.parent().expect("a folder");
        for width in WIDTHS {
            let found = seen(&read(&path), folder, width).into_iter();
            wrong.extend(found.map(|each| format!("{} at {width}: {each}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs chromium: `./justw test browser -- --ignored`"]
fn what_goes_wrong_in_a_browser_is_seen() {
    let page = "<html><head></head><body><p style='width: 2000px'>wide</p><a href='#nowhere'>a</a><img src='none.png'>\
                <script>console.error('said'); undefined.thrown</script></body></html>";
    let wrong = seen(page, &reports(), 400).join("\n");
    for expected in [
        "console: said",
        "error: ",
        "wider than the screen: <p",
        "no target: <a",
        "no image: <img",
    ] {
        assert!(wrong.contains(expected), "no {expected} in {wrong}");
    }
}

/// Defects of a page in a frame of that width; `folder` is the base of its links.
fn seen(page: &str, folder: &Path, width: u32) -> Vec<String> {
    let place = tempfile::tempdir().expect("a folder");
    let base = format!("<base href=\"file://{}/\">", folder.display());
    let page = page.replacen("<head>", &format!("<head>{base}{WATCH}"), 1);
    let page = page.replacen("</body>", &format!("{LOOK}</body>"), 1);
    let around = place.path().join("frame.html");
    fs::write(place.path().join("page.html"), page).expect("a page");
    fs::write(&around, frame(width)).expect("a page");
    let told = look(&around);
    assert_eq!(told["width"], width, "the frame");
    let wrong = told["wrong"].as_array().expect("a list").iter();
    wrong
        .map(|each| each.as_str().unwrap_or_default().to_owned())
        .collect()
}

fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("TOTUNE_CHROMIUM").map(PathBuf::from);
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = || {
        names
            .iter()
            .flat_map(|name| places.iter().map(move |place| place.join(name)))
    };
    named.or_else(|| found().find(|file| file.is_file()))
}

/// The report of the page in a frame.
fn look(page: &Path) -> Value {
    let names = "chromium, chromium-browser or google-chrome on the PATH, or TOTUNE_CHROMIUM";
    let chromium = browser().expect(names);
    let profile = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(chromium);
    // Root may not start its sandbox; the pages are ours.
    command.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
    ]);
    command.args([
        "--window-size=1300,950",
        "--virtual-time-budget=10000",
        "--dump-dom",
    ]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    let output = command.arg(page).output().expect("chromium runs");
    let dom = String::from_utf8_lossy(&output.stdout);
    // The script that writes it has the word too; the result stands last.
    let result = dom
        .rsplit("RESULT")
        .next()
        .and_then(|rest| rest.split("TLUSER").next());
    let result = result
        .filter(|result| result.starts_with('{'))
        .unwrap_or_else(|| {
            let told = String::from_utf8_lossy(&output.stderr);
            panic!("{}: no result from chromium: {told}", page.display())
        });
    // A dump has text escaped.
    let text = result
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    serde_json::from_str(&text).expect("JSON")
}
