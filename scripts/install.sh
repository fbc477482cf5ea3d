#!/bin/sh
# Make .venv with a Python we support, install the requirements file $1 into it, and leave the stamp $2.
set -eu

is_usable() {
    # Runs it: pyenv puts names on the PATH that only print a message, and Debian may lack the venv module.
    "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3.14 python3 python /usr/bin/python3; do
        if is_usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
}

if ! is_usable .venv/bin/python; then
    python=$(find_python)
    if [ -z "$python" ]; then
        echo "error: no Python 3.11 or newer with the venv module was found." >&2
        echo "Install one (Debian, Ubuntu: apt install python3-venv), or name it: make PYTHON=/path/to/python" >&2
        exit 1
    fi
    echo "Making .venv with $("$python" --version) ..." >&2
    "$python" -m venv --clear .venv
fi
echo "Installing $1 into .venv (once) ..." >&2
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1"
touch "$2"
