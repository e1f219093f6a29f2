// Records the operators that LibTorch dispatches on a thread, through its own observer (at::RecordFunction).
//
// Called from mod.rs here, and by bench/operators.py from a library of its own, so that two programs are counted by the same
// code.

// As LibTorch itself is compiled: without it, the class below has one more field than the library knows of.
#ifndef NDEBUG
#define NDEBUG
#endif
#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

#include "../shared.h"

namespace {

struct Call : at::ObserverContext {
  explicit Call(size_t idx) : idx(idx) {}
  size_t idx;
};

struct Entry {
  std::string name;
  bool outermost, innermost, flattens;
};

struct Observation {
  std::vector<Entry> entries;
  std::vector<size_t> open;
  at::CallbackHandle handle;
};

thread_local std::unique_ptr<Observation> observation;

// aten::reshape to one dimension; inputs are the tensor and the shape.
bool flattens(const at::RecordFunction &function, const std::string &name) {
  if (name != "aten::reshape" || function.inputs().size() < 2) return false;
  const c10::IValue &shape = function.inputs()[1];
  return shape.isIntList() && shape.toIntVector().size() == 1;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &function) {
  std::string name = function.name();
  if (!observation || name.rfind("aten::", 0) != 0) return nullptr;
  auto &[entries, open, handle] = *observation;
  if (!open.empty()) entries[open.back()].innermost = false;
  open.push_back(entries.size());
  entries.push_back({name, open.size() == 1, true, flattens(function, name)});
  return std::make_unique<Call>(open.back());
}

void end(const at::RecordFunction &, at::ObserverContext *context) {
  if (!observation || !context) return;
  auto &open = observation->open;
  size_t idx = static_cast<Call *>(context)->idx;
  while (!open.empty() && open.back() >= idx) open.pop_back();
}

} // namespace

extern "C" {

// Starts to record the calling thread.
char *totune_observe() {
  return totune::guarded([&] {
    TORCH_CHECK(!observation, "observer: this thread is being observed already");
    observation = std::make_unique<Observation>();
    auto callback = at::RecordFunctionCallback(begin, end).needsInputs(true).scopes({at::RecordScope::FUNCTION});
    observation->handle = at::addThreadLocalCallback(callback);
  });
}

// Stops, and hands over every call in the order of their beginnings: its name, and whether no other call is around it, whether
// none is inside it, and whether it reshapes a tensor to one dimension.
char *totune_observed(void *to, void (*each)(void *to, const char *name, int outermost, int innermost, int flattens)) {
  return totune::guarded([&] {
    TORCH_CHECK(observation, "observer: this thread is not being observed");
    at::removeCallback(observation->handle);
    std::unique_ptr<Observation> done = std::move(observation);
    for (const Entry &entry : done->entries)
      each(to, entry.name.c_str(), entry.outermost, entry.innermost, entry.flattens);
  });
}

} // extern "C"
