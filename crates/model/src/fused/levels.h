// A set of functions that is compiled for several widths of vectors: the one for the widest that this processor has.

#pragma once

#include <atomic>

namespace totune {

// `level` gives the set of each width, from 0, the narrowest, to 2; null where this processor has none such.
template <typename Set, const Set *(*level)(int)> class Widest {
public:
  const Set *get() {
    const Set *found = chosen;
    for (int i = 2; !found; i--) found = level(i);
    chosen = found;
    return found;
  }

  // Takes those of one width from now on, for tests; whether there are such.
  bool take(int i) {
    const Set *found = level(i);
    if (found) chosen = found;
    return found != nullptr;
  }

private:
  std::atomic<const Set *> chosen{nullptr};
};

} // namespace totune
