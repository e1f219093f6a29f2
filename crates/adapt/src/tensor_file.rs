//! Files of tensors with text, which carry their checksum: the form of checkpoints within a run.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::{DType, TensorData};
use safetensors::{Dtype, SafeTensors, View};
use sha2::{Digest, Sha256};
use totune_model::fused::ParameterMoments;

use crate::parameters::Values;

/// Key of the checksum.
const CHECKSUM: &str = "sha256";

/// Key of the steps that each parameter's optimizer state has taken.
const STEPS: &str = "steps";

/// Tensors of f32 and texts by name, as one safetensors file whose metadata are the texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TensorFile {
    /// Texts.
    pub texts: BTreeMap<String, String>,
    /// Tensors, in groups: `<group>/<name>`.
    tensors: Values,
}

impl TensorFile {
    /// Adds a group of tensors.
    pub fn insert(&mut self, group: &str, values: Values) {
        let named = values.into_iter();
        let named = named.map(|(name, data)| (format!("{group}/{name}"), data));
        self.tensors.extend(named);
    }

    /// Removes and returns a group of tensors.
    pub fn take(&mut self, group: &str) -> Values {
        let prefix = format!("{group}/");
        let (taken, left) = std::mem::take(&mut self.tensors)
            .into_iter()
            .partition(|(name, _)| name.starts_with(&prefix));
        self.tensors = left;
        let taken: Values = taken;
        let named = taken.into_iter();
        let named = named.map(|(name, data)| (name[prefix.len()..].to_string(), data));
        named.collect()
    }

    /// Adds the state of an optimizer.
    pub fn insert_moments(&mut self, moments: BTreeMap<String, ParameterMoments>) -> Result<()> {
        let mut steps = BTreeMap::new();
        let (mut firsts, mut seconds) = (Values::new(), Values::new());
        for (name, moments) in moments {
            steps.insert(name.clone(), moments.steps);
            firsts.insert(name.clone(), moments.first);
            seconds.insert(name, moments.second);
        }
        let steps = serde_json::to_string(&steps)?;
        self.texts.insert(STEPS.to_string(), steps);
        self.insert("first", firsts);
        self.insert("second", seconds);
        Ok(())
    }

    /// Removes and returns the state of an optimizer.
    ///
    /// # Errors
    /// When a part of it is missing.
    pub fn take_moments(&mut self) -> Result<BTreeMap<String, ParameterMoments>> {
        let steps = self.texts.remove(STEPS).context("no optimizer state")?;
        let steps: BTreeMap<String, i32> = serde_json::from_str(&steps).context(STEPS)?;
        let (mut firsts, mut seconds) = (self.take("first"), self.take("second"));
        let whole = |(name, steps): (String, i32)| {
            let missing = || format!("optimizer state of `{name}` is not whole");
            let moments = ParameterMoments {
                first: firsts.remove(&name).with_context(missing)?,
                second: seconds.remove(&name).with_context(missing)?,
                steps,
            };
            Ok((name, moments))
        };
        let moments = steps.into_iter().map(whole).collect::<Result<_>>()?;
        if let Some(name) = firsts.keys().chain(seconds.keys()).next() {
            bail!("optimizer state of `{name}` is not whole");
        }
        Ok(moments)
    }

