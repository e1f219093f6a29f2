//! The stack machine: the effect of each operation on the stack.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};

use super::{Global, MAX_STEPS, Machine, Text, Value};

impl<'a> Machine<'a> {
    pub(super) fn new(input: &'a [u8], at: usize) -> Self {
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
            n_entries: 0,
        }
    }

    /// Runs to the end of the pickle; its value.
    pub(super) fn run(&mut self) -> Result<Value> {
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

    pub(super) fn step(&mut self, op: u8) -> Result<()> {
        let known = self.control(op)?
            || self.constant(op)?
            || self.quoted(op)?
            || self.collection(op)?
            || self.memory(op)?
            || self.object(op)?;
        ensure!(known, "not an operation that state dicts use");
        Ok(())
    }

    /// Executes protocol, frames, marks, and operations that drop values; returns whether `op` is one of these.
    fn control(&mut self, op: u8) -> Result<bool> {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes operations for None, booleans and numbers; returns whether `op` is one of these.
    fn constant(&mut self, op: u8) -> Result<bool> {
        match op {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Text of a given length; whether `op` is one of these.
    fn quoted(&mut self, op: u8) -> Result<bool> {
        match op {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Tuples, lists and dictionaries; whether `op` is one of these.
    fn collection(&mut self, op: u8) -> Result<bool> {
        match op {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes operations of the memo, which store and load values; returns whether `op` is one of these.
    fn memory(&mut self, op: u8) -> Result<bool> {
        match op {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes operations for globals, storages and calls; returns whether `op` is one of these.
    fn object(&mut self, op: u8) -> Result<bool> {
        match op {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("as many bytes as were taken"))
    }

    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let bytes = self
            .at
            .checked_add(n)
            .and_then(|end| self.input.get(self.at..end))
            .context("the pickle ends in the middle")?;
        self.at += n;
        Ok(bytes)
    }

    pub(super) fn line(&mut self) -> Result<&'a str> {
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
    pub(super) fn long(&mut self) -> Result<()> {
        let len = usize::from(self.byte()?);
        let bytes = self.take(len)?;
        ensure!(len <= 8, "an integer of {len} bytes, expected at most 8");
        let negative = bytes.last().is_some_and(|&top| top >= 0x80);
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        wide[..len].copy_from_slice(bytes);
        self.stack.push(Value::Int(i64::from_le_bytes(wide)));
        Ok(())
    }

    pub(super) fn push_text(&mut self, len: u64) -> Result<()> {
        let len = usize::try_from(len).context("text longer than memory")?;
        let start = self.at;
        self.take(len)?;
        self.stack.push(Value::Text(Text { start, len }));
        Ok(())
    }

    pub(super) fn push_tuple(&mut self, items: Vec<Value>) {
        self.tuples.push(items);
        self.stack.push(Value::Tuple(self.tuples.len() - 1));
    }

    pub(super) fn push_dict(&mut self, entries: Vec<(Value, Value)>) {
        self.dicts.push(entries);
        self.stack.push(Value::Dict(self.dicts.len() - 1));
    }

    pub(super) fn top(&self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        ensure!(self.stack.len() > floor, "nothing on the stack");
        Ok(self.stack[self.stack.len() - 1])
    }

    pub(super) fn pop(&mut self) -> Result<Value> {
        let value = self.top()?;
        self.stack.pop();
        Ok(value)
    }

    pub(super) fn pop_to_mark(&mut self) -> Result<Vec<Value>> {
        let mark = self.marks.pop().context("no mark on the stack")?;
        Ok(self.stack.split_off(mark))
    }

    pub(super) fn top_list(&mut self) -> Result<&mut Vec<Value>> {
        match self.top()? {
            Value::List(list) => Ok(&mut self.lists[list]),
            other => bail!("{} on the stack, expected a list", other.kind()),
        }
    }

    pub(super) fn top_dict(&mut self) -> Result<&mut Vec<(Value, Value)>> {
        match self.top()? {
            Value::Dict(dict) => Ok(&mut self.dicts[dict]),
            other => bail!("{} on the stack, expected a dictionary", other.kind()),
        }
    }

    pub(super) fn remember(&mut self, slot: u32) -> Result<()> {
        let value = self.top()?;
        self.memo.insert(slot, value);
        Ok(())
    }

    pub(super) fn recall(&mut self, slot: u32) -> Result<()> {
        let value = self
            .memo
            .get(&slot)
            .with_context(|| format!("value {slot} was never remembered"))?;
        self.stack.push(*value);
        Ok(())
    }
}

/// Items as keys and values in turn.
pub(super) fn pairs(items: &[Value]) -> Result<Vec<(Value, Value)>> {
    let (pairs, rest) = items.as_chunks::<2>();
    ensure!(rest.is_empty(), "a key without a value");
    Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
}
