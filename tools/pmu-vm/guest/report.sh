# Functions for the scripts in this folder. Each check prints a line for tools/pmu-vm/check.

# ok NAME FOUND
ok() { echo "@ok $1: $2"; }

# failed NAME FOUND
failed() { echo "@FAILED $1: $2"; }

# within NAME FOUND EXPECTED PERCENT: FOUND equals EXPECTED within PERCENT.
within() {
    if awk -v found="$2" -v expected="$3" -v percent="$4" \
        'BEGIN { d = found - expected; exit !(found ~ /^[0-9.]+$/ && (d < 0 ? -d : d) * 100 <= expected * percent) }'; then
        ok "$1" "$2 (expected: $3)"
    else
        failed "$1" "'$2', but $3 was expected, within $4 %"
    fi
}

# says NAME STATUS TEXT COMMAND...: the command exits with this status, and one of its lines contains this text.
says() {
    name=$1 status=$2 text=$3
    shift 3
    "$@" >said 2>&1 </dev/null
    found=$?
    if [ $found = "$status" ] && grep -qF -e "$text" said; then
        ok "$name" "$(grep -F -m1 -e "$text" said) (exit status $found)"
    else
        failed "$name" "exit status $found, but $status was expected, with '$text'; output:"
        cat said
    fi
    rm -f said
}

# hardware_tests FILTER...: runs the tests of crates/cpi/tests/hardware. Their output is first written to a file, because a
# program that reads it from a pipe would be counted on the processor.
hardware_tests() {
    ./hardware --test-threads=1 --nocapture "$@" >tests.$$ 2>&1
    status=$?
    cat tests.$$
    if [ $status != 0 ]; then
        failed "hardware tests $*" "see above"
    elif ! grep -q '^@ok' tests.$$; then
        failed "hardware tests $*" "no test reported a check"
    fi
    rm -f tests.$$
}
