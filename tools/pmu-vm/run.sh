#!/usr/bin/env bash
# Runs a static arm64 Linux program in an emulated machine that has a hardware performance monitor (ARM PMUv3), so that
# perf_event_open with PERF_COUNT_HW_CPU_CYCLES and PERF_COUNT_HW_INSTRUCTIONS works on machines without one. See README.md
# in this folder.
#
#   run.sh PROGRAM [ARGUMENT...]      runs one program
#   run.sh --script FILE [FILE...]    runs a shell script (busybox sh) in the guest, with the other files in the same folder, /vm
#   run.sh --setup                    only installs and downloads the requirements
#
# Exit status: the program's; 124 after the timeout; 125 if the guest failed or something required is unavailable.
set -euo pipefail

: "${PMU_VM_CACHE:=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pmu-vm}"
: "${PMU_VM_CPUS:=1}"            # number of the guest's processors
: "${PMU_VM_SHIFT:=0}"           # one instruction takes 2^SHIFT cycles; "off": no instruction counter
: "${PMU_VM_MODEL:=cortex-a72}"  # emulated processor; "cortex-a72,pmu=off": no performance monitor
: "${PMU_VM_MEM:=512}"           # MiB
: "${PMU_VM_TIMEOUT:=120}"       # seconds for the whole run
: "${PMU_VM_PARANOID:=-1}"       # kernel.perf_event_paranoid in the guest; "keep": the kernel's default
: "${PMU_VM_UID:=0}"             # user that the program runs as
: "${PMU_VM_ENV:=}"              # environment of the program: words NAME=VALUE
: "${PMU_VM_FILES:=}"            # more files and folders for /vm, separated by blanks
: "${PMU_VM_KERNEL:=}"           # an arm64 kernel image, in place of Debian's
: "${PMU_VM_BUSYBOX:=}"          # a static arm64 busybox, in place of Debian's

say() { echo "pmu-vm: $*" >&2; }
die() { say "$*"; exit 125; }