    /// Refuses tensors of groups that nobody took.
    ///
    /// # Errors
    /// Names the first one.
    pub fn expect_empty(&self) -> Result<()> {
        if let Some(name) = self.tensors.keys().next() {
            bail!("tensor `{name}`: unexpected");
        }
        Ok(())
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// When a tensor is not of f32, or the texts exceed what a header may hold (100 MB).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        for (name, data) in &self.tensors {
            ensure!(
                data.dtype() == DType::F32,
                "tensor `{name}`: found {:?}, expected F32",
                data.dtype()
            );
        }
        let mut metadata: HashMap<String, String> = self.texts.clone().into_iter().collect();
        metadata.insert(CHECKSUM.to_string(), self.checksum());
        let tensors = self.tensors.iter().map(|(name, data)| (name, Float(data)));
        safetensors::serialize(tensors, Some(metadata)).context("tensors as bytes")
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// When it is no such file, not whole, or its checksum is not that of its content.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes).context("not a safetensors file")?;
        let texts = header.metadata().clone().unwrap_or_default();
        let mut read = Self {
            texts: texts.into_iter().collect(),
            tensors: Values::new(),
        };
        let file = SafeTensors::deserialize(bytes).context("not a whole safetensors file")?;
        for (name, tensor) in file.iter() {
            ensure!(
                tensor.dtype() == Dtype::F32,
                "tensor `{name}`: found {:?}, expected F32",
                tensor.dtype()
            );
            let floats = tensor.data().chunks_exact(4);
            let values: Vec<f32> = floats
                .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                .collect();
            let data = TensorData::new(values, tensor.shape().to_vec());
            read.tensors.insert(name.to_string(), data);
        }
        let expected = read.texts.remove(CHECKSUM);
        let expected = expected.context("not a checkpoint of a run: no `sha256`")?;
        let found = read.checksum();
        ensure!(
            found == expected,
            "the SHA-256 of its content is {found}, expected {expected}: the file is damaged"
        );
        Ok(read)
    }

    /// SHA-256 of all texts and tensors with their names, lengths and shapes.
    fn checksum(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for (name, text) in &self.texts {
            add(name.as_bytes());
            add(text.as_bytes());
        }
        for (name, data) in &self.tensors {
            add(name.as_bytes());
            add(format!("{:?}", data.shape().to_vec()).as_bytes());
            add(data.as_bytes());
        }
        let digits = hash.finalize();
        digits.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A tensor of f32 on its way into a file.
struct Float<'a>(&'a TensorData);

impl View for Float<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        self.0.shape().as_slice()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.0.as_bytes())
    }

    fn data_len(&self) -> usize {
        self.0.as_bytes().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> TensorFile {
        let data = |value: f32| TensorData::new(vec![value, -1.0], [2]);
        let mut file = TensorFile::default();
        file.texts.insert("about".into(), "{}".into());
        file.insert("weights", Values::from([("a.b".into(), data(0.5))]));
        let moments = ParameterMoments {
            first: data(0.25),
            second: data(0.125),
            steps: 7,
        };
        file.insert_moments(BTreeMap::from([("a.b".into(), moments)]))
            .expect("plain numbers");
        file
    }

    #[test]
    fn a_file_is_read_back_by_groups() {
        let written = file().to_bytes().expect("bytes");
        let mut read = TensorFile::from_bytes(&written).expect("whole");
        assert_eq!(read, file());
        assert_eq!(read.texts["about"], "{}");
        let moments = read.take_moments().expect("a state");
        assert_eq!(moments["a.b"].steps, 7);
        assert!(read.expect_empty().is_err());
        assert_eq!(read.take("weights").keys().collect::<Vec<_>>(), ["a.b"]);
        read.expect_empty().expect("all was taken");
    }

    /// Every single bit that is flipped, and every end that is missing, is an error.
    #[test]
    fn any_damage_is_noticed() {
        let written = file().to_bytes().expect("bytes");
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1;
            // White space pads the header; a flipped bit there makes it no JSON, or another character of no meaning.
            if let Ok(read) = TensorFile::from_bytes(&damaged) {
                assert_eq!(read, file(), "byte {at}");
            }
            assert!(
                TensorFile::from_bytes(&written[..at]).is_err(),
                "{at} bytes"
            );
        }
        let last = written.len() - 1;
        let mut damaged = written;
        damaged[last] ^= 1;
        let message = format!(
            "{:#}",
            TensorFile::from_bytes(&damaged).expect_err("noticed")
        );
        assert!(message.contains("the file is damaged"), "{message}");
    }

    #[test]
    fn state_that_is_not_whole_is_named() {
        let mut file = file();
        file.take("second");
        let message = format!("{:#}", file.take_moments().expect_err("half of it"));
        assert_eq!(message, "optimizer state of `a.b` is not whole");
    }
}
