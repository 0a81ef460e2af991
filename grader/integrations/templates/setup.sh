#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image: Python 3.11 or later, and the grader.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}

find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            echo "$name"
            return
        fi
    done
    return 1
}

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libseccomp2
if ! python=$(find_python); then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv
    python=$(find_python) ||
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3.11 python3.11-venv
    python=$(find_python)
fi
"$python" -m venv "$root/venv"
"$root/venv/bin/python" -m pip install --no-cache-dir "$root"/source/@{ wheel }@
