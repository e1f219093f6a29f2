//! `totune encoders convert`: checkpoints of any format as safetensors.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use totune_checkpoint::{Checkpoint, Conversion, Dtype};
use totune_model::EncoderCatalogue;
use totune_stats::number;

use super::roots;
use crate::context::Context;
use crate::exit;

/// Write any checkpoint as safetensors, with its configuration and tokenizer
///
/// Reads safetensors, PyTorch, TensorFlow and HDF5 files, whole or in shards. The new folder appears whole or not at all.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  totune encoders convert ~/models/uncased_L-12_H-768_A-12 --to ~/models/bert\n  totune encoders convert elmo-original --to elmo-original-f16 --dtype f16"
)]
pub struct Convert {
    /// An encoder, a folder with a checkpoint, or its file
    #[arg(value_name = "NAME|PATH")]
    from: String,

    /// New folder
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,

    /// Data type of the file; f16 and bf16 halve it, and f16 refuses numbers out of its range
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    dtype: Precision,
}

/// Data type of stored numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Precision {
    F32,
    F16,
    Bf16,
}

impl Convert {
    pub(super) fn run(self, context: &Context, catalogue: &EncoderCatalogue) -> Result<u8> {
        let file = match catalogue.find(&self.from) {
            Ok(card) => match card.find(&roots(context, card))? {
                Some((_, _, file)) => file,
                None => anyhow::bail!(card.missing(&roots(context, card)).unwrap_or_default()),
            },
            Err(error) => {
                let path = Path::new(&self.from);
                let is_path = path.exists() || path.components().count() > 1;
                if !is_path {
                    return Err(error);
                }
                path.to_owned()
            }
        };
        let from = Checkpoint::open(&file)?;
        let conversion = Conversion {
            from: &from,
            to: &self.to,
            dtype: match self.dtype {
                Precision::F32 => Dtype::F32,
                Precision::F16 => Dtype::F16,
                Precision::Bf16 => Dtype::BF16,
            },
        };
        let written = conversion.write()?;
        println!(
            "{}: {} tensors, {} bytes from {} bytes of {}\n  sha-256  {}",
            written.weights.display(),
            written.n_tensors,
            number::count(written.bytes),
            number::count(from.bytes()),
            from.format(),
            written.hash
        );
        if !written.companions.is_empty() {
            println!("  with     {}", written.companions.join(", "));
        }
        Ok(exit::OK)
    }
}
