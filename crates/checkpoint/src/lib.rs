//! Pretrained weights from every format they circulate in; safetensors out.
//!
//! A [`Checkpoint`] is an opened file or folder of any [`Format`]: names, shapes and types are known, a tensor is read
//! on request, and [`Checkpoint::hash`] identifies the weights. [`Published`] shows it under the names that
//! architectures are published with ([`Naming`] maps those of TensorFlow, of older files, of DistilBERT and of ELMo)
//! and hands out each tensor once. [`Conversion`] writes any of it as safetensors.
//!
//! ```no_run
//! use totune_checkpoint::{Checkpoint, Naming, Published};
//!
//! let checkpoint = Checkpoint::open("bert-base-uncased".as_ref())?;
//! println!("{} {}", checkpoint.format(), checkpoint.hash());
//! let mut weights = Published::new(checkpoint, Naming::Bert)?;
//! let bias = weights.take("pooler.dense.bias", &[768])?;
//! # anyhow::Ok(())
//! ```
//!
//! Files are not trusted: no pickle is executed, nothing is unpacked beyond a bound, and every length, offset and
//! count is checked before it is used. This crate knows no network and no device, and opens no socket.

mod bytes;
mod checkpoint;
mod convert;
mod dtype;
mod folder;
mod format;
mod names;
mod published;
mod stored;

pub use checkpoint::{Checkpoint, Tensor, TensorInfo};
pub use convert::{Conversion, Converted};
pub use dtype::Dtype;
pub use folder::find;
pub use format::Format;
pub use names::Naming;
pub use names::albert::albert_name;
pub use names::distilbert::distilbert_name;
pub use names::elmo::{CharCnn, ElmoOptions, Lstm};
pub use published::{Difference, Published};
