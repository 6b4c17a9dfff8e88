-- Sliding window: algo/window.go, on history.lua. A place is a segment: floor of
-- the time over its length.

--- locals
local segment, current, reach, span_segments, kind_of

--- asks
counts, cost, segment, span_segments, kind_of, windows, at = unpack('>BI7I7I2BB', arg, at)
warg, wat, at = arg, at, at + 11 * windows

--- settle
current = (now - now % segment) / segment
--@load
if n > head and grain == segment and segments == span_segments and variant == kind_of then
  local newest, total = item(n - 1)
  if total > gone and newest > current then
    -- The clock was set back: later segments join the current one.
    pull(current)
    write, stale = cost > 0, true
  end
elseif n > head then
  -- Other numbers: all that still counts goes into the current segment.
  local place = (now - now % grain) / grain - segments
  if variant == 2 then place = place + 1 end
  local counted = spent - before(find(place, 1))
  gone, head, n, last_at, spent = 0, 0, 0, nil, counted
  write, stale = cost > 0, true
  if counted > 0 then n, last_at, last_total = 1, current, counted end
end
grain, segments, variant = segment, span_segments, kind_of
reach = variant == 2 and -1 or 0 -- the lenient kind ignores its oldest segment

--- probe
wait, window = 0, 0
if cost > 0 then
  for w = 0, windows - 1 do
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
    local k, free, time, place = span / segment, limit - cost, NEVER, current
    if free >= 0 then
      local over = spent - free
      if over > gone then
        local oldest = item(find(over, 2))
        -- With weights it need not be gone: it may be the oldest of the
        -- window, partly expired.
        place = math.max(current, oldest + k + (variant == 0 and 0 or reach + 1))
      end
      time = place * segment - now
      if variant == 0 then
        local i = find(place - k, 1)
        local j = i
        if i < n and item(i) == place - k then j = i + 1 end
        local old = before(j) - before(i)
        free = free - spent + before(j)
        if old > free then time = time + segment - muldiv(free, segment, old) end
      end
      if time < 0 then time = 0 end
    end
    if time > wait then wait, window = time, w end
  end
end

--- left
local i = find(current - span / segment - reach, 1)
left = limit - spent + before(i)
if variant == 0 and i < n and item(i) == current - span / segment then
  local expired = muldiv(before(i + 1) - before(i), now - current * segment, segment)
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
drop(current - segments - reach)
add(current, units)

--- give
give_from(current - segments - reach, units, (taken - taken % segment) / segment)

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
  drop(current - segments - reach)
  add(current, most)
end

--- finish
local newest, total = newest_item()
local refused = wait > 0 and window
remaining, reset = nil, 0
for w = 0, windows - 1 do
  if not refused or refused == w then
    local limit, span = unpack('>I4I7', warg, wat + 11 * w)
    local left
    --@left
    local ends = 0
    if total > gone then ends = (newest + span / segment + reach + 1) * segment - now end
    if ends < 0 then ends = 0 end
    if not remaining or left < remaining or left == remaining and ends > reset then
      remaining, reset, window = left, ends, w
    end
  end
end

--- store
local newest, total = newest_item()
ttl = 0
if total > gone then ttl = (newest + segments + reach + 1) * segment - now end
--@save

--- hold
held = { counts, grain, segments, variant, gone, head, n, last_at or false, last_total or 0, prefix, moved, fresh, warg, wat, windows, segment, current, reach, chunk, skip, base, have, spent }

--- resume
counts, grain, segments, variant, gone, head, n = held[1], held[2], held[3], held[4], held[5], held[6], held[7]
last_at, last_total, prefix, moved, fresh = held[8], held[9], held[10], held[11], held[12]
warg, wat, windows, segment, current, reach = held[13], held[14], held[15], held[16], held[17], held[18]
chunk, skip, base, have, spent = held[19], held[20], held[21], held[22], held[23]

--- lasts
--@load
if n > head then
  local newest, total = item(n - 1)
  if total > gone then
    ttl = (newest + segments + (variant == 2 and 0 or 1)) * grain - now
  end
end
