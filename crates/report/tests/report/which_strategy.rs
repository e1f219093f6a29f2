//! The verdicts and numbers in `docs/which-strategy.md` and README.md are those of the tables they link to.
//!
//! Each is a link to a CSV file whose title says where in it: `[-6.2](../reports/….csv "row=Last layer, 2e-5;
//! difference_points")` is the column `difference_points` of the one line whose `row` is that. A number may be in
//! hundredths of the cell's; a verdict may be given without the part that says how it was reached.
//!
//! With `TOTUNE_WRITE_PAGES=1` a page gets what the tables have now, with as many decimals as it had before; a new
//! link is written as `[?](…)`. What the sentences around them say is left to a person.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

const PAGES: [&str; 2] = ["docs/which-strategy.md", "README.md"];

#[test]
fn every_verdict_and_number_is_the_one_in_its_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in PAGES {
        let mut text = std::fs::read_to_string(root.join(page)).expect(page);
        if std::env::var_os("TOTUNE_WRITE_PAGES").is_some() {
            text = renewed(&text, &root);
            std::fs::write(root.join(page), &text).expect("written");
        }
        let links = links(&text);
        assert!(links.len() > 10, "{page}: {} links to a table", links.len());
        let wrong: Vec<String> = links
            .iter()
            .filter_map(|link| link.check(&root).err())
            .map(|error| format!("{error:#}"))
            .collect();
        assert!(wrong.is_empty(), "{page}:\n{}", wrong.join("\n"));
    }
}

/// Checks that README's short answers are the guide's.
#[test]
fn readme_answers_each_question_as_the_guide_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The cells of the second column below this header.
    let answers = |page: &str, header: &str| -> Vec<String> {
        let text = std::fs::read_to_string(root.join(page)).expect(page);
        let table = text.lines().skip_while(|line| !line.starts_with(header));
        let rows = table.skip(2).take_while(|line| line.starts_with('|'));
        let cell = |line: &str| line.split('|').nth(2).unwrap_or_default().trim().to_owned();
        rows.map(cell).collect()
    };
    let guide = answers(PAGES[0], "| question | in short |");
    let readme = answers(PAGES[1], "| question | in short |");
    assert!(readme.len() > 4, "{readme:?}");
    for answer in readme {
        assert!(guide.contains(&answer), "README.md: `{answer}`; {guide:?}");
    }
}

/// Checks that, while the results of a profile are withdrawn, either text says so before anything else.
#[test]
fn the_notice_stands_first_in_every_text_with_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let Ok(text) = std::fs::read_to_string(root.join("experiments/notices.toml")) else {
        return;
    };
    let notices: toml::Table = toml::from_str(&text).expect("notices.toml");
    let all = notices["notice"].as_array().expect("a list");
    let Some(notice) = all
        .iter()
        .find(|notice| notice["withdraws"].as_bool() == Some(true))
    else {
        return;
    };
    let key = |key: &str| notice[key].as_str().expect(key).to_owned();
    let wanted = format!("**{}.** {}", key("title"), key("text"));
    for file in PAGES {
        let text = read(file);
        let quoted: Vec<&str> = text
            .lines()
            .skip(2)
            .map_while(|line| line.strip_prefix("> "))
            .collect();
        assert_eq!(quoted.join(" "), wanted, "{file}");
    }
}

