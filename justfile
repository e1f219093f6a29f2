# `./justw` alone lists the recipes. Each is one or two calls of the totune binary or of cargo.

set positional-arguments
set quiet

# One folder decides which libtorch is compiled against and runs: .tools/libtorch. Two different ones fail silently.
unexport LIBTORCH_LIB
unexport LIBTORCH_INCLUDE
unexport LIBTORCH_USE_PYTORCH

# LibTorch where it is set up; with TOTUNE_FEATURES= (empty) the flex device runs everything.
features := env("TOTUNE_FEATURES", if os() + "-" + arch() == "linux-x86_64" { "tch" } else { "" })

# One profile and one set of features for all recipes, so that a fresh machine compiles each dependency once.
flags := "--profile quick --locked --features " + quote(features) + if features == "" { " --config setup/flex.toml" } else { "" }

# Paths in the arguments are those of the folder that a recipe is called in, so setup/here runs the program there. Cargo
# itself stays in this folder, where its configuration is.
run := "TOTUNE_HERE=" + quote(invocation_directory()) + " cargo run --config setup/here.toml --bin totune"
totune := run + " --quiet " + flags + " --"
optimised := run + " --release --locked --features " + quote(features) + " --"

# Programs in target/ find libtorch by themselves (.cargo/config.toml). This is for those that do not: doc tests,
# which are linked in a temporary folder, and all of them where CARGO_TARGET_DIR or RUSTFLAGS is set.
torch_lib := justfile_directory() / ".tools/libtorch/torch/lib"
export LD_LIBRARY_PATH := torch_lib + if env("LD_LIBRARY_PATH", "") == "" { "" } else { ":" + env("LD_LIBRARY_PATH") }

_default:
    {{ quote(just_executable()) }} --justfile {{ quote(justfile()) }} --list --unsorted

# Run what is missing of a paper's grid, then write its report
[group('papers')]
[no-exit-message]
reproduce PAPER *ARGS: _build
    {{ totune }} reproduce "$@"

# Write tables, figures and verdicts again from the stored results, without training
[group('papers')]
[no-exit-message]
report PAPER *ARGS: _build
    {{ totune }} report "$@"

# Draw time against score for one task of a paper, such as `curves wang2023 cola small`
[group('papers')]
[no-exit-message]
curves PAPER TASK *ARGS: _build
    {{ totune }} curves "$@"

# List what `reproduce` would run, and why (--json for programs)
[group('papers')]
[no-exit-message]
plan PAPER *ARGS: _build
    {{ totune }} sweep plan "$@"

# Any other command of totune, such as `./justw totune data list`
[group('papers')]
[no-exit-message]
totune *ARGS: _build
    {{ totune }} "$@"

# Say what this machine has, what is missing, and what to do about it
[group('machine')]
[no-exit-message]
doctor *ARGS: _build
    {{ totune }} doctor "$@"

# Install and compile everything the other recipes need, so that they work offline
[group('machine')]
setup: _build
    cargo test {{ flags }} --no-run

# Install totune into cargo's folder of binaries, for use in any folder; this checkout has to stay where it is
[group('machine')]
install: _libtorch
    cargo install --locked --path crates/cli --features {{ quote(features) }}

# Pack totune, encoders and data into one archive for a machine with only Python and PyTorch: `bundle cuda --data sst-2`
[group('machine')]
[no-exit-message]
[no-cd]
bundle *ARGS:
    {{ quote(justfile_directory() / "setup/bundle") }} "$@"

# Run all tests; arguments go to cargo test, such as part of a name
[group('develop')]
[no-exit-message]
test *ARGS: _libtorch
    # Many small networks at once: threads that spin while they wait would take each other's time.
    # Twice as many tests as cores, since some wait for a clock or a process.
    OMP_WAIT_POLICY={{ env("OMP_WAIT_POLICY", "passive") }} RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * {{ num_cpus() }}))} cargo test {{ flags }} "$@"

# Test sweeps on a real SLURM of one node (needs slurm-wlm, munge, slurmdbd and mariadb-server; takes some minutes)
[group('develop')]
[no-exit-message]
test-slurm NAME="": _libtorch
    OMP_NUM_THREADS=1 cargo test {{ flags }} --test commands -- --ignored --test-threads=1 "slurm::$1"

# Disturb commands by kills, full disks, power losses, changed bits and clocks: the thorough tests too (an hour or two)
[group('develop')]
[no-exit-message]
test-faults KIND="": _libtorch
    OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive cargo test {{ flags }} --test commands -- --include-ignored --nocapture --test-threads=2 "faults::$1"

# Check the format, then run clippy with warnings denied, with and without LibTorch
[group('develop')]
[no-exit-message]
lint: _libtorch
    cargo fmt --all --check
    cargo clippy {{ flags }} --workspace --all-targets -- --deny warnings
    cargo clippy --profile quick --locked --package totune-cli -- --deny warnings

# Time totune next to what others use: `bench` lists what can be timed, `bench micro NAME` runs cargo's own benches
[group('develop')]
[no-exit-message]
bench *ARGS: _libtorch
    case "${1-}" in \
        "" | -*) {{ totune }} bench "$@" ;; \
        regret | scale) {{ optimised }} bench "$@" ;; \
        micro) shift && cargo bench --locked --features {{ quote(features) }} --bench '*' -- "$@" ;; \
        data) TOTUNE_PYTHON=${TOTUNE_PYTHON:-$(setup/reference datasets)} && export TOTUNE_PYTHON && {{ optimised }} bench "$@" ;; \
        *) TOTUNE_PYTHON=${TOTUNE_PYTHON:-$(setup/reference)} && export TOTUNE_PYTHON && {{ optimised }} bench "$@" ;; \
    esac

# Fuzz every reader for some seconds each, or the targets named: `fuzz 600 csv torch`
[group('develop')]
[no-exit-message]
fuzz SECONDS="60" *TARGETS:
    setup/fuzz "$@"

# Make the fixtures and their reference values again, with pinned Python packages
[group('develop')]
fixtures:
    setup/fixtures

[no-exit-message]
_libtorch:
    setup/libtorch {{ quote(features) }}

[no-exit-message]
_build: _libtorch
    cargo build {{ flags }} --bin totune
