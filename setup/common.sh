# shellcheck shell=sh
# What the set-up scripts share: where things go, how a part is built beside its place, and how pip is found.
# Sourced by scripts in this folder, which run under `set -eu`.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
tools=$root/.tools

say() { echo "totune: $1" >&2; }

# Ends the script: what went wrong, then what to do about it.
fail() {
    echo "totune: error: $1" >&2
    echo "totune: remedy: $2" >&2
    exit 1
}

# The release of the libtorch in folder $1, such as 2.11.0+cu130, from the file that a wheel has or the one of an archive.
release_of() {
    found=$(cat "$1/version.py" "$1/build-version" 2>/dev/null |
        sed -n "s/^__version__ = ['\"]\([^'\" ]*\).*/\1/p; s/^\([0-9][^ ]*\).*/\1/p" | head -n 1)
    echo "${found:-unknown}"
}

# Whether $1 is the process id of a set-up script that still runs; a zombie has no command line.
alive() {
    if [ -d /proc/self ]; then grep -q setup/ "/proc/$1/cmdline" 2>/dev/null; else kill -0 "$1" 2>/dev/null; fi
}

# Makes $part, an empty folder beside the final place, removed when the script ends.
# What an earlier script left behind when it was killed goes too, unless it still runs.
begin() {
    mkdir -p "$tools"
    for left in "$tools"/*.part.*; do
        [ -e "$left" ] || continue
        alive "${left##*.}" || rm -rf "$left"
    done
    part=$tools/$1.part.$$
    trap 'rm -rf "$part"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mkdir "$part" "$part/tmp"
}

# pip with the given arguments: the machine's own, else one in .tools/python.
# Its temporary files stay in $part: the wheels are larger than many a /tmp.
setup_pip() {
    python=$(command -v "${PYTHON:-python3}") || {
        say "there is no ${PYTHON:-python3} on this machine"
        return 1
    }
    if ! "$python" -m pip --version >/dev/null 2>&1; then
        if ! [ -e "$tools/python" ]; then
            say "$python has no pip; making .tools/python with one"
            "$python" -m venv "$part/python" >&2 || {
                say "$python can make no virtual environment either"
                return 1
            }
            mv "$part/python" "$tools/python"
        fi
        python=$tools/python/bin/python
    fi
    # The settings undo what a user's own pip configuration may hold against --target.
    TMPDIR=$part/tmp PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_ROOT_USER_ACTION=ignore \
        "$python" -m pip --disable-pip-version-check --no-input "$@"
}
