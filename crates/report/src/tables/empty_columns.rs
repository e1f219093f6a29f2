//! Columns without a value in any row, such as seconds before a timing pass: a note names them, and they are left out.

use super::{Cell, Column, RenderedTable};

impl RenderedTable {
    /// The same without such columns.
    ///
    /// Columns under a common heading go together, but for standard deviations, which single runs do not have. A table
    /// without any value of ours stays as it is: its empty cells say what is to be run.
    pub(super) fn without_empty_columns(mut self) -> Self {
        let filled: Vec<bool> = (0..self.columns.len())
            .map(|at| self.has_value(at))
            .collect();
        let mut columns = self.columns.iter().zip(&filled);
        if !columns.any(|(column, filled)| column.class == "ours" && *filled) {
            return self;
        }
        let mut kept: Vec<bool> = Vec::new();
        let mut dropped = Vec::new();
        let groups = self
            .columns
            .chunk_by(|a, b| a.group == b.group && !a.group.is_empty());
        for group in groups {
            let here = &filled[kept.len()..kept.len() + group.len()];
            // The first column names the rows.
            let stays = kept.is_empty() || here.contains(&true);
            if !stays && group[0].class != "sd" {
                dropped.push(name(&group[0]).to_owned());
            }
            let each = group.iter().zip(here);
            kept.extend(each.map(|(column, filled)| stays && (*filled || column.class != "sd")));
        }
        if !dropped.is_empty() {
            let names = dropped.join("; ");
            let note = format!("left out, because no row has a value: {names}");
            self.notes.push(note);
        }
        retain(&mut self.columns, &kept);
        for row in self.parts.iter_mut().flat_map(|part| &mut part.rows) {
            retain(row, &kept);
        }
        self
    }

    /// Whether any row has a text in the column.
    fn has_value(&self, at: usize) -> bool {
        let rows = self.parts.iter().flat_map(|part| &part.rows);
        let mut cells = rows.filter_map(|row| row.get(at));
        cells.any(|Cell { main, detail, .. }| !main.is_empty() || !detail.is_empty())
    }
}

/// The heading over a column, or over its group.
fn name(column: &Column) -> &str {
    match column.group.as_str() {
        "" => &column.title,
        group => group,
    }
}

/// Keeps those whose place is marked.
fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next().copied().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_value_are_left_out_and_named() {
        let table = table(["a", "", "0.9", "", "", "", "", "7", "", "", ""]);
        // Ours stays next to a number of the paper.
        let expected = "Model, F1: paper, F1: ours, Memory: paper, Memory: ours";
        assert_eq!(titles(&table), expected);
        let note = "left out, because no row has a value: Seconds; Ratio";
        assert_eq!(table.notes, [note]);
    }

    #[test]
    fn a_table_that_has_not_been_run_keeps_its_columns() {
        let table = table(["a", "1", "", "", "", "", "", "7", "", "", ""]);
        assert_eq!(titles(&table).matches("ours").count(), 3);
        assert!(table.notes.is_empty());
    }

    /// A row of a table with the paper's numbers, ours and a standard deviation of three measures, and a ratio.
    fn table(cells: [&str; 11]) -> RenderedTable {
        let group = |name: &str| {
            ["paper", "ours", "sd"].map(|part| Column::of(part).class(part).under(name))
        };
        let groups = ["F1", "Seconds", "Memory"].into_iter().flat_map(group);
        let columns = [Column::stub("Model")].into_iter().chain(groups);
        let row = cells.map(|text| Cell::of(text).or("no run"));
        let table = RenderedTable {
            columns: columns.chain([Column::of("Ratio")]).collect(),
            parts: RenderedTable::single_part(vec![row.into()]),
            ..RenderedTable::default()
        };
        table.without_empty_columns()
    }

    fn titles(table: &RenderedTable) -> String {
        let titles = table.flat_head();
        assert_eq!(table.parts[0].rows[0].len(), titles.len());
        titles.join(", ")
    }
}
