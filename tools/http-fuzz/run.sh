#!/usr/bin/env bash
# Tests `tacho serve` with valid and invalid requests that schemathesis generates from its OpenAPI file: no response may be a
# 5xx, and all responses must match the description.
#
#   run.sh [TACHO]            the program to test; default: target/debug/tacho
#   run.sh --fetch            only installs schemathesis
#
# Environment: HTTP_FUZZ_EXAMPLES: examples per operation (default: 10); HTTP_FUZZ_SECONDS: time limit for all operations (120);
# HTTP_FUZZ_LOG: a log to serve (none). Exit status: 0 passed; 1 failed; 125 schemathesis or tacho is missing.
set -euo pipefail

: "${HTTP_FUZZ_EXAMPLES:=10}"
: "${HTTP_FUZZ_SECONDS:=120}"
: "${HTTP_FUZZ_LOG:=}"

die() { echo "http-fuzz: $*" >&2; exit 125; }

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
venv=$target/schemathesis
if [[ ! -x $venv/bin/schemathesis ]]; then
    python3 -m venv "$venv" || die "python3 has no venv (Debian: python3-venv)"
    "$venv/bin/pip" install --quiet "schemathesis>=4,<5" || die "schemathesis cannot be installed"
fi
[[ ${1:-} != --fetch ]] || exit 0
tacho=${1:-$target/debug/tacho}
[[ -x $tacho ]] || die "$tacho does not exist: cargo build -p tachograph"

work=$(mktemp -d)
mkdir "$work/logs"
# schemathesis writes its files to the current folder.
cd "$work"
files=("$work/logs")
if [[ -n $HTTP_FUZZ_LOG ]]; then
    cp "$HTTP_FUZZ_LOG" "$work/logs/"
    files+=("$work/logs/$(basename "$HTTP_FUZZ_LOG")")
fi
"$tacho" serve --port 0 --max-upload 4 "${files[@]}" >"$work/url" 2>"$work/messages" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    [[ -s $work/url ]] && break
    kill -0 "$server" 2>/dev/null || die "the server ended: $(cat "$work/messages")"
    sleep 0.1
done
url=$(cat "$work/url")
[[ -n $url ]] || die "the server printed no address"

# Excluded: /api/stream, which never ends, and fitView, whose body is TOML, which schemathesis cannot generate.
status=0
"$venv/bin/schemathesis" run "${url}api/openapi.json" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --exclude-path /api/stream --exclude-operation-id fitView --max-examples "$HTTP_FUZZ_EXAMPLES" --max-time "$HTTP_FUZZ_SECONDS" \
    --workers 1 --request-timeout 60 --seed 1 --no-color || status=1
kill -0 "$server" 2>/dev/null || { echo "http-fuzz: the server ended during the test" >&2; cat "$work/messages" >&2; exit 1; }
grep -i panicked "$work/messages" && exit 1
exit "$status"
