#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image: Python 3.11 or later, and the grader.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1

# The python3.11 of Ubuntu 22.04 is a release candidate, which torch does not work with.
find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import ensurepip, sys, venv
sys.exit(sys.version_info < (3, 11) or sys.version_info.releaselevel != "final")' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    return 1
}

apt-get update -qq
apt-get install -y -qq --no-install-recommends ca-certificates libseccomp2
if ! python=$(find_python); then
    apt-get install -y -qq --no-install-recommends python3 python3-venv
fi
if ! python=$(find_python); then
    export UV_PYTHON_INSTALL_DIR=$root/python
    python3 -m venv "$root/uv"
    "$root/uv/bin/python" -m pip install -q uv==@{ uv }@
    "$root/uv/bin/uv" python install --no-bin @{ python }@
    python=$("$root/uv/bin/uv" python find --managed-python @{ python }@)
fi
"$python" -m venv "$root/venv"
[% if torch_index %]
# Of equal versions, pip takes the build of torch that this index has.
export PIP_EXTRA_INDEX_URL=@{ torch_index | word }@
[% endif %]
"$root/venv/bin/python" -m pip install -c "$root/source/constraints.txt" "$root"/source/@{ wheel }@
