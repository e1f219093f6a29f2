//! Tables: from the plan and the runs to cells, and cells as Markdown, LaTeX, CSV and HTML.

pub(crate) mod epochs;
pub(crate) mod frame;
pub(crate) mod grid;
pub(crate) mod guidelines;
pub(crate) mod matrix;
pub(crate) mod paired;
pub(crate) mod table;
pub(crate) mod takeaway;

/// A table with its numbers, as the files it is written to.
pub(crate) trait Sheet {
    /// Name of its files.
    fn id(&self) -> &str;

    /// Each file's ending, such as `md`, and text.
    fn files(&self) -> Vec<(&'static str, String)>;
}

macro_rules! sheets {
    ($($sheet:ty),*) => {
        $(impl Sheet for $sheet {
            fn id(&self) -> &str {
                &self.id
            }

            fn files(&self) -> Vec<(&'static str, String)> {
                vec![
                    ("md", self.markdown()),
                    ("tex", self.latex()),
                    ("csv", self.csv()),
                ]
            }
        })*
    };
}

sheets!(table::Table, paired::Paired);

impl Sheet for grid::Grid {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> Vec<(&'static str, String)> {
        vec![
            ("md", self.markdown()),
            ("tex", self.latex()),
            ("csv", self.csv.clone()),
        ]
    }
}

impl Sheet for takeaway::Takeaway {
    fn id(&self) -> &str {
        "takeaway"
    }

    fn files(&self) -> Vec<(&'static str, String)> {
        vec![("md", self.markdown()), ("csv", self.csv())]
    }
}
