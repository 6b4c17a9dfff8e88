#!/bin/sh
# RESP with redis-cli. Each command prints one value a line; -e ends with status 1 at an error.
set -eu
headgate() { redis-cli -e -h 127.0.0.1 -p 6380 "$@"; }

for request in 1 2 3; do
  reply=$(headgate HEADGATE.ALLOW api shell-redis)
  set -- $reply # denied limit remaining retry_after reset_after delay_ms
  while [ "$1" = 1 ] && [ "$4" -ge 0 ]; do
    echo "request $request: denied, retry after the wait"
    sleep "$4"
    reply=$(headgate HEADGATE.ALLOW api shell-redis)
    set -- $reply
  done
  if [ "$1" = 0 ]; then echo "request $request: allowed, $3 left"; else echo "request $request: never"; fi
done

reply=$(headgate HEADGATE.RESERVE tokens shell-redis 400)
set -- $reply
[ "$1" = 0 ] || { echo "reserve: denied" >&2; exit 1; }
echo "reserved 400: $3 left"
settled=$(headgate HEADGATE.COMMIT "$7" 150)
reply=$(headgate HEADGATE.PEEK tokens shell-redis)
set -- $reply
echo "committed 150: settled $settled, $3 left"