install_tools() {
    local packages=() log
    command -v qemu-system-aarch64 >/dev/null || packages+=(qemu-system-arm)
    command -v cpio >/dev/null || packages+=(cpio)
    ((${#packages[@]})) || return 0
    command -v apt-get >/dev/null || die "required Debian packages are missing, and so is apt-get: ${packages[*]}"
    [[ $(id -u) == 0 ]] || die "required packages are missing, and only root can install them: ${packages[*]}"
    say "installing ${packages[*]}"
    log=$(mktemp)
    {
        apt-get -o DPkg::Lock::Timeout=300 -qq update || true
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y --no-install-recommends \
            "${packages[@]}" || true
    } >"$log" 2>&1
    if ! command -v qemu-system-aarch64 >/dev/null || ! command -v cpio >/dev/null; then
        cat "$log" >&2
        rm -f "$log"
        die "could not install ${packages[*]}"
    fi
    rm -f "$log"
}

# arm64 TOOL ARGUMENT...: runs an apt tool with separate state, for arm64 packages, which are only unpacked.
arm64() {
    local tool=$1
    shift
    "$tool" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
        -o APT::Sandbox::User=root -o Dir::State::status=/dev/null \
        -o Dir::State::Lists="$PMU_VM_CACHE/apt/lists" -o Dir::Cache="$PMU_VM_CACHE/apt/cache" "$@"
}

fetch_guest() {
    [[ ! -e $PMU_VM_CACHE/guest/ready ]] || return 0
    command -v apt-get >/dev/null || die "apt-get is missing, which downloads the guest's kernel and busybox; install it, or set PMU_VM_KERNEL and PMU_VM_BUSYBOX"
    mkdir -p "$PMU_VM_CACHE"
    exec 9>"$PMU_VM_CACHE/lock"
    flock 9 # one download at a time
    [[ ! -e $PMU_VM_CACHE/guest/ready ]] || { exec 9>&-; return 0; }
    say "downloading an arm64 kernel and busybox into $PMU_VM_CACHE (once: 22 MB and package lists)"
    mkdir -p "$PMU_VM_CACHE"/apt/{lists,cache/archives}/partial
    local kernel package
    new=$PMU_VM_CACHE/guest.$$
    trap 'rm -rf "$new"' EXIT
    rm -rf "$new"
    mkdir -p "$new/deb" "$new/x"
    arm64 apt-get -qq update >&2 || true
    kernel=$(arm64 apt-cache depends linux-image-cloud-arm64 | awk '/Depends: linux-image/ && !n++ { print $2 }')
    [[ -n $kernel ]] || die "apt does not find linux-image-cloud-arm64: no network, or not Debian"
    (cd -- "$new/deb" && arm64 apt-get -qq download "$kernel" busybox-static >&2) ||
        die "could not download the guest's kernel and busybox"
    for package in "$new"/deb/*.deb; do dpkg-deb -x "$package" "$new/x"; done
    cp -- "$new"/x/boot/vmlinuz-* "$new/kernel"
    cp -- "$(find "$new/x" -type f -path '*bin/busybox' -print -quit)" "$new/busybox"
    echo "$kernel" >"$new/ready"
    rm -rf "$new/deb" "$new/x" "$PMU_VM_CACHE/apt" "$PMU_VM_CACHE/guest"
    mv "$new" "$PMU_VM_CACHE/guest"
    trap - EXIT
    exec 9>&-
}

# is_foreign FILE: whether the file is an ELF file for a processor other than arm64.
is_foreign() {
    [[ -f $1 && $(head -c 4 -- "$1" | od -An -tx1 | tr -d ' ') == 7f454c46 &&
        $(od -An -tx1 -j18 -N2 -- "$1" | tr -d ' ') != b700 ]]
}

script=
case ${1:-} in
    --setup)
        install_tools
        [[ -n $PMU_VM_KERNEL && -n $PMU_VM_BUSYBOX ]] || fetch_guest
        exit 0
        ;;
    --script)
        (($# >= 2)) || die "--script needs a file"
        script=$2
        shift 2
        ;;
    '' | -h | --help)
        awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "${BASH_SOURCE[0]}" >&2
        exit 2
        ;;
esac

install_tools
[[ -n $PMU_VM_KERNEL && -n $PMU_VM_BUSYBOX ]] || fetch_guest
: "${PMU_VM_KERNEL:=$PMU_VM_CACHE/guest/kernel}" "${PMU_VM_BUSYBOX:=$PMU_VM_CACHE/guest/busybox}"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/pmu-vm.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
guest=$tmp/root
mkdir -p "$guest"/{bin,proc,sys,dev,tmp,vm,etc}
cp -- "$PMU_VM_BUSYBOX" "$guest/bin/busybox"
printf 'root:x:0:0::/:/bin/sh\nuser:x:%s:%s::/vm:/bin/sh\n' \
    "${PMU_VM_UID/#0/1000}" "${PMU_VM_UID/#0/1000}" >"$guest/etc/passwd"

{
    echo 'cd /vm'
    for word in $PMU_VM_ENV; do printf 'export %q\n' "$word"; done
    if [[ -n $script ]]; then
        cp -- "$script" "$guest/vm/.script"
        echo 'exec sh /vm/.script'
    else
        printf 'exec'
        printf ' %q' "./$(basename -- "$1")" "${@:2}"
        echo
    fi
} >"$guest/command"
if [[ -n $script ]]; then files=("$@"); else files=("$1"); fi
# shellcheck disable=SC2206  # splits the variable into words
files+=($PMU_VM_FILES)
for file in ${files[@]+"${files[@]}"}; do
    [[ -e $file ]] || die "no such file: $file"
    ! is_foreign "$file" || die "not an arm64 program: $file"
    cp -rL -- "$file" "$guest/vm/"
done
chmod -R a+rX "$guest"
chmod 1777 "$guest/tmp" "$guest/vm"

run="sh /command"
[[ $PMU_VM_UID == 0 ]] || run="su user -s /bin/sh -c 'exec sh /command'"
paranoid=:
[[ $PMU_VM_PARANOID == keep ]] || paranoid="echo $PMU_VM_PARANOID >/proc/sys/kernel/perf_event_paranoid"
cat >"$guest/init" <<GUEST
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
export PATH=/bin HOME=/tmp TMPDIR=/tmp
$paranoid
echo @@PMU-VM-BEGIN@@
$run </dev/null
rc=\$?
echo; echo "@@PMU-VM-EXIT:\$rc@@"
poweroff -f
GUEST
chmod +x "$guest/init"
(cd -- "$guest" && find . | cpio -o -H newc --quiet) >"$tmp/initrd"
rm -rf "$guest"

options=(-M virt -cpu "$PMU_VM_MODEL" -smp "$PMU_VM_CPUS" -m "$PMU_VM_MEM" -nographic
    -no-reboot -nic none -kernel "$PMU_VM_KERNEL" -initrd "$tmp/initrd"
    -append "console=ttyAMA0 quiet nokaslr panic=-1 rdinit=/init")
[[ $PMU_VM_SHIFT == off ]] || options+=(-icount "shift=$PMU_VM_SHIFT,sleep=off")

: >"$tmp/console"
set +e
timeout -k 5 "$PMU_VM_TIMEOUT" qemu-system-aarch64 "${options[@]}" </dev/null 2>"$tmp/qemu.err" |
    awk -v rcfile="$tmp/rc" -v console="$tmp/console" '
        { sub(/\r+$/, ""); print > console }
        state == 0 { if ($0 ~ /@@PMU-VM-BEGIN@@/) state = 1; next }
        state == 1 && /^@@PMU-VM-EXIT:[0-9]+@@/ {
            split($0, p, /[:@]+/); print p[3] > rcfile; state = 2
            if (held && line != "") print line   # an empty line belongs to the marker
            next }
        state == 1 { if (held) { print line; fflush() } line = $0; held = 1 }
        END { if (state == 1 && held) print line }'
status=("${PIPESTATUS[@]}")
set -e
[[ ${status[1]} == 0 ]] || exit "${status[1]}" # the reader of the output has closed the pipe
[[ ! -s $tmp/rc ]] || exit "$(cat "$tmp/rc")"
case ${status[0]} in
    124 | 137)
        say "stopped after $PMU_VM_TIMEOUT s (PMU_VM_TIMEOUT)"
        exit 124
        ;;
esac
cat "$tmp/qemu.err" >&2
tail -n 20 "$tmp/console" >&2
die "the guest stopped before the program ended"