#[test]
fn another_number_a_missing_line_and_one_that_is_there_twice_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = "row,task,mean,verdict\na,x,0.1234,not decided (by words)\na,y,0.5,\nb,y,0.5,contradicted\n";
    std::fs::write(folder.path().join("t.csv"), table).expect("a table");
    let check = |link: &str| {
        let text = format!("said [{link}.");
        let all = links(&text);
        assert_eq!(all.len(), 1, "{link}");
        let found = all[0].check(folder.path());
        found.err().map(|error| format!("{error:#}"))
    };
    for good in ["0.12", "0.123", "12.3", "12.3 %", "+12"] {
        assert_eq!(
            check(&format!(r#"{good}](../t.csv "row=a; task=x; mean")"#)),
            None
        );
    }
    assert_eq!(
        check(r#"not decided](../t.csv "row=a; task=x; verdict")"#),
        None
    );
    for (link, error) in [
        (
            r#"reproduced](../t.csv "row=b; verdict")"#,
            "found `reproduced`, the table has `contradicted`",
        ),
        (
            r#"0.13](../t.csv "row=a; task=x; mean")"#,
            "found 0.13, the table has 0.1234",
        ),
        (r#"1](../t.csv "row=c; mean")"#, "no line with row=c"),
        (r#"1](../t.csv "row=a; mean")"#, "2 lines with row=a"),
        (r#"1](../t.csv "row=b; sd")"#, "no column `sd`"),
        (r#"1](../none.csv "row=b; mean")"#, "none.csv"),
    ] {
        let found = check(link).expect(link);
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn what_is_written_anew_keeps_its_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = "row,mean,verdict\na,0.1234,not decided (by words)\nb,-2.5,\nc,,\n";
    std::fs::write(folder.path().join("t.csv"), table).expect("a table");
    for (old, place, new) in [
        ("0.99", "row=a; mean", "0.12"),
        ("15.0 %", "row=a; mean", "12.3 %"),
        ("+1.23", "row=b; mean", "-2.50"),
        ("?", "row=a; mean", "0.123"),
        ("reproduced", "row=a; verdict", "not decided"),
        ("0.5", "row=c; mean", "0.5"),
        ("0.5", "row=d; mean", "0.5"),
    ] {
        let page = |text: &str| format!(r#"It has [{text}](../t.csv "{place}")."#);
        assert_eq!(renewed(&page(old), folder.path()), page(new));
    }
}

/// The page with the cells' own verdicts and numbers; where there is no cell, what it says stays, for the test to refuse.
fn renewed(text: &str, root: &Path) -> String {
    let mut page = String::new();
    let mut end = 0;
    for link in links(text) {
        page.push_str(&text[end..link.at.start]);
        page.push_str(&link.renewed(root).unwrap_or_else(|_| link.text.to_owned()));
        end = link.at.end;
    }
    page + &text[end..]
}

/// A number and where it is from.
#[derive(Debug)]
struct Link<'a> {
    at: Range<usize>,
    text: &'a str,
    file: &'a str,
    place: &'a str,
}

/// All links to a table that have a title.
fn links(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let before = &text[..at];
        let start = before.rfind('[').map_or(0, |open| open + 1);
        let rest = &text[at + "](".len()..];
        let rest = rest.strip_prefix("../").unwrap_or(rest);
        // A title may have a bracket in it.
        let Some((file, title)) = rest
            .split_once(" \"")
            .filter(|(file, _)| !file.contains(')'))
        else {
            continue;
        };
        let title = title.split_once("\")").map_or("", |(title, _)| title);
        found.push(Link {
            at: start..at,
            text: &before[start..],
            file,
            place: title,
        });
    }
    found
}

impl Link<'_> {
    fn check(&self, root: &Path) -> Result<()> {
        let cell = self
            .cell(root)
            .with_context(|| format!("[{}]", self.text))?;
        if self.place.ends_with("; verdict") {
            let verdict = cell.split(" (").next().unwrap_or_default();
            ensure!(
                verdict == self.text,
                "{} \"{}\": found `{}`, the table has `{cell}`",
                self.file,
                self.place,
                self.text
            );
            return Ok(());
        }
        let exact: f64 = cell
            .parse()
            .with_context(|| format!("`{cell}` in {}", self.file))?;
        let shown = self.text.trim_end_matches(" %");
        let number: f64 = shown.parse().with_context(|| format!("[{shown}]"))?;
        let decimals = shown.split_once('.').map_or(0, |(_, after)| after.len());
        // Up to rounding, and the difference between two ways of rounding a half.
        let half = 0.5 * 0.1f64.powi(decimals as i32) + 1e-9;
        let near = |value: f64| (value - number).abs() <= half;
        ensure!(
            near(exact) || near(100.0 * exact),
            "{} \"{}\": found {shown}, the table has {cell}",
            self.file,
            self.place
        );
        Ok(())
    }

    /// The text that the cell calls for, in the form of the one that is there.
    fn renewed(&self, root: &Path) -> Result<String> {
        let cell = self.cell(root)?;
        if self.place.ends_with("; verdict") {
            return Ok(cell.split(" (").next().unwrap_or_default().to_owned());
        }
        let exact: f64 = cell.parse()?;
        if self.text == "?" {
            return Ok(format!("{exact:.3}"));
        }
        let shown = self.text.trim_end_matches(" %");
        let old: f64 = shown.parse()?;
        // Whichever of the two is nearer in magnitude to what was there.
        let distance = |value: f64| (value / old).abs().ln().abs();
        let hundredths = distance(100.0 * exact) < distance(exact);
        let value = if hundredths { 100.0 * exact } else { exact };
        let decimals = shown.split_once('.').map_or(0, |(_, after)| after.len());
        let sign = if shown.starts_with('+') && value >= 0.0 {
            "+"
        } else {
            ""
        };
        let unit = &self.text[shown.len()..];
        Ok(format!("{sign}{value:.decimals$}{unit}"))
    }

    /// The cell that the title names.
    fn cell(&self, root: &Path) -> Result<String> {
        let path = root.join(self.file);
        let mut reader =
            csv::Reader::from_path(&path).with_context(|| path.display().to_string())?;
        let names = reader.headers()?.clone();
        let column = |name: &str| {
            let found = names.iter().position(|column| column == name);
            found.with_context(|| format!("{}: no column `{name}`", self.file))
        };
        let mut parts: Vec<&str> = self.place.split("; ").collect();
        let wanted = column(parts.pop().unwrap_or_default())?;
        let mut conditions = Vec::new();
        for part in &parts {
            let Some((name, value)) = part.split_once('=') else {
                bail!("{}: found `{part}`, expected `column=value`", self.file);
            };
            conditions.push((column(name)?, value));
        }
        let mut cells = Vec::new();
        for line in reader.records() {
            let line = line?;
            if conditions
                .iter()
                .all(|(at, value)| line.get(*at) == Some(value))
            {
                cells.push(line.get(wanted).unwrap_or_default().to_owned());
            }
        }
        let what = parts.join("; ");
        match cells.len() {
            1 => Ok(cells.remove(0)),
            0 => bail!("{}: no line with {what}", self.file),
            n => bail!("{}: {n} lines with {what}", self.file),
        }
    }
}
