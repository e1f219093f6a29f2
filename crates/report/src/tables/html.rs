//! Tables in HTML: the values that `templates/table.html` needs in addition to the table itself.

use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::RenderedTable;

/// A table with the headings of its columns, which may stand under those of groups.
#[derive(Debug, Serialize)]
struct View<'a> {
    #[serde(flatten)]
    table: &'a RenderedTable,
    /// The upper row of headings.
    upper: Vec<Head<'a>>,
    /// The lower one; empty where no column is in a group.
    lower: Vec<Head<'a>>,
    /// Whether each column begins a group.
    opens: Vec<bool>,
}

/// A heading over `span` columns, or `None` for one that reaches down to the cells.
#[derive(Debug, Serialize)]
struct Head<'a> {
    title: &'a str,
    span: Option<usize>,
    class: &'static str,
}

impl RenderedTable {
    /// The value that the template gets.
    pub(crate) fn html(&self) -> Value {
        let (mut upper, mut lower, mut opens) = (Vec::new(), Vec::new(), Vec::new());
        let runs = self
            .columns
            .chunk_by(|a, b| a.group == b.group && !a.group.is_empty());
        for run in runs {
            let grouped = !run[0].group.is_empty();
            opens.extend((0..run.len()).map(|at| grouped && at == 0));
            upper.push(Head {
                title: if grouped {
                    &run[0].group
                } else {
                    &run[0].title
                },
                span: grouped.then_some(run.len()),
                class: match run[0].class {
                    _ if grouped => "group",
                    class @ ("stub" | "runs") => class,
                    _ => "",
                },
            });
            lower.extend(
                run.iter()
                    .take(if grouped { run.len() } else { 0 })
                    .enumerate()
                    .map(|(at, column)| Head {
                        title: &column.title,
                        span: None,
                        class: if at == 0 { "open" } else { "" },
                    }),
            );
        }
        Value::from(Serde(View {
            table: self,
            upper,
            lower,
            opens,
        }))
    }
}
