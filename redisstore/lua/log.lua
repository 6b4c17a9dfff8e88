-- Sliding log: algo/log.go, on history.lua. A place is a µs; grain is the
-- longest window it was written under, segments how many ms after the clock its
-- entries may lie.

--- locals
local longest

--- asks
counts, cost, longest, windows, at = unpack('>BI7I7B', arg, at)
warg, wat, at = arg, at, at + 11 * windows

--- settle
--@load
if n > head then
  local newest, total = item(n - 1)
  local latest = now + segments * 1000
  if grain ~= longest or total > gone and newest > latest then
    pull(latest)
    -- What no longer counted under the old window stays forgotten.
    if grain ~= longest then drop(now - grain + 1) end
    write, stale = cost > 0, true
  end
end
if n == head then segments = 0 end
grain, variant = longest, 0

--- probe
wait, window = 0, 0
if cost > 0 then
  for w = 0, windows - 1 do
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
    local time = NEVER
    if cost <= limit then
      local over = spent - limit + cost
      time = 0
      if over > gone then time = item(find(over, 2)) + span - now end
    end
    if time > wait then wait, window = time, w end
  end
end

--- left
left = limit - spent + before(find(now - span + 1, 1))
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
-- So long after now, and no earlier than the newest.
drop(now - grain + 1)
local place, newest = now + ahead * 1000, newest_item()
if not newest or newest <= now then segments = 0 end
if ahead > segments then segments = ahead end
if newest and newest > place then place = newest end
add(place, units)

--- charge
--@enter

--- give
give_from(now - grain + 1, units, taken)

--- penalize
units, ahead = cost, 0
--@enter
-- The newest units that the largest window holds are all that a wait needs.
local most = 0
for w = 0, windows - 1 do
  local limit = unpack('>I4', warg, wat + 11 * w)
  if limit > most then most = limit end
end
if spent - most > gone then gone = spent - most end

--- ends
local newest, total = newest_item()
ends = 0
if total > gone then ends = newest + grain - now end
if ends < 0 then ends = 0 end

--- finish
local ends
--@ends
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
local ends
--@ends
ttl = ends
--@save

--- hold
held = { counts, grain, segments, variant, gone, head, n, last_at or false, last_total or 0, prefix, moved, fresh, warg, wat, windows, chunk, skip, base, have, spent }

--- resume
counts, grain, segments, variant, gone, head, n = held[1], held[2], held[3], held[4], held[5], held[6], held[7]
last_at, last_total, prefix, moved, fresh = held[8], held[9], held[10], held[11], held[12]
warg, wat, windows = held[13], held[14], held[15]
chunk, skip, base, have, spent = held[16], held[17], held[18], held[19], held[20]

--- lasts
--@load
if n > head then
  local newest, total = item(n - 1)
  if total > gone then ttl = newest + grain - now end
end
