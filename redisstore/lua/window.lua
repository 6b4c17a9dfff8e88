-- Sliding window: algo/window.go, on history.lua. A place is a segment: floor of
-- the time over its length. Kept is how many segments the longest window had under
-- which units were charged since the history was last empty.

--- locals
local segment, current, span_segments, kind_of

--- asks
counts, cost, segment, span_segments, kind_of, windows, at = unpack('>BI7I7I2BB', arg, at)
warg, wat, at = arg, at, at + 11 * windows

--- settle
--@load
--@again

--- again
-- The segment that is decided in: now's, or the newest, where the clock is behind
-- that.
instant, behind = now, 0
current = (now - now % segment) / segment
local newest, total = newest_item()
if total > gone then
  local ahead = newest * segment - now
  if ahead > kept * segment and ahead > span_segments * segment then
    pull(current)
    shifted = true
  elseif ahead > 0 then
    instant, behind, current = newest * segment, ahead, newest
  elseif newest < current - kept then
    empty()
  end
else
  empty()
end

--- reach
-- How many segments before the current one a window counts, and whether the oldest
-- counts by weight. The lenient kind ignores that one.
reach = span / segment
weighted = kind_of == 0 and reach <= kept
if kind_of == 2 then reach = reach - 1 end
if reach > kept then reach = kept end

--- probe
wait, window = 0, 0
if cost > 0 then
  for w = 0, windows - 1 do
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
    local free, time, place = limit - cost, NEVER, current
    if free >= 0 then
      local reach, weighted
      --@reach
      local over = spent - free
      if over > gone then
        local oldest = item(find(over, 2))
        -- With weights it need not be gone: it may be the oldest of the
        -- window, partly expired.
        place = math.max(current, oldest + reach + (weighted and 0 or 1))
      end
      time = place * segment - instant
      if weighted then
        local i = find(place - reach, 1)
        local j = i
        if i < n and item(i) == place - reach then j = i + 1 end
        local old = before(j) - before(i)
        free = free - spent + before(j)
        if old > free then time = time + segment - muldiv(free, segment, old) end
      end
      if time > 0 then time = time + behind else time = 0 end
    end
    if time > wait then wait, window = time, w end
  end
end

--- left
local reach, weighted
--@reach
local i = find(current - reach, 1)
left = limit - spent + before(i)
if weighted and i < n and item(i) == current - reach then
  local expired = muldiv(before(i + 1) - before(i), instant - current * segment, segment)
  left = left + expired
end
if left < 0 then left = 0 end

--- room
room = NEVER
for w = 0, windows - 1 do
  local limit, span = unpack('>I4I7', warg, wat + 11 * w)
  local left
  --@left
  if left < room then room = left end
end

--- charge
drop(current - kept)
if span_segments > kept then kept = span_segments end
add(current, units)
after = behind

--- give
-- By handle those of one segment, otherwise the oldest that the call's own windows
-- count.
local oldest, span = current - kept, span_segments * segment
if taken == 0 then
  local reach, weighted
  --@reach
  oldest = current - reach
end
give_from(oldest, units, (taken - taken % segment) / segment)

--- penalize
local most = 0
for w = 0, windows - 1 do
  local limit, span = unpack('>I4I7', warg, wat + 11 * w)
  local left
  --@left
  if left > most then most = left end
end
if most > cost then most = cost end
if most > 0 then
  units = most
  --@charge
end

--- finish
local newest, total = newest_item()
local refused = wait > 0 and window
remaining, reset = nil, 0
for w = 0, windows - 1 do
  if not refused or refused == w then
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
    local left, reach, weighted
    --@left
    --@reach
    local ends = 0
    if total > gone then ends = (newest + reach + 1) * segment - instant + behind end
    if ends < 0 then ends = 0 end
    if not remaining or left < remaining or left == remaining and ends > reset then
      remaining, reset, window = left, ends, w
    end
  end
end

--- store
local newest, total = newest_item()
grain, ttl = segment, 0
if total > gone then ttl = (newest + kept + 1) * segment - now end
--@save

--- hold
held = { counts, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, fresh, warg, wat, windows, segment, current, span_segments, kind_of, chunk, skip, base, have, spent, instant, behind }

--- resume
counts, grain, kept, gone, head, n = held[1], held[2], held[3], held[4], held[5], held[6]
last_at, last_total, prefix, moved, fresh = held[7], held[8], held[9], held[10], held[11]
warg, wat, windows, segment, current, span_segments, kind_of = held[12], held[13], held[14], held[15], held[16], held[17], held[18]
chunk, skip, base, have, spent, instant, behind = held[19], held[20], held[21], held[22], held[23], held[24], held[25]

--- lasts
--@load
if n > head then
  local newest, total = item(n - 1)
  if total > gone then ttl = (newest + kept + 1) * grain - now end
end
