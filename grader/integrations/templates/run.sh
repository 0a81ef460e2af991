#!/usr/bin/env bash
# PrairieLearn runs this for every submission. Whatever happens, results.json is there afterwards.
set -u
root=${GRADE_ROOT:-/grade}
python=${GRADE_PYTHON:-python3}
results=$root/results/results.json

mkdir -p "$root/results"
rm -rf "$results"
# The hidden checks are root's alone, where the kernel cannot keep them from submitted code.
chmod -R go-rwx "$root/tests" "$root/results"

"$python" -I -m grader.integrations.prairielearn "$root"

if [[ ! -s $results ]]; then
    cat > "$results" <<'END'
{
  "gradable": false,
  "message": "The grader could not work, and no points were given or taken. Please tell your instructor."
}
END
fi
