#!/usr/bin/env bash
# Downloads Debian's perf for arm64 with its libraries (about 26 MB, 70 MB unpacked), so that a program's counts can be
# compared with those of perf stat in the same guest. Prints the folder, which is an argument of run.sh:
#
#   run.sh --script FILE "$(perf-arm64.sh)" PROGRAM...
#
# The command in FILE is: ./perf/perf stat -x, -e cycles:u,instructions:u ...
set -euo pipefail

: "${PMU_VM_CACHE:=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pmu-vm}"
say() { echo "pmu-vm: $*" >&2; }
die() { say "$*"; exit 125; }

# arm64 TOOL ARGUMENT...: runs an apt tool with separate state, for arm64 packages, which are only unpacked.
arm64() {
    local tool=$1
    shift
    "$tool" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
        -o APT::Sandbox::User=root -o Dir::State::status=/dev/null \
        -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" "$@"
}

mkdir -p "$PMU_VM_CACHE"
exec 9>"$PMU_VM_CACHE/lock"
flock 9 # one download at a time
if [[ ! -e $PMU_VM_CACHE/perf/perf ]]; then
    command -v apt-get >/dev/null || die "apt-get is missing, which downloads perf"
    say "downloading perf for arm64 into $PMU_VM_CACHE (once, about 26 MB)"
    new=$PMU_VM_CACHE/perf.$$
    apt=$PMU_VM_CACHE/apt-perf
    trap 'rm -rf "$new" "$apt"' EXIT
    mkdir -p "$new/deb" "$apt"/{lists,cache/archives}/partial
    arm64 apt-get -qq update >&2 || true
    mapfile -t packages < <(arm64 apt-cache depends --recurse --no-recommends --no-suggests \
        --no-conflicts --no-breaks --no-replaces --no-enhances linux-perf 2>/dev/null |
        grep -E '^(lib[a-z0-9]|zlib1g|linux-perf)' | grep -vE '^libpython3-|-perl$|:' | sort -u)
    ((${#packages[@]} > 5)) || die "apt does not find linux-perf: no network, or not Debian"
    (cd -- "$new/deb" && arm64 apt-get -qq download "${packages[@]}" >&2) || die "could not download perf"
    for package in "$new"/deb/*.deb; do dpkg-deb -x "$package" "$new/x"; done
    cp -- "$(find "$new/x/usr/bin" -name 'perf' -o -name 'perf_[0-9]*' | sort | tail -n1)" "$new/perf.bin"
    mkdir "$new/lib"
    find "$new/x" \( -name '*.so' -o -name '*.so.*' \) -path '*aarch64-linux-gnu/*.so*' \
        -not -path '*/perl/*' -not -path '*/python3*/*' -exec cp -P {} "$new/lib/" \;
    find "$new/x" -name 'ld-linux-aarch64.so.1' -exec cp -L {} "$new/lib/" \; -quit
    rm -rf "$new/x" "$new/deb"
    cat >"$new/perf" <<'WRAPPER'
#!/bin/sh
d=$(dirname "$(readlink -f "$0")")
exec "$d/lib/ld-linux-aarch64.so.1" --library-path "$d/lib" "$d/perf.bin" "$@"
WRAPPER
    chmod +x "$new/perf"
    rm -rf "$PMU_VM_CACHE/perf"
    mv "$new" "$PMU_VM_CACHE/perf"
fi
echo "$PMU_VM_CACHE/perf"
