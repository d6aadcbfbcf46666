# A guest without a performance monitor.
# shellcheck source=tools/pmu-vm/guest/report.sh
. ./report.sh
hardware_tests refusals::
text="this machine offers no hardware counter for cycles (no performance monitoring unit; usual in virtual machines); only CPU utilization can be shown"
says "tacho cpi, a command" 0 "$text" ./tacho cpi -- true
says "tacho cpi, the system: the reason" 0 "$text" ./tacho cpi -r 0.5
says "tacho cpi, the system: busy share" 0 "busy%" ./tacho cpi -r 0.5
says "tacho query" 2 "no hardware counter" ./tacho query '\Processor CPI(*)\*' -sc 1 -si 0.1
