//! The model card, `README.md`, limited to known facts.

use std::fmt::Write as _;

use crate::SavedAs;
use crate::facts::TaskFacts;
use crate::input::quoted;
use crate::manifest::Manifest;

/// The card of a saved model.
pub(crate) fn text(manifest: &Manifest) -> String {
    let mut text = String::new();
    let sections = [
        front(manifest),
        summary(manifest),
        start(manifest),
        scores(manifest),
        training(manifest),
        provenance(manifest),
    ];
    for section in sections {
        text.push_str(&section);
    }
    text
}

/// Front matter for the Hub.
fn front(manifest: &Manifest) -> String {
    let library = match manifest.saved_as {
        SavedAs::Transformers { .. } => "transformers",
        SavedAs::Totune { .. } => "totune",
    };
    let pipeline = manifest.task.pipeline();
    format!("---\nlibrary_name: {library}\npipeline_tag: {pipeline}\ntags:\n- totune\n---\n\n")
}

fn summary(manifest: &Manifest) -> String {
    let dataset = &manifest.dataset;
    let of = if manifest.input.is_pair {
        "a pair of texts"
    } else {
        "a text"
    };
    let task = match &manifest.task {
        TaskFacts::MultiLabel { labels, .. } => format!(
            "It gives {of} any number of {} labels, each by a sigmoid of its own: {}.",
            labels.len(),
            quoted(labels)
        ),
        TaskFacts::Ordinal { labels, .. } => format!(
            "It gives {of} one of {} labels in an order, from the lowest to the highest: {}.",
            labels.len(),
            quoted(labels)
        ),
        TaskFacts::Classification { labels, .. } => {
            format!(
                "It gives {of} one of {} labels: {}.",
                labels.len(),
                quoted(labels)
            )
        }
        TaskFacts::Regression {} => format!("It gives {of} a number."),
        TaskFacts::Tagging { labels, .. } => {
            format!(
                "It gives each word one of {} tags: {}.",
                labels.len(),
                quoted(labels)
            )
        }
    };
    let mut text = format!(
        "# {} on {}\n\n{} ({}), fine-tuned on {} examples of {}.\n{task}\n",
        manifest.encoder.title,
        dataset.title,
        manifest.encoder.title,
        manifest.training.settings.adaptation.label(),
        dataset.train,
        dataset.title,
    );
    if let SavedAs::Totune { reason } = &manifest.saved_as {
        let _ = write!(
            text,
            "\n**transformers cannot load the whole of it**: {reason}.\nThe head is in `head.safetensors`, in totune's own \
             format; use `totune predict`.\n"
        );
    }
    text
}

fn start(manifest: &Manifest) -> String {
    let mut text = String::from(
        "\n## How to use it\n\n```sh\ntotune predict . new.csv --out predictions.csv\n```\n",
    );
    let SavedAs::Transformers { .. } = manifest.saved_as else {
        return text;
    };
    let length = manifest.input.max_length;
    let python = match &manifest.task {
        TaskFacts::Tagging { .. } => {
            "pipe = pipeline(\"token-classification\", \".\", aggregation_strategy=\"first\")\n\
             pipe(\"Some text\")\n"
                .to_string()
        }
        TaskFacts::Classification { .. }
        | TaskFacts::MultiLabel { .. }
        | TaskFacts::Ordinal { .. }
        | TaskFacts::Regression {} => {
            let prefix = &manifest.encoder.prefix;
            let input = if manifest.input.is_pair {
                format!(
                    "{{\"text\": \"{prefix}Some text\", \"text_pair\": \"{prefix}Another one\"}}"
                )
            } else {
                format!("\"{prefix}Some text\"")
            };
            // By default the pipeline shows one label; with `top_k=None` the probability of each.
            let all = match manifest.task {
                TaskFacts::MultiLabel { .. } => ", top_k=None",
                _ => "",
            };
            format!(
                "pipe = pipeline(\"text-classification\", \".\"{all})\npipe({input}, truncation=True, max_length={length})\n"
            )
        }
    };
    let _ = write!(
        text,
        "\n```python\nfrom transformers import pipeline\n\n{python}```\n"
    );
    text
}

fn scores(manifest: &Manifest) -> String {
    if manifest.scores.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\n## Scores\n\n| split | metric | value | examples |\n|---|---|---:|---:|\n");
    for score in manifest.scores.iter() {
        let _ = writeln!(
            text,
            "| {} | {} | {:.4} | {} |",
            score.split, score.metric, score.value, score.n
        );
    }
    if manifest.dataset.dev > 0 {
        text.push_str("\nWhatever was decided during training was decided on dev.\n");
    }
    text
}

fn training(manifest: &Manifest) -> String {
    let training = &manifest.training;
    let settings = &training.settings;
    let adaptation = &settings.adaptation;
    let mut rows = vec![
        ("strategy", adaptation.label()),
        ("learning rate", format!("{:e}", adaptation.lr())),
    ];
    rows.extend(
        adaptation
            .head_lr()
            .map(|lr| ("learning rate of the head", format!("{lr:e}"))),
    );
    rows.extend([
        ("epochs", training.epochs.to_string()),
        ("batch size", settings.batch_size.to_string()),
        ("longest input", format!("{} tokens", settings.max_length)),
        ("head", settings.head.label().to_string()),
        ("dropout", settings.dropout.to_string()),
        ("arithmetic", settings.dtype.label().to_string()),
        ("seed", training.seed.to_string()),
        ("seconds of training", format!("{:.1}", training.seconds)),
    ]);
    let mut text = String::from("\n## Training\n\n| setting | value |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text.push_str("\n`totune.json` has every setting.\n");
    text
}

fn provenance(manifest: &Manifest) -> String {
    let (encoder, dataset) = (&manifest.encoder, &manifest.dataset);
    let mut rows = vec![
        (
            "encoder",
            format!("{} ({})", encoder.title, encoder.homepage),
        ),
        ("weights it started from", encoder.checkpoint.clone()),
        ("licence of these", encoder.licence.clone()),
        ("dataset", dataset.title.clone()),
        ("hash of its examples", dataset.hash.clone()),
    ];
    if !dataset.licence.is_empty() {
        rows.push(("licence or terms of these", dataset.licence.clone()));
    }
    rows.push((
        "examples",
        format!(
            "{} train, {} dev, {} test",
            dataset.train, dataset.dev, dataset.test
        ),
    ));
    rows.push(("written by", manifest.written_by.clone()));
    let mut text = String::from("\n## Provenance\n\n| what | which |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {} |", value.replace(['\n', '|'], " "));
    }
    text
}
