#!/bin/sh
# HTTP with curl. (curl --fail --retry 5 waits for Retry-After by itself, if the answer's
# numbers do not matter.)
set -eu
headgate() { curl -sS --max-time 5 -w '\n%{http_code} %header{retry-after}\n' "http://127.0.0.1:8080/v1/$1" -d "$2"; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

for request in 1 2 3; do
  while :; do
    answer=$(headgate allow '{"policy":"api","key":"shell-http"}')
    set -- $(echo "$answer" | tail -n 1) # status, seconds until a retry passes
    case "$1,${2:-never}" in
    200,*) echo "request $request: allowed, $(echo "$answer" | field remaining) left"; break ;;
    429,never) echo "request $request: never"; break ;;
    429,*) echo "request $request: denied, retry after the wait"; sleep "$2" ;;
    *) echo "allow: $answer" >&2; exit 1 ;;
    esac
  done
done

reserved=$(headgate reserve '{"policy":"tokens","key":"shell-http","cost":400}')
reservation=$(echo "$reserved" | field reservation)
[ -n "$reservation" ] || { echo "reserve: $reserved" >&2; exit 1; }
echo "reserved 400: $(echo "$reserved" | field remaining) left"
settled=$(headgate commit "{\"reservation\":\"$reservation\",\"actual\":150}" | field settled)
remaining=$(headgate peek '{"policy":"tokens","key":"shell-http"}' | field remaining)
[ "$settled" = true ] && settled=1
echo "committed 150: settled $settled, $remaining left"
