# A guest whose counts are exact: one instruction takes 2^TACHO_PMU cycles.
# shellcheck source=tools/pmu-vm/guest/report.sh
. ./report.sh
cpi=$((1 << TACHO_PMU))
access=/proc/sys/kernel/perf_user_access

# Counters are read by system calls first, then from user space.
echo 0 >$access
hardware_tests
echo 1 >$access
hardware_tests exact:: instances:: turns:: --skip ten_thousand
echo 0 >$access

# field NAME: prints a field of the process's counts in cpi.json.
field() { sed -n "s/.*\"process\":{[^}]*\"$1\":\([0-9.]*\).*/\1/p" cpi.json; }

# compare NAME ARGUMENT...: compares tacho cpi with perf stat for the same program.
compare() {
    name=$1
    shift
    rm -f perf.csv cpi.json
    ./perf/perf stat -x, -o perf.csv -e cycles:u,instructions:u "$@"
    ./tacho cpi --user -f json -o cpi.json -- "$@"
    expected=$(sed -n 's/^\([0-9]*\),,instructions:u,.*/\1/p' perf.csv)
    within "instructions against perf stat, $name" "$(field instructions)" "${expected:-nothing}" 0.1
    within "cycles against perf stat, $name" "$(field core_cycles)" "$((${expected:-0} * cpi))" 0.1
    within "CPI, $name" "$(field cpi)" $cpi 0
}
compare "one thread" ./workload 10000000
compare "4 threads" ./workload 5000000 3
compare "children and the programs that they execute" ./workload 5000000 0 3
compare "a shell with two programs" sh -c './workload 5000000 && ./workload 5000000 1 1'

says "exit status is passed on" 7 "cpi_wb" ./tacho cpi -- sh -c './workload 5000000; exit 7'
says "table of a command" 0 "System" ./tacho cpi -- ./workload 5000000
says "command that does not exist" 127 "no-such-program" ./tacho cpi -- ./no-such-program

# The counter set. The machine is busy all the time, so idle time does not change cycles per instruction. Only in the guest in
# which a second takes the fewest instructions.
if [ "$TACHO_PMU" = 2 ]; then
    ./workload 1000000000000 &
    busy=$!
    ./tacho query '\Processor CPI(*)\*' -sc 2 -si 1 -f csv -o query.csv ||
        failed "tacho query" "exit status $?"
    # column NAME: prints the last value of this counter for the whole machine.
    column() {
        awk -F'","' -v want="\\\\Processor CPI(_Total)\\\\$1" '
            { gsub(/^"|"\r?$/, "") }
            NR == 1 { for (i = 1; i <= NF; i++) if (substr($i, length($i) - length(want) + 1) == want) at = i }
            END { if (at) print $at }' query.csv
    }
    within "query: Cycles Per Instruction" "$(column 'Cycles Per Instruction')" $cpi 0.1
    within "query: Cycles Per Instruction While Busy" "$(column 'Cycles Per Instruction While Busy')" $cpi 1
    within "query: Cycles/sec" "$(column 'Cycles/sec')" 1000000000 0.5
    within "query: Instructions/sec" "$(column 'Instructions/sec')" $((1000000000 / cpi)) 0.5
    within "query: % Counter Running Time" "$(column '% Counter Running Time')" 100 0.1
    ./tacho record '\Processor CPI(*)\*' -sc 3 -si 1 -o cpi.blg || failed "tacho record" "exit status $?"
    ./tacho stats cpi.blg -f csv >stats.csv || failed "tacho stats" "exit status $?"
    # average NAME: prints the average of this counter for the whole machine over the recording.
    average() {
        awk -F, -v want="\\\\Processor CPI(_Total)\\\\$1" '
            { gsub(/\r|"/, "") }
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == "average") at = i }
            substr($1, length($1) - length(want) + 1) == want { print $at }' stats.csv
    }
    within "record, stats: Cycles Per Instruction" "$(average 'Cycles Per Instruction')" $cpi 0.1
    within "record, stats: Instructions/sec" "$(average 'Instructions/sec')" $((1000000000 / cpi)) 0.5
    kill $busy
fi

# A forked child measures itself, with counters that are read by system calls, and then from user space.
for allowed in 0 1; do
    echo $allowed >$access
    if TACHO_CPI_TRACE=trace-%p.nrm2 ./forked . >fork.txt; then
        ok "forked child, perf_user_access $allowed" "measures itself"
    else
        failed "forked child, perf_user_access $allowed" "exit status $?: $(cat fork.txt)"
    fi
done
echo 0 >$access

# The C interface: the sample program prints its table.
./sample >table
status=$?
rows=$(awk '{ printf " %s", $1 }' table)
if [ $status = 0 ] && [ "$rows" = " System cpi cpi_wb idle% busy%" ]; then
    ok "sample program in C" "$(awk '{ printf "%s%s", n++ ? "; " : "", $0 }' table)"
else
    failed "sample program in C" "exit status $status, output:"
    cat table
fi
within "sample program in C: cpi_wb" "$(awk '$1 == "cpi_wb" { print $2 }' table)" $cpi 5
