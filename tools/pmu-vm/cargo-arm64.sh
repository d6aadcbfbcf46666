#!/usr/bin/env bash
# cargo for static arm64 Linux programs, for machines that cannot get the target from rustup: takes the compiler and
# the standard library for arm64 from Debian's packages (rustc-web, unpacked into the cache folder) and the linker from
# gcc-aarch64-linux-gnu. If the target is already installed, the machine's own compiler is used. See README.md in this
# folder.
#
#   cargo-arm64.sh build --release    like cargo build --release
#   cargo-arm64.sh test               builds on this machine, runs each test program with run.sh
#   cargo-arm64.sh --rustc ARGUMENT...   runs only the compiler, for arm64
#   cargo-arm64.sh --setup            only installs and downloads the requirements
set -euo pipefail

: "${PMU_VM_CACHE:=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pmu-vm}"
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
target=aarch64-unknown-linux-gnu
say() { echo "pmu-vm: $*" >&2; }
die() { say "$*"; exit 125; }

install_linker() {
    ! command -v aarch64-linux-gnu-gcc >/dev/null || return 0
    local packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross) log
    command -v apt-get >/dev/null || die "required Debian packages are missing, and so is apt-get: ${packages[*]}"
    [[ $(id -u) == 0 ]] || die "required packages are missing, and only root can install them: ${packages[*]}"
    say "installing ${packages[*]}"
    log=$(mktemp)
    {
        apt-get -o DPkg::Lock::Timeout=300 -qq update || true
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y --no-install-recommends \
            "${packages[@]}" || true
    } >"$log" 2>&1
    command -v aarch64-linux-gnu-gcc >/dev/null || { cat "$log" >&2; rm -f "$log"; die "could not install ${packages[*]}"; }
    rm -f "$log"
}

# state ARCHITECTURE TOOL ARGUMENT...: runs an apt tool for packages of this architecture, with separate state.
state() {
    local architecture=$1 tool=$2
    shift 2
    mkdir -p "$PMU_VM_CACHE/apt-$architecture"/{lists,cache/archives}/partial
    "$tool" -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
        -o APT::Sandbox::User=root -o Dir::State::status=/dev/null \
        -o Dir::State::Lists="$PMU_VM_CACHE/apt-$architecture/lists" \
        -o Dir::Cache="$PMU_VM_CACHE/apt-$architecture/cache" "$@"
}

# needs PACKAGE PATTERN: prints the first dependency of the package whose name matches.
needs() {
    state "$host" apt-cache depends "$1" | awk -v pattern="$2" '$1 == "Depends:" && $2 ~ pattern && !n++ { print $2 }'
}

fetch_compiler() {
    mkdir -p "$PMU_VM_CACHE"
    exec 9>"$PMU_VM_CACHE/lock"
    flock 9 # one download at a time
    [[ ! -e $PMU_VM_CACHE/rust/ready ]] || { exec 9>&-; return 0; }
    command -v apt-get >/dev/null || die "apt-get is missing, which downloads Debian's Rust for arm64; install it, or run 'rustup target add $target'"
    say "downloading Debian's Rust for arm64 into $PMU_VM_CACHE (once, about 126 MB, 560 MB unpacked)"
    new=$PMU_VM_CACHE/rust.$$
    trap 'rm -rf "$new"' EXIT
    rm -rf "$new"
    mkdir -p "$new/deb"
    host=$(dpkg --print-architecture)
    state "$host" apt-get -qq update >&2 || true
    state arm64 apt-get -qq update >&2 || true
    local std llvm version lib package
    std=$(needs libstd-rust-web-dev '^libstd-rust-web-')
    [[ -n $std ]] || die "apt does not find libstd-rust-web-dev: no network, or not Debian 12"
    llvm=$(needs "$std" '^libllvm')
    version=$(state "$host" apt-cache show libstd-rust-web-dev | awk '/^Version:/ && !n++ { print $2 }')
    (
        cd -- "$new/deb"
        state "$host" apt-get -qq download "rustc-web=$version" "$std=$version" "libstd-rust-web-dev=$version" "$llvm" >&2
        [[ $host == arm64 ]] || state arm64 apt-get -qq download "libstd-rust-web-dev=$version" >&2
    ) || die "could not download Debian's Rust"
    for package in "$new"/deb/*.deb; do dpkg-deb -x "$package" "$new"; done
    rm -rf "$new/deb" "$PMU_VM_CACHE"/apt-*
    lib=$(cd -- "$new/usr/lib" && dirname "$(ls -- */librustc_driver-*.so)")
    cat >"$new/rustc" <<WRAPPER
#!/bin/sh
d=\$(dirname "\$(readlink -f "\$0")")
LD_LIBRARY_PATH="\$d/usr/lib/$lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" exec "\$d/usr/bin/rustc" "\$@"
WRAPPER
    chmod +x "$new/rustc"
    "$new/rustc" --version >"$new/ready" || die "the unpacked compiler does not run"
    rm -rf "$PMU_VM_CACHE/rust"
    mv "$new" "$PMU_VM_CACHE/rust"
    trap - EXIT
    exec 9>&-
}

install_linker
if ! compgen -G "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/$target/lib/libstd-*.rlib" >/dev/null; then
    fetch_compiler
    export RUSTC=$PMU_VM_CACHE/rust/rustc
fi
case ${1:-} in
    --setup) exit 0 ;;
    --rustc)
        shift
        exec "${RUSTC:-rustc}" --target "$target" -C linker=aarch64-linux-gnu-gcc -C target-feature=+crt-static "$@"
        ;;
esac

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static${PMU_VM_RUSTFLAGS:+ $PMU_VM_RUSTFLAGS}"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$here/run.sh"
export CARGO_BUILD_TARGET=$target
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
unset RUSTFLAGS
exec "${CARGO:-cargo}" "$@"
