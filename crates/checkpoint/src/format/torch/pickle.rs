//! A reader of the pickles that state dicts are: dictionaries, numbers, text, and seven names.
//!
//! A pickle is a program for a stack machine that may import and call anything. This machine has no such power: the
//! names it knows are the variants of [`Global`], a call of one makes one of our own values, and every other name is
//! an error. Values live in flat tables and refer to each other by index, so that nothing nests, nothing is copied,
//! and a pickle that refers to itself is no danger; the number of steps is bounded.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail, ensure};

use crate::Dtype;

/// Steps of one pickle. A tensor takes about 25, a large model has a thousand of them.
const MAX_STEPS: usize = 4_000_000;

/// The storage a tensor is a view of, and which of its elements are within reach.
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

/// What a state dict holds, in the pickle's order.
pub(crate) type Views = Vec<(String, View)>;

/// The tensors of a pickled state dict.
pub(crate) fn read_state_dict(bytes: &[u8]) -> Result<Views> {
    Ok(read_state_dict_at(bytes, &mut 0)?.0)
}

/// The same from `at` on, which moves past the pickle's end; and the type of each storage it names.
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

/// One truth value of a pickled dictionary; none where it has no such key.
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

/// A value; what is larger than a number is an index into one of the machine's tables.
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
}

impl<'a> Machine<'a> {
    fn new(input: &'a [u8], at: usize) -> Self {
        Self {
            input,
            at,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            tuples: Vec::new(),
            lists: Vec::new(),
            dicts: Vec::new(),
            storages: Vec::new(),
            tensors: Vec::new(),
        }
    }

    /// Runs to the end of the pickle; its value.
    fn run(&mut self) -> Result<Value> {
        for _ in 0..MAX_STEPS {
            let at = self.at;
            let op = self.byte()?;
            if op == b'.' {
                return self.pop();
            }
            self.step(op)
                .with_context(|| format!("byte {at} of the pickle, operation 0x{op:02x}"))?;
        }
        bail!("the pickle has more than {MAX_STEPS} steps");
    }

