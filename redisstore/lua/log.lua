-- Sliding log: engine/algo/log.go, with history.lua. A place is a time in µs. grain is the longest
-- window under which units were charged since the log was last empty. kept is how far after now entries may be, in ms.

--- locals
local longest

--- args
count_denied, cost, longest, window_count, at = unpack('>BI7I7B', arg, at)
window_args, window_at, at = arg, at, at + 13 * window_count

--- settle
--@load
--@resettle

--- resettle
-- The operation is decided as of now, or as of the last charge if now is before it.
instant, behind = now, 0
local newest, total = newest_item()
if total > gone then
  local ahead = newest - kept * 1000 - now
  if ahead > grain and ahead > longest then
    clamp(now + kept * 1000)
    shifted = true
  elseif ahead > 0 then
    instant, behind = now + ahead, ahead
  elseif newest <= now - grain then
    empty()
    grain = 0
  end
else
  empty()
  grain = 0
end

--- wait
wait, window = 0, 0
if cost > 0 then
  for w = 0, window_count - 1 do
    local limit, span = unpack('>I6I7', window_args, window_at + 13 * w)
    local time = NEVER
    if cost <= limit then
      local over = spent - limit + cost
      time = 0
      if over > gone then
        if span > grain then span = grain end
        time = item(find(over, 2)) + span - instant
        if time > 0 then time = time + behind end
      end
    end
    if time > wait then wait, window = time, w end
  end
end

--- window_room
left = limit - spent + before(find(instant - (span < grain and span or grain) + 1, 1))
if left < 0 then left = 0 end

--- append
-- Appends an entry `ahead` after now, but not before the newest entry. A log holds at most 100 000
-- units. Beyond that, the oldest units are dropped.
drop(instant - grain + 1)
if longest > grain then grain = longest end
local place, newest = instant + ahead * 1000, newest_item()
if not newest or newest <= instant then kept = 0 end
if ahead > kept then kept = ahead end
if newest and newest > place then place = newest end
add(place, units)
after = place - now
if spent - 100000 > gone then gone = spent - 100000 end

--- charge
--@append

--- give
-- If there is a handle, gives back the units of one instant. Otherwise, gives back the oldest units that count in the
-- limit's own windows.
local span = grain
if taken == -WORD and longest < grain then span = longest end
give_from(instant - span + 1, units, taken)

--- penalize
units, ahead = cost, 0
local most = spent - before(find(instant - grain + 1, 1))
--@append
-- A wait depends only on the newest units. As many are kept as the largest window's limit, or as many as there were
-- before if that is more. Older units are dropped.
for w = 0, window_count - 1 do
  local limit = unpack('>I6', window_args, window_at + 13 * w)
  if limit > most then most = limit end
end
if spent - most > gone then gone = spent - most end

--- report
local newest, total = newest_item()
local ends = 0
if total > gone then ends = newest + (longest < grain and longest or grain) - instant + behind end
if ends < 0 then ends = 0 end
local denied_window = wait > 0 and window
remaining, reset = nil, ends
for w = 0, window_count - 1 do
  if not denied_window or denied_window == w then
    local limit, span = unpack('>I6I7', window_args, window_at + 13 * w)
    local left
    --@window_room
    if not remaining or left < remaining then remaining, window = left, w end
  end
end

--- store
local newest, total = newest_item()
ttl = 0
if total > gone then ttl = newest + grain - now end
--@save

--- suspend
suspended = { count_denied, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, new_items, window_args, window_at, window_count, longest, chunk, skip, base, have, spent, instant, behind }

--- resume
count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
window_args, window_at, window_count, longest = suspended[12], suspended[13], suspended[14], suspended[15]
chunk, skip, base, have, spent, instant, behind = suspended[16], suspended[17], suspended[18], suspended[19], suspended[20], suspended[21], suspended[22]

--- ttl
--@load
if n > head then
  local newest, total = item(n - 1)
  if total > gone then ttl = newest + grain - now end
end
