//! A table of pairs as Markdown, LaTeX and CSV.

use super::{Paired, Row};
use crate::tables::table::pipe_table;
use crate::text::{csv_field, latex};

impl Paired {
    fn head(&self) -> [String; 15] {
        let (a, b) = (&self.a, &self.b);
        [
            "Task".to_owned(),
            "Strategy".to_owned(),
            "Seeds".to_owned(),
            format!("Score: {a}"),
            format!("Score: {b}"),
            "sd between seeds (points)".to_owned(),
            "Difference (points)".to_owned(),
            "95 % interval".to_owned(),
            "Hedges’ g".to_owned(),
            "95 % interval of g".to_owned(),
            "p (t)".to_owned(),
            "p (signs)".to_owned(),
            format!("Seconds of an epoch: {a}"),
            format!("Seconds of an epoch: {b}"),
            "Ratio".to_owned(),
        ]
    }

    /// A pipe table under its title.
    pub(crate) fn markdown(&self) -> String {
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().to_vec()).collect();
        let table = pipe_table(&self.head(), &rows);
        let mut text = format!("**{}**\n\n{table}\n", self.title);
        text.push_str(&format!(
            "{}\n\n{}\n",
            self.conclusion.join("\n"),
            self.legend()
        ));
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// A `booktabs` table; the preamble needs `\usepackage{booktabs}`.
    pub(crate) fn latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex(cell)).collect();
            format!("{} \\\\\n", cells.join(" & "))
        };
        let mut text = String::from("% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n");
        text.push_str(&format!(
            "\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{ll{}}}\n\\toprule\n",
            latex(&self.title),
            self.id,
            "r".repeat(13)
        ));
        text.push_str(&line(&self.head()));
        text.push_str("\\midrule\n");
        for row in &self.rows {
            text.push_str(&line(&row.cells()));
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        for note in self.conclusion.iter().chain([&self.legend()]) {
            text.push_str(&format!("\\par\\footnotesize {}\n", latex(note)));
        }
        for note in &self.notes {
            text.push_str(&format!("\\par\\footnotesize {}.\n", latex(note)));
        }
        text.push_str("\\end{table}\n");
        text
    }

    /// One line per row, for programs.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from(
            "table,task,group,seeds,score_a,score_b,sd_a_points,difference_points,interval_points,hedges_g,hedges_g_interval,p_t,p_signs,epoch_seconds_a,epoch_seconds_b,epoch_ratio\n",
        );
        for row in &self.rows {
            let fields = [self.id.clone()].into_iter().chain(row.cells());
            let fields: Vec<String> = fields.map(|field| csv_field(&field)).collect();
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }

    /// What holds for every such table.
    pub(crate) fn legend(&self) -> String {
        format!(
            "Differences are “{}” less “{}” at equal seeds, with Student's 95 % interval of the pairs; p of the paired t-test and of the exact exchange of signs, both uncorrected; the standard deviation is that between seeds of “{}”. Hedges’ g is the difference in standard deviations between seeds, pooled over both sides and corrected for how few they are, from three seeds on; its 95 % interval is that of the noncentral t.",
            self.b, self.a, self.a
        )
    }
}

impl Row {
    fn cells(&self) -> [String; 15] {
        [
            self.task.clone(),
            self.group.clone(),
            self.seeds.to_string(),
            self.score_a.clone(),
            self.score_b.clone(),
            self.sd.clone(),
            self.difference.clone(),
            self.interval.clone(),
            self.effect.clone(),
            self.effect_interval.clone(),
            self.p.clone(),
            self.p_signs.clone(),
            self.epoch_a.clone(),
            self.epoch_b.clone(),
            self.ratio.clone(),
        ]
    }
}
