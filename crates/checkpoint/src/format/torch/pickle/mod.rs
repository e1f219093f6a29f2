//! A reader of the pickles that state dicts are: dictionaries, numbers, text, and seven names.
//!
//! A pickle is a program for a stack machine that may import and call anything. This machine has no such power: the
//! names it knows are the variants of [`Global`], a call of one makes one of our own values, and every other name is
//! an error. Values live in flat tables and refer to each other by index, so that nothing nests, nothing is copied,
//! and a pickle that refers to itself is no danger; the number of steps is bounded.

mod machine;
mod meaning;

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};

use crate::Dtype;

/// Steps of one pickle. A tensor takes about 25, a large model has a thousand of them.
const MAX_STEPS: usize = 4_000_000;

/// The storage a tensor is a view of, and the range of its elements within reach.
#[derive(Debug, Clone)]
pub(crate) struct StorageRef {
    pub key: String,
    pub dtype: Dtype,
    /// First element; other than 0 only in files of 2017.
    pub first: usize,
    /// Elements.
    pub n: usize,
}

/// A tensor as the pickle describes it, in elements; nothing in it has been checked against the file.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub storage: StorageRef,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

/// The tensors of a state dict, in the pickle's order.
pub(crate) type Views = Vec<(String, View)>;

/// The tensors of a pickled state dict.
pub(crate) fn read_state_dict(bytes: &[u8]) -> Result<Views> {
    Ok(read_state_dict_at(bytes, &mut 0)?.0)
}

/// Like [`read_state_dict`], from `at` on, which moves past the pickle's end; and the type of each storage it names.
pub(crate) fn read_state_dict_at(
    bytes: &[u8],
    at: &mut usize,
) -> Result<(Views, HashMap<String, Dtype>)> {
    let mut machine = Machine::new(bytes, *at);
    let root = machine.run()?;
    *at = machine.at;
    let views = machine.state_dict(root)?;
    let mut types = HashMap::new();
    for storage in machine.storages {
        let dtype = storage.dtype;
        ensure!(
            *types.entry(storage.key.clone()).or_insert(dtype) == dtype,
            "storage `{}` is of two types",
            storage.key
        );
    }
    Ok((views, types))
}

/// A pickle of one integer.
pub(crate) fn read_integer(bytes: &[u8], at: &mut usize) -> Result<i64> {
    let mut machine = Machine::new(bytes, *at);
    let root = machine.run()?;
    *at = machine.at;
    match root {
        Value::Int(value) => Ok(value),
        other => bail!("found {}, expected an integer", other.kind()),
    }
}

/// One boolean of a pickled dictionary; none if it has no such key.
pub(crate) fn read_flag(bytes: &[u8], at: &mut usize, key: &str) -> Result<Option<bool>> {
    let mut machine = Machine::new(bytes, *at);
    let root = machine.run()?;
    *at = machine.at;
    for &(name, value) in machine.dict(root)? {
        if let (Value::Text(text), Value::Bool(flag)) = (name, value)
            && machine.text(text)? == key
        {
            return Ok(Some(flag));
        }
    }
    Ok(None)
}

/// A pickled list of text.
pub(crate) fn read_strings(bytes: &[u8], at: &mut usize) -> Result<Vec<String>> {
    let mut machine = Machine::new(bytes, *at);
    let root = machine.run()?;
    *at = machine.at;
    let Value::List(list) = root else {
        bail!("found {}, expected a list", root.kind());
    };
    machine.lists[list]
        .iter()
        .map(|&item| machine.expect_text(item, "key of a storage"))
        .collect()
}

/// The names a state dict may use.
#[derive(Debug, Clone, Copy)]
enum Global {
    OrderedDict,
    /// `_rebuild_tensor(storage, offset, size, stride)`, and `_v2` with three more that do not matter here.
    RebuildTensor,
    /// `_rebuild_parameter(tensor, requires_grad, hooks)`.
    RebuildParameter,
    Storage(Dtype),
}

impl Global {
    fn named(module: &str, name: &str) -> Result<Self> {
        Ok(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch" | "torch.storage", "DoubleStorage") => Self::Storage(Dtype::F64),
            ("torch" | "torch.storage", "FloatStorage") => Self::Storage(Dtype::F32),
            ("torch" | "torch.storage", "HalfStorage") => Self::Storage(Dtype::F16),
            ("torch" | "torch.storage", "BFloat16Storage") => Self::Storage(Dtype::BF16),
            ("torch" | "torch.storage", "LongStorage") => Self::Storage(Dtype::I64),
            ("torch" | "torch.storage", "IntStorage") => Self::Storage(Dtype::I32),
            ("torch" | "torch.storage", "ShortStorage") => Self::Storage(Dtype::I16),
            ("torch" | "torch.storage", "CharStorage") => Self::Storage(Dtype::I8),
            ("torch" | "torch.storage", "ByteStorage") => Self::Storage(Dtype::U8),
            ("torch" | "torch.storage", "BoolStorage") => Self::Storage(Dtype::Bool),
            _ => bail!(
                "the pickle names `{}.{}`, which no state dict needs: refused. Expected tensors of plain types in an \
                 OrderedDict",
                shown(module),
                shown(name)
            ),
        })
    }
}

/// Text from a hostile file, short enough to print.
fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// A range of the pickle's bytes.
#[derive(Debug, Clone, Copy)]
struct Text {
    start: usize,
    len: usize,
}

/// A value; those larger than a number are indices into the machine's tables.
#[derive(Debug, Clone, Copy)]
enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float,
    Text(Text),
    Tuple(usize),
    List(usize),
    Dict(usize),
    Global(Global),
    Storage(usize),
    Tensor(usize),
}

impl Value {
    fn kind(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "an integer",
            Self::Float => "a float",
            Self::Text(_) => "text",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dictionary",
            Self::Global(_) => "a class",
            Self::Storage(_) => "a storage",
            Self::Tensor(_) => "a tensor",
        }
    }
}

/// The machine's state; [`machine`] runs it, [`meaning`] interprets its values.
struct Machine<'a> {
    input: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
    tuples: Vec<Vec<Value>>,
    lists: Vec<Vec<Value>>,
    dicts: Vec<Vec<(Value, Value)>>,
    storages: Vec<StorageRef>,
    tensors: Vec<View>,
    /// Entries of dictionaries made from lists, which a pickle can name again and again.
    n_entries: usize,
}