    fn step(&mut self, op: u8) -> Result<()> {
        match op {
            0x80 => {
                let protocol = self.byte()?;
                ensure!(
                    protocol <= 5,
                    "protocol {protocol} of pickles is not known, expected at most 5"
                );
            }
            0x95 => drop(self.take(8)?), // a frame: where it ends does not matter
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()?),
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.stack.push(Value::Int(value.into()));
            }
            b'K' => {
                let value = self.byte()?;
                self.stack.push(Value::Int(value.into()));
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.stack.push(Value::Int(value.into()));
            }
            0x8a => self.long()?,
            b'G' => {
                self.take(8)?;
                self.stack.push(Value::Float);
            }
            b'U' | 0x8c => {
                let len = self.byte()?.into();
                self.push_text(len)?;
            }
            b'T' | b'X' => {
                let len = u32::from_le_bytes(self.array()?);
                self.push_text(len.into())?;
            }
            0x8d => {
                let len = u64::from_le_bytes(self.array()?);
                self.push_text(len)?;
            }
            b')' => self.push_tuple(Vec::new()),
            0x85..=0x87 => {
                let n = usize::from(op - 0x84);
                let floor = self.marks.last().copied().unwrap_or(0);
                ensure!(
                    self.stack.len() >= floor + n,
                    "fewer than {n} values on the stack"
                );
                let items = self.stack.split_off(self.stack.len() - n);
                self.push_tuple(items);
            }
            b't' => {
                let items = self.pop_to_mark()?;
                self.push_tuple(items);
            }
            b']' => {
                self.lists.push(Vec::new());
                self.stack.push(Value::List(self.lists.len() - 1));
            }
            b'a' => {
                let item = self.pop()?;
                self.top_list()?.push(item);
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.top_list()?.extend(items);
            }
            b'}' => self.push_dict(Vec::new()),
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.top_dict()?.push((key, value));
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                let pairs = pairs(&items)?;
                self.top_dict()?.extend(pairs);
            }
            b'q' => {
                let slot = self.byte()?.into();
                self.remember(slot)?;
            }
            b'r' => {
                let slot = u32::from_le_bytes(self.array()?);
                self.remember(slot)?;
            }
            0x94 => {
                let slot = u32::try_from(self.memo.len()).context("too many remembered values")?;
                self.remember(slot)?;
            }
            b'h' => {
                let slot = self.byte()?.into();
                self.recall(slot)?;
            }
            b'j' => {
                let slot = u32::from_le_bytes(self.array()?);
                self.recall(slot)?;
            }
            b'c' => {
                let module = self.line()?;
                let name = self.line()?;
                self.stack.push(Value::Global(Global::named(module, name)?));
            }
            0x93 => {
                let name = self.pop()?;
                let module = self.pop()?;
                let (module, name) = (
                    self.expect_text(module, "module")?,
                    self.expect_text(name, "name")?,
                );
                self.stack
                    .push(Value::Global(Global::named(&module, &name)?));
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = self.storage(id).context("the reference to a storage")?;
                self.storages.push(storage);
                self.stack.push(Value::Storage(self.storages.len() - 1));
            }
            b'R' => {
                let arguments = self.pop()?;
                let callee = self.pop()?;
                let made = self.call(callee, arguments)?;
                self.stack.push(made);
            }
            // The state of an OrderedDict: `_metadata`, versions of modules. It holds no tensor that counts.
            b'b' => {
                self.pop()?;
                let target = self.top()?;
                ensure!(
                    matches!(target, Value::Dict(_)),
                    "{} is given a state, expected an OrderedDict",
                    target.kind()
                );
            }
            _ => bail!("not an operation that state dicts use"),
        }
        Ok(())
    }

    /// What a call makes. Nothing is executed: there are three callable names.
    fn call(&mut self, callee: Value, arguments: Value) -> Result<Value> {
        let Value::Global(global) = callee else {
            bail!("{} is called, expected a class", callee.kind());
        };
        let arguments = self.tuple(arguments)?.to_vec();
        match (global, &arguments[..]) {
            (Global::OrderedDict, []) => {
                self.push_dict(Vec::new());
                self.pop()
            }
            (Global::OrderedDict, [Value::List(list)]) => {
                let items = self.lists[*list].clone();
                ensure!(items.len() <= MAX_STEPS, "a list of {} pairs", items.len());
                let mut entries = Vec::new();
                for item in items {
                    let pair = match item {
                        Value::List(pair) => &self.lists[pair],
                        other => self.tuple(other)?,
                    };
                    entries.extend(pairs(pair)?);
                }
                self.push_dict(entries);
                self.pop()
            }
            (Global::RebuildTensor, [Value::Storage(storage), offset, size, strides, ..]) => {
                let view = View {
                    storage: self.storages[*storage].clone(),
                    offset: self.count(*offset, "offset")?,
                    shape: self.counts(*size, "size")?,
                    strides: self.counts(*strides, "stride")?,
                };
                self.tensors.push(view);
                Ok(Value::Tensor(self.tensors.len() - 1))
            }
            (Global::RebuildParameter, [tensor @ Value::Tensor(_), ..]) => Ok(*tensor),
            (global, arguments) => {
                let kinds: Vec<&str> = arguments.iter().take(8).map(|value| value.kind()).collect();
                bail!("{global:?} is called with ({})", kinds.join(", "))
            }
        }
    }

    /// `('storage', type, key, device, elements)`, or with a view `(key, first, elements)` as the sixth.
    fn storage(&self, id: Value) -> Result<StorageRef> {
        let fields = self.tuple(id)?;
        let [tag, class, key, _device, n, rest @ ..] = fields else {
            bail!("it has {} fields, expected five or six", fields.len());
        };
        ensure!(
            self.expect_text(*tag, "tag")? == "storage",
            "its tag is not `storage`"
        );
        let Value::Global(Global::Storage(dtype)) = *class else {
            bail!("its type is {}, expected a class of storages", class.kind());
        };
        let whole = self.count(*n, "number of elements")?;
        let (first, n) = match rest {
            [] | [Value::None] => (0, whole),
            [view] => match self.tuple(*view)? {
                [_, first, n] => (
                    self.count(*first, "offset")?,
                    self.count(*n, "number of elements")?,
                ),
                fields => bail!("its view has {} fields, expected three", fields.len()),
            },
            _ => bail!("it has {} fields, expected five or six", fields.len()),
        };
        ensure!(
            first.checked_add(n).is_some_and(|end| end <= whole),
            "its view reaches outside its {whole} elements"
        );
        Ok(StorageRef {
            key: self.expect_text(*key, "key")?,
            dtype,
            first,
            n,
        })
    }

    /// The tensors of a state dict, which may be an entry `state_dict` of the root.
    fn state_dict(&self, root: Value) -> Result<Views> {
        let mut entries = self.dict(root)?;
        for &(key, value) in entries {
            if let (Value::Text(key), Value::Dict(inner)) = (key, value)
                && matches!(self.text(key)?, "state_dict" | "model_state_dict")
            {
                entries = &self.dicts[inner];
                break;
            }
        }
        let mut views = Views::new();
        let mut names = HashSet::new();
        for &(key, value) in entries {
            let name = self.expect_text(key, "name of a tensor")?;
            let Value::Tensor(tensor) = value else {
                bail!(
                    "entry `{}` is {}, expected a tensor",
                    shown(&name),
                    value.kind()
                );
            };
            ensure!(
                names.insert(name.clone()),
                "tensor `{}` is there twice",
                shown(&name)
            );
            views.push((name, self.tensors[tensor].clone()));
        }
        Ok(views)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("as many bytes as were taken"))
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let bytes = self
            .at
            .checked_add(n)
            .and_then(|end| self.input.get(self.at..end))
            .context("the pickle ends in the middle")?;
        self.at += n;
        Ok(bytes)
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = &self.input[self.at..];
        // No name that is known is longer; the file behind the pickle may be gigabytes.
        let len = rest
            .iter()
            .take(256)
            .position(|&byte| byte == b'\n')
            .context("a name does not end")?;
        self.at += len + 1;
        std::str::from_utf8(&rest[..len]).context("a name is not UTF-8")
    }

    /// A little-endian integer of up to eight bytes, in two's complement.
    fn long(&mut self) -> Result<()> {
        let len = usize::from(self.byte()?);
        let bytes = self.take(len)?;
        ensure!(len <= 8, "an integer of {len} bytes, expected at most 8");
        let negative = bytes.last().is_some_and(|&top| top >= 0x80);
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        wide[..len].copy_from_slice(bytes);
        self.stack.push(Value::Int(i64::from_le_bytes(wide)));
        Ok(())
    }

    fn push_text(&mut self, len: u64) -> Result<()> {
        let len = usize::try_from(len).context("text longer than memory")?;
        let start = self.at;
        self.take(len)?;
        self.stack.push(Value::Text(Text { start, len }));
        Ok(())
    }

    fn push_tuple(&mut self, items: Vec<Value>) {
        self.tuples.push(items);
        self.stack.push(Value::Tuple(self.tuples.len() - 1));
    }

    fn push_dict(&mut self, entries: Vec<(Value, Value)>) {
        self.dicts.push(entries);
        self.stack.push(Value::Dict(self.dicts.len() - 1));
    }

    fn top(&self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        ensure!(self.stack.len() > floor, "nothing on the stack");
        Ok(self.stack[self.stack.len() - 1])
    }

    fn pop(&mut self) -> Result<Value> {
        let value = self.top()?;
        self.stack.pop();
        Ok(value)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value>> {
        let mark = self.marks.pop().context("no mark on the stack")?;
        Ok(self.stack.split_off(mark))
    }

    fn top_list(&mut self) -> Result<&mut Vec<Value>> {
        match self.top()? {
            Value::List(list) => Ok(&mut self.lists[list]),
            other => bail!("{} on the stack, expected a list", other.kind()),
        }
    }

    fn top_dict(&mut self) -> Result<&mut Vec<(Value, Value)>> {
        match self.top()? {
            Value::Dict(dict) => Ok(&mut self.dicts[dict]),
            other => bail!("{} on the stack, expected a dictionary", other.kind()),
        }
    }

    fn remember(&mut self, slot: u32) -> Result<()> {
        let value = self.top()?;
        self.memo.insert(slot, value);
        Ok(())
    }

    fn recall(&mut self, slot: u32) -> Result<()> {
        let value = self
            .memo
            .get(&slot)
            .with_context(|| format!("value {slot} was never remembered"))?;
        self.stack.push(*value);
        Ok(())
    }

    fn text(&self, text: Text) -> Result<&'a str> {
        std::str::from_utf8(&self.input[text.start..text.start + text.len])
            .context("text is not UTF-8")
    }

    fn expect_text(&self, value: Value, what: &str) -> Result<String> {
        match value {
            Value::Text(text) => {
                // Names are short; text of megabytes, named again and again, would fill the memory.
                ensure!(text.len <= 1024, "{what} of {} bytes", text.len);
                Ok(self.text(text)?.to_string())
            }
            other => bail!("{what} is {}, expected text", other.kind()),
        }
    }

    fn tuple(&self, value: Value) -> Result<&[Value]> {
        match value {
            Value::Tuple(tuple) => Ok(&self.tuples[tuple]),
            other => bail!("found {}, expected a tuple", other.kind()),
        }
    }

    fn dict(&self, value: Value) -> Result<&[(Value, Value)]> {
        match value {
            Value::Dict(dict) => Ok(&self.dicts[dict]),
            other => bail!("found {}, expected a dictionary of tensors", other.kind()),
        }
    }

    fn count(&self, value: Value, what: &str) -> Result<usize> {
        match value {
            Value::Int(n) => usize::try_from(n).with_context(|| format!("{what} is {n}")),
            other => bail!("{what} is {}, expected a number", other.kind()),
        }
    }

    fn counts(&self, value: Value, what: &str) -> Result<Vec<usize>> {
        let items = match value {
            Value::List(list) => &self.lists[list],
            other => self.tuple(other)?,
        };
        ensure!(items.len() <= 16, "{what} of {} dimensions", items.len());
        items.iter().map(|&item| self.count(item, what)).collect()
    }
}

/// Items as keys and values in turn.
fn pairs(items: &[Value]) -> Result<Vec<(Value, Value)>> {
    let (pairs, rest) = items.as_chunks::<2>();
    ensure!(rest.is_empty(), "a key without a value");
    Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
}
