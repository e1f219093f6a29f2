//! The result of a comparison as a table on a terminal.

use totune_compare::Comparison;

/// The result as a table.
pub(super) fn table(comparison: &Comparison) -> String {
    let mut lines = vec![comparison.sentence.clone(), String::new()];
    let width = comparison
        .rows
        .iter()
        .map(|row| row.title.chars().count())
        .max()
        .unwrap_or(0);
    // With cross-validation nothing has a score on dev.
    let has_dev = comparison.rows.iter().any(|row| row.dev.is_some());
    let on_dev = |text: String| {
        if has_dev {
            format!("  {text:>6}")
        } else {
            String::new()
        }
    };
    lines.push(format!(
        "  {:width$}{}  {:>6}  {:^16}  {:>8}  {}",
        "",
        on_dev("dev".into()),
        "test",
        "95 % interval",
        "seconds",
        "models"
    ));
    for row in &comparison.rows {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = row
            .test
            .map(|test| format!("[{:.3}, {:.3}]", test.low, test.high));
        let chosen = comparison.chosen.as_ref() == Some(&row.name);
        let models = match (row.is_strategy, row.seeds) {
            (true, 0) => String::new(),
            (true, n) => format!("{n} x {} x {}", row.examples, row.epochs),
            _ => String::new(),
        };
        let seconds = row
            .train_seconds
            .map_or(String::new(), |seconds| format!("{seconds:.1}"));
        let line = format!(
            "{} {:width$}{}  {:>6}  {:^16}  {:>8}  {models}  {}",
            if chosen { "*" } else { " " },
            row.title,
            on_dev(number(row.dev)),
            number(row.test.map(|test| test.value)),
            interval.unwrap_or_default(),
            seconds,
            row.note.clone().unwrap_or_default(),
        );
        lines.push(line.trim_end().to_string());
    }
    lines.push(String::new());
    lines.extend(comparison.notes.iter().cloned());
    lines.join("\n") + "\n"
}
