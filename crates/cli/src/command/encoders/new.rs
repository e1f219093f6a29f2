//! `totune encoders new`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use burn::tensor::Device;
use clap::Args;
use serde_json::Value;
use totune_adapt::Reader;
use totune_disk::quoted_for_shell;
use totune_model::{CardDraft, Encoder, EncoderCard, TokenizerKind};

use super::{roots, weights_at};
use crate::command::data::write_new;
use crate::context::Context;
use crate::exit;

/// Write a card for a checkpoint of your own, from the files in its folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune encoders new ~/models/mine
  totune encoders new ~/models/mine --out encoders/my-encoder.toml --cased

The network is that of `config.json` (or ELMo's `options.json`). It is loaded once, with its
tokenizer, before the card is written; where the files do not agree, or the network is none that is
known here, the message names the part. A folder of sentence-transformers also says which vector
is that of a text, and what is put before it.")]
pub struct New {
    /// Folder with the weights, `config.json` and the tokenizer
    folder: PathBuf,
    /// Text is lower-cased, where the folder does not say it
    #[arg(long, conflicts_with = "cased")]
    lowercase: bool,
    /// Text keeps its case, where the folder does not say it
    #[arg(long)]
    cased: bool,
    /// File to write the card to, whose name is that of the encoder [default: in encoders/ of the project, named like the folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl New {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let dir = fs::canonicalize(&self.folder)
            .with_context(|| format!("{}: cannot be read", self.folder.display()))?;
        let file = weights_at(&dir)?;
        let place = Place::of(&dir)?;
        let path = match &self.out {
            Some(out) => out.clone(),
            None => {
                context.project.check()?; // elsewhere nothing would find the card
                let name = format!("{}.toml", place.name());
                context.project.root.join("encoders").join(name)
            }
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let draft = CardDraft::new(&file)?;
        let lowercase = self.is_lowercase(&dir, draft.architecture.tokenizer())?;
        let text = draft.text(&name, &place.folder, lowercase)?;
        let card: EncoderCard =
            toml::from_str(&text).with_context(|| format!("{}: makes no card", dir.display()))?;
        let loaded = card.load(std::slice::from_ref(&place.root), &Device::flex())?;
        let pad_id = loaded.encoder.pad_id();
        Reader::open(&loaded.dir, &card.architecture, lowercase, pad_id)?;
        write_new(&path, &text)?;
        print!("{text}");
        let shown = context.shown(&path);
        eprintln!(
            "\nwritten to {shown}; look it over, then: totune encoders check {}",
            quoted_for_shell(&name)
        );
        if card.find(&roots(context, &card))?.is_none() {
            eprintln!(
                "`{}` is looked for in encoders/ of a project and below the encoder root: put the folder there, or use --encoders {}",
                place.folder,
                quoted_for_shell(&place.root.display().to_string())
            );
        }
        Ok(exit::OK)
    }

    /// Returns whether text is lower-cased, as the tokenizer's files say or the options.
    fn is_lowercase(&self, dir: &Path, tokenizer: TokenizerKind) -> Result<bool> {
        if tokenizer != TokenizerKind::Wordpiece {
            return Ok(false);
        }
        for (name, key) in [
            ("tokenizer.json", "/normalizer/lowercase"),
            ("tokenizer_config.json", "/do_lower_case"),
        ] {
            let path = dir.join(name);
            if !path.is_file() {
                continue;
            }
            let shown = path.display();
            let text =
                fs::read_to_string(&path).with_context(|| format!("{shown}: cannot be read"))?;
            let json: Value =
                serde_json::from_str(&text).with_context(|| format!("{shown}: not JSON"))?;
            if let Some(found) = json.pointer(key).and_then(Value::as_bool) {
                return Ok(found);
            }
        }
        if self.lowercase || self.cased {
            return Ok(self.lowercase);
        }
        bail!(
            "{}: neither `tokenizer.json` nor `tokenizer_config.json` says whether text is lower-cased; add --lowercase or --cased",
            dir.display()
        )
    }
}

/// The place of a checkpoint as a card has it.
struct Place {
    /// The encoder root that it is below.
    root: PathBuf,
    /// Name of its folder there; of one in the Hub's cache, that of its repository.
    folder: String,
}

impl Place {
    fn of(dir: &Path) -> Result<Self> {
        // `models--<owner>--<name>/snapshots/<revision>`
        let repository = dir
            .parent()
            .filter(|parent| parent.ends_with("snapshots"))
            .and_then(Path::parent);
        let folder = repository.unwrap_or(dir);
        let (Some(root), Some(name)) = (folder.parent(), folder.file_name()) else {
            bail!("{}: expected a folder with a name", dir.display());
        };
        Ok(Self {
            root: root.to_path_buf(),
            folder: name.to_string_lossy().into_owned(),
        })
    }

    /// Name of the encoder.
    fn name(&self) -> &str {
        self.folder.rsplit("--").next().unwrap_or(&self.folder)
    }
}
