# A guest with two processors: unprivileged users, a low limit of open files, processors that go offline and online.
# shellcheck source=tools/pmu-vm/guest/report.sh
. ./report.sh

# user COMMAND...: runs a command as an unprivileged user.
user() { su user -s /bin/sh -c "$*"; }

ways="run as root, or 'setcap cap_perfmon+ep' on the program, or 'sysctl kernel.perf_event_paranoid"
processors="forbids counting whole processors without privilege (EACCES); $ways=0'"
for value in 3 2 1; do
    echo $value >/proc/sys/kernel/perf_event_paranoid
    export TACHO_PMU=paranoid-$value
    user . ./report.sh ';' hardware_tests refusals::
    says "tacho cpi, perf_event_paranoid $value, the system" 0 "kernel.perf_event_paranoid is $value, which $processors" \
        user ./tacho cpi -r 0.5
done
echo 3 >/proc/sys/kernel/perf_event_paranoid
says "tacho cpi, perf_event_paranoid 3, a command" 0 \
    "kernel.perf_event_paranoid is 3, which forbids any counting without privilege (EACCES); $ways=2'" \
    user ./tacho cpi -- true
echo 2 >/proc/sys/kernel/perf_event_paranoid
says "tacho cpi, perf_event_paranoid 2, a command" 0 "user code only" user ./tacho cpi -- true
echo 1 >/proc/sys/kernel/perf_event_paranoid
says "tacho cpi, another user's process" 1 "belongs to another user" user ./tacho cpi -p 1 -r 0.5
echo -1 >/proc/sys/kernel/perf_event_paranoid

export TACHO_PMU=few-files
# busybox has these limits.
# shellcheck disable=SC3045
(ulimit -n 16 && hardware_tests refusals::)
export TACHO_PMU=low-soft-limit
# shellcheck disable=SC3045
(ulimit -Sn 16 && hardware_tests refusals::)
says "tacho cpi, few files" 0 "too many open files (EMFILE): counting needs 4 more (2 per processor)" \
    sh -c 'ulimit -n 7 && exec ./tacho cpi -r 0.5'
says "tacho cpi, process that does not exist" 1 "999999" ./tacho cpi -p 999999 -r 0.5

export TACHO_PMU=two-processors
hardware_tests hotplug::
# columns NAME EXPECTED: the table of tacho cpi has these columns.
columns() {
    found=$(./tacho cpi -r 0.5 2>/dev/null | awk '$1 == "System" { $1 = $1; print }')
    if [ "$found" = "$2" ]; then ok "$1" "$found"; else failed "$1" "'$found', but '$2' was expected"; fi
}
echo 0 >/sys/devices/system/cpu/cpu1/online
columns "tacho cpi, a processor is offline" "System CPU0"
says "tacho cpi names a processor that is offline" 0 "not measured, because offline: CPU1" ./tacho cpi -r 0.2
echo 1 >/sys/devices/system/cpu/cpu1/online
columns "tacho cpi, it is online again" "System CPU0 CPU1"

# One processor is busy and the other idle. The cycles of both advance with time, at 1 GHz in this guest.
(while :; do :; done) &
busy=$!
./tacho cpi -r 1 -f csv -o both.csv
# rate PROCESSOR: prints the processor's cycles per second in the interval.
rate() {
    awk -F, -v row="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "cycles") cycles = i; if ($i == "seconds") seconds = i } }
        $3 == row && $seconds > 0 { printf "%.0f", $cycles / $seconds }' both.csv
}
idle=$(rate cpu0)
# The load can delay the reading after the end of the interval, but equally for both processors.
within "elapsed cycles per second of the idle processor" "${idle:-nothing}" 1000000000 30
within "elapsed cycles of two processors" "$(rate cpu1)" "${idle:-nothing}" 1
kill $busy

# The time of a command is its own.
./tacho cpi -f json -o short.json -- true
seconds=$(sed -n 's/.*"seconds":\([0-9.]*\).*/\1/p' short.json)
if awk -v seconds="${seconds:-9}" 'BEGIN { exit !(seconds < 0.015) }'; then
    ok "time of a short command" "$seconds s"
else
    failed "time of a short command" "$seconds s"
fi
