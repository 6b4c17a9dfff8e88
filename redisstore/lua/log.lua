-- Sliding log: algo/log.go, on history.lua. A place is a µs; grain is the longest
-- window under which units were charged since the log was last empty, kept how many
-- ms after the clock its entries may lie.

--- locals
local longest

--- asks
counts, cost, longest, windows, at = unpack('>BI7I7B', arg, at)
warg, wat, at = arg, at, at + 11 * windows

--- settle
--@load
--@again

--- again
-- The instant that is decided at: now, or the last charge, where the clock is
-- behind that.
instant, behind = now, 0
local newest, total = newest_item()
if total > gone then
  local ahead = newest - kept * 1000 - now
  if ahead > grain and ahead > longest then
    pull(now + kept * 1000)
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

--- probe
wait, window = 0, 0
if cost > 0 then
  for w = 0, windows - 1 do
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
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

--- left
left = limit - spent + before(find(instant - (span < grain and span or grain) + 1, 1))
if left < 0 then left = 0 end

--- room
room = NEVER
for w = 0, windows - 1 do
  local limit, span = unpack('>I4I7', warg, wat + 11 * w)
  local left
  --@left
  if left < room then room = left end
end

--- enter
-- So long after now, and no earlier than the newest. No log holds more than 100 000
-- units: the oldest go first.
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
--@enter

--- give
-- By handle those of one instant, otherwise the oldest that the call's own windows
-- count.
local span = grain
if taken == 0 and longest < grain then span = longest end
give_from(instant - span + 1, units, taken)

--- penalize
units, ahead = cost, 0
local most = spent - before(find(instant - grain + 1, 1))
--@enter
-- The newest units that the largest window holds are all that a wait needs; or as
-- many as there were.
for w = 0, windows - 1 do
  local limit = unpack('>I4', warg, wat + 11 * w)
  if limit > most then most = limit end
end
if spent - most > gone then gone = spent - most end

--- finish
local newest, total = newest_item()
local ends = 0
if total > gone then ends = newest + (longest < grain and longest or grain) - instant + behind end
if ends < 0 then ends = 0 end
local refused = wait > 0 and window
remaining, reset = nil, ends
for w = 0, windows - 1 do
  if not refused or refused == w then
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
    local left
    --@left
    if not remaining or left < remaining then remaining, window = left, w end
  end
end

--- store
local newest, total = newest_item()
ttl = 0
if total > gone then ttl = newest + grain - now end
--@save

--- hold
held = { counts, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, fresh, warg, wat, windows, longest, chunk, skip, base, have, spent, instant, behind }

--- resume
counts, grain, kept, gone, head, n = held[1], held[2], held[3], held[4], held[5], held[6]
last_at, last_total, prefix, moved, fresh = held[7], held[8], held[9], held[10], held[11]
warg, wat, windows, longest = held[12], held[13], held[14], held[15]
chunk, skip, base, have, spent, instant, behind = held[16], held[17], held[18], held[19], held[20], held[21], held[22]

--- lasts
--@load
if n > head then
  local newest, total = item(n - 1)
  if total > gone then ttl = newest + grain - now end
end
