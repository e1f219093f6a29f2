//! The meaning of the values of a state dict's pickle: storages, tensors, names.

use std::collections::HashSet;

use anyhow::{Context, Result, bail, ensure};

use super::{Global, MAX_STEPS, Machine, StorageRef, Text, Value, View, Views, shown};

impl<'a> Machine<'a> {
    /// The result of a call. Nothing is executed: there are three callable names.
    pub(super) fn call(&mut self, callee: Value, arguments: Value) -> Result<Value> {
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
                self.n_entries = self.n_entries.saturating_add(items.len());
                ensure!(
                    self.n_entries <= MAX_STEPS,
                    "lists of more than {MAX_STEPS} pairs"
                );
                let mut entries = Vec::new();
                for item in items {
                    let pair = match item {
                        Value::List(pair) => &self.lists[pair],
                        other => self.tuple(other)?,
                    };
                    let &[key, value] = pair else {
                        bail!(
                            "a list of {} values, expected a key and its value",
                            pair.len()
                        );
                    };
                    entries.push((key, value));
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
    pub(super) fn storage(&self, id: Value) -> Result<StorageRef> {
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
    pub(super) fn state_dict(&self, root: Value) -> Result<Views> {
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

    pub(super) fn text(&self, text: Text) -> Result<&'a str> {
        std::str::from_utf8(&self.input[text.start..text.start + text.len])
            .context("text is not UTF-8")
    }

    pub(super) fn expect_text(&self, value: Value, what: &str) -> Result<String> {
        match value {
            Value::Text(text) => {
                // Names are short; text of megabytes, named again and again, would fill the memory.
                ensure!(text.len <= 1024, "{what} of {} bytes", text.len);
                Ok(self.text(text)?.to_string())
            }
            other => bail!("{what} is {}, expected text", other.kind()),
        }
    }

    pub(super) fn tuple(&self, value: Value) -> Result<&[Value]> {
        match value {
            Value::Tuple(tuple) => Ok(&self.tuples[tuple]),
            other => bail!("found {}, expected a tuple", other.kind()),
        }
    }

    pub(super) fn dict(&self, value: Value) -> Result<&[(Value, Value)]> {
        match value {
            Value::Dict(dict) => Ok(&self.dicts[dict]),
            other => bail!("found {}, expected a dictionary of tensors", other.kind()),
        }
    }

    pub(super) fn count(&self, value: Value, what: &str) -> Result<usize> {
        match value {
            Value::Int(n) => usize::try_from(n).with_context(|| format!("{what} is {n}")),
            other => bail!("{what} is {}, expected a number", other.kind()),
        }
    }

    pub(super) fn counts(&self, value: Value, what: &str) -> Result<Vec<usize>> {
        let items = match value {
            Value::List(list) => &self.lists[list],
            other => self.tuple(other)?,
        };
        ensure!(items.len() <= 16, "{what} of {} dimensions", items.len());
        items.iter().map(|&item| self.count(item, what)).collect()
    }
}
