# Sourced by tools/scripts/test and tools/scripts/test-full: runs the steps of a test, and prints the time of
# each.
table=$(mktemp)
besides=
trap '[ -z "$besides" ] || kill -- "-$besides" 2>/dev/null || true; finish; rm -f "$table"' EXIT
mkdir -p bin

# step NAME COMMAND...: the CPU time includes all processes that the command has started and waited
# for, such as the tests' servers, but not those of a step beside it. The command runs in its own
# shell, which ends at the first failure: set -e has no effect where a shell checks a status.
step() {
  local name=$1 load
  shift
  load=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo -)
  echo "== $name"
  local TIMEFORMAT="$name %R %U %S $load"
  local status
  set +e
  (time alone "$@" 1>&3 2>&4) 3>&1 4>&2 2>>"$table"
  status=$?
  set -e
  [ $status -eq 0 ] || { echo "== $name failed" >&2; exit $status; }
}

# beside NAME COMMAND...: starts a step that runs at the same time as the next one, so that no core
# is idle while one of them waits for its last package. join waits for it and prints its output.
beside() {
  output=$(mktemp)
  set -m # its own process group, which the trap ends if the next step fails
  (trap - EXIT; step "$@") >"$output" 2>&1 &
  set +m
  besides=$!
}
join() {
  local status=0
  wait "$besides" || status=$?
  besides=
  cat "$output"
  rm "$output"
  [ $status -eq 0 ] || exit $status
}

alone() { (set -e; "$@"); }

# finish prints the table, in seconds of wall-clock and CPU time, even if a step has failed. The
# load is the load at the start of the step. The sum of the wall-clock time is that of the whole
# script. With a pattern in $long, a second sum omits the steps that match it.
finish() {
  awk -v long="${long-}" -v wall=$SECONDS 'BEGIN { printf "%-22s %8s %8s %6s\n", "step", "wall s", "CPU s", "load" }
    { printf "%-22s %8.0f %8.0f %6s\n", $1, $2, $3 + $4, $5; cpu += $3 + $4
      if (long != "" && $1 ~ long) { wall2 += $2; cpu2 += $3 + $4 } }
    function sum(name, wall, cpu) { printf "%-22s %8.0f %8.0f        %.1f and %.1f minutes\n", name, wall, cpu, wall / 60, cpu / 60 }
    END { sum("all", wall, cpu); if (long != "") sum("without the long ones", wall - wall2, cpu - cpu2) }' "$table" | tee "bin/$(basename "$0")-steps.txt"
}
