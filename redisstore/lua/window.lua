-- Sliding window: engine/algo/window.go, with history.lua. A place is the number of a
-- segment: the time divided by the segment's length, rounded down. kept is the
-- number of segments of the longest window under which units were charged since the
-- history was last empty.

--- locals
local segment, current, span_segments, variant

--- args
count_denied, cost, segment, span_segments, variant, window_count, at = unpack('>BI7I7I2BB', arg, at)
window_args, window_at, at = arg, at, at + 13 * window_count

--- settle
--@load
--@resettle

--- resettle
-- The current segment is that of now, or the newest segment if now is before it.
instant, behind = now, 0
current = (now - now % segment) / segment
local newest, total = newest_item()
if total > gone then
  local ahead = newest * segment - now
  if ahead > kept * segment and ahead > span_segments * segment then
    clamp(current)
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
-- reach is the number of segments before the current one that a window counts. weighted is set if
-- the oldest of them counts by weight. variant is 0 for weighted, 1 for strict, and 2 for lenient,
-- which ignores the oldest segment.
reach = span / segment
weighted = variant == 0 and reach <= kept
if variant == 2 then reach = reach - 1 end
if reach > kept then reach = kept end

--- wait
wait, window = 0, 0
if cost > 0 then
  for w = 0, window_count - 1 do
    local limit, span = unpack('>I6I7', window_args, window_at + 13 * w)
    local free, time, place = limit - cost, NEVER, current
    if free >= 0 then
      local reach, weighted
      --@reach
      local over = spent - free
      if over > gone then
        local oldest = item(find(over, 2))
        -- A weighted segment does not have to expire: it can be the window's oldest, partly expired segment.
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

--- window_room
local reach, weighted
--@reach
local i = find(current - reach, 1)
left = limit - spent + before(i)
if weighted and i < n and item(i) == current - reach then
  local expired = muldiv(before(i + 1) - before(i), instant - current * segment, segment)
  left = left + expired
end
if left < 0 then left = 0 end

--- charge
drop(current - kept)
if span_segments > kept then kept = span_segments end
add(current, units)
-- Segments hold at most 2^52 units, so that totals stay exact. Beyond that, the oldest units are
-- dropped.
if spent - 4503599627370496 > gone then gone = spent - 4503599627370496 end
after = behind

--- give
-- If there is a handle, gives back the units of one segment. Otherwise, gives back the oldest units that count in the
-- limit's own windows.
local oldest, span = current - kept, span_segments * segment
if taken == -WORD then
  local reach, weighted
  --@reach
  oldest = current - reach
end
give_from(oldest, units, (taken - taken % segment) / segment)

--- penalize
local most = 0
for w = 0, window_count - 1 do
  local limit, span = unpack('>I6I7', window_args, window_at + 13 * w)
  local left
  --@window_room
  if left > most then most = left end
end
if most > cost then most = cost end
if most > 0 then
  units = most
  --@charge
end

--- report
local newest, total = newest_item()
local denied_window = wait > 0 and window
remaining, reset = nil, 0
for w = 0, window_count - 1 do
  if not denied_window or denied_window == w then
    local limit, span = unpack('>I6I7', window_args, window_at + 13 * w)
    local left, reach, weighted
    --@window_room
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

--- suspend
suspended = { count_denied, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, new_items, window_args, window_at, window_count, segment, current, span_segments, variant, chunk, skip, base, have, spent, instant, behind }

--- resume
count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
window_args, window_at, window_count, segment, current, span_segments, variant = suspended[12], suspended[13], suspended[14], suspended[15], suspended[16], suspended[17], suspended[18]
chunk, skip, base, have, spent, instant, behind = suspended[19], suspended[20], suspended[21], suspended[22], suspended[23], suspended[24], suspended[25]

--- ttl
--@load
if n > head then
  local newest, total = item(n - 1)
  if total > gone then ttl = (newest + kept + 1) * grain - now end
end
