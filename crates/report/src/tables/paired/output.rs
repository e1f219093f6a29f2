//! A table of pairs as Markdown, LaTeX and CSV.

use super::{Paired, Row};
use crate::tables::frame::{Frame, latex_line};
use crate::text::csv_line;

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
        self.frame().markdown(&self.head(), &rows)
    }

    /// A `booktabs` table.
    pub(crate) fn latex(&self) -> String {
        let rows = self.rows.iter().map(|row| latex_line(&row.cells()));
        let columns = format!("ll{}", "r".repeat(13));
        let body: String = rows.collect();
        self.frame()
            .latex(&columns, &latex_line(&self.head()), &body)
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            id: &self.id,
            title: &self.title,
            below: vec![self.conclusion.join("\n"), self.legend()],
            notes: self.notes.clone(),
            ..Frame::default()
        }
    }

    /// One line per row, for programs.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from(
            "table,task,group,seeds,score_a,score_b,sd_a_points,difference_points,interval_points,hedges_g,hedges_g_interval,p_t,p_signs,epoch_seconds_a,epoch_seconds_b,epoch_ratio\n",
        );
        for row in &self.rows {
            let fields = [self.id.clone()].into_iter().chain(row.cells());
            text.push_str(&csv_line(fields));
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
