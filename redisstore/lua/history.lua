-- What was spent, oldest first: algo/history.go. An item is a place (a segment,
-- or a µs) and the running total up to and including it, so that any span's sum
-- is two look-ups and dropping the oldest changes no other item. Items head to
-- n−1 count; gone is the total of what was dropped.
--
-- Up to 64 items are read and written as a whole. Of a longer history only the
-- parts that are looked at are read, and only what changed is written.

--- locals
local grain, kept, gone, head, n
local instant, behind -- what is decided on as of when, and how far the clock is behind that
local spent -- the running total of all; what is given back moves what is gone
local chunk, skip, base, have -- what was read: items base to base+have−1
local last_at, last_total -- the newest item, where it was changed
local new_items -- items before that which are new as well
local find_cache -- where items were found, as long as none moves
local prefix, moved -- the oldest items, where they were changed, and up to where
local window_args, window_at, window_count -- the call's windows, as they came

--- functions

-- item returns the place and the running total of an item.
local function item(i)
  if last_at and i == n - 1 then return last_at, last_total end
  if i < moved then return unpack('>i8I7', prefix, 1 + 15 * (i - head)) end
  if new_items ~= '' and i >= n - 1 - #new_items / 15 then return unpack('>i8I7', new_items, #new_items + 1 - 15 * (n - 1 - i)) end
  if i < base or i >= base + have then
    base, skip = i > 32 and i - 32 or 0, 1
    chunk = call('GETRANGE', key, 24 + 15 * base, 1013 + 15 * base)
    have = (#chunk - #chunk % 15) / 15
  end
  return unpack('>i8I7', chunk, skip + 15 * (i - base))
end

-- newest_item returns the place of the newest item, if any, and its total.
local function newest_item()
  if n > head then return item(n - 1) end
  return nil, 0
end

-- find returns the first item whose place (1) or total (2) is not below a bound.
-- Operations that follow each other on one history look for the same places.
local function find(bound, column)
  local low, high, known = head, n, find_cache and column == 1 and find_cache[bound]
  if known then return known end
  while low < high do
    local middle = (low + high - (low + high) % 2) / 2
    local at, total = item(middle)
    if column == 2 then at = total end
    if at >= bound then high = middle else low = middle + 1 end
  end
  if find_cache and column == 1 and low < n then find_cache[bound] = low end
  return low
end

-- before returns the running total of what lies before an item.
local function before(i)
  if i <= head then return gone end
  local _, total = item(i - 1)
  return total > gone and total or gone
end

-- add puts units at the newest place.
local function add(at, units)
  local total = spent + units
  if n == head or item(n - 1) ~= at then
    if n == head then
      new_items = ''
    elseif last_at then
      new_items = new_items .. pack('>i8I7', last_at, last_total)
    end
    n = n + 1
  elseif moved >= n then
    -- A give has moved this item; it is changed once more.
    moved = n - 1
    prefix = string.sub(prefix, 1, 15 * (moved - head))
  end
  last_at, last_total, spent = at, total, total
end

-- drop forgets all that lies before a place.
local function drop(at)
  local i = find(at, 1)
  gone = before(i)
  if moved > head then prefix = string.sub(prefix, 1 + 15 * (i - head)) end
  head = i
  if head == n then gone, spent = 0, 0 end
end

-- empty forgets what counts no more.
local function empty()
  gone, head, n, last_at, prefix, moved, new_items, spent, kept = 0, 0, 0, nil, '', 0, '', 0, 0
  if find_cache then find_cache = {} end
end

-- pull moves all that lies after a place to it.
local function pull(at)
  local i = find(at + 1, 1)
  if i == n then return end
  local later = spent - before(i)
  find_cache = false
  spent, n, last_at = spent - later, i, nil
  add(at, later)
end

-- give_from takes units off from the oldest that count, or by handle from one
-- place. What lies before stays, and its totals move up to those that are left.
-- So that no call is long, that is done with 1000 items at most: more that no
-- longer count are dropped, as a charge does; where more do count, the oldest
-- units are given back, which admits no more than the right ones would.
local function give_from(oldest, units, place)
  local i = find(oldest, 1)
  if taken ~= 0 then
    if place < oldest then return end
    local exact = find(place, 1)
    if exact == n or item(exact) ~= place then return end
    local there = before(exact + 1) - before(exact)
    if units > there then units = there end
    if exact - head <= 1000 or exact == i then i = exact end
  end
  local from = before(i)
  if units > spent - from then units = spent - from end
  local j = find(from + units + 1, 2)
  local stale = {}
  if i - head <= 1000 then
    for p = head, i - 1 do
      local place, total = item(p)
      stale[#stale + 1] = pack('>i8I7', place, total + units)
    end
  else
    gone = from
  end
  local first = j - #stale
  for p = j, moved - 1 do -- as an earlier give has left them
    stale[#stale + 1] = pack('>i8I7', item(p))
  end
  gone, head, prefix, moved = gone + units, first, table.concat(stale), first + #stale
  if j == n then last_at, new_items = nil, '' end
  if find_cache then find_cache = {} end
end

--- load
gone, head, n, last_at, prefix, moved, new_items = 0, 0, 0, nil, '', 0, ''
base, have, skip, shifted, find_cache, kept, grain = 0, 0, 25, nil, false, 0, 0
chunk = call('GETRANGE', key, 0, 1013)
absent = chunk == ''
if not absent then
  local whole = type(chunk) == 'string' and #chunk >= 24 and byte(chunk) <= FORMAT
  if whole then
    local length, _ = #chunk, nil
    if length == 1014 then length = call('STRLEN', key) end
    _, grain, kept, _, gone, head, n = unpack('>BI7I2BI7I3I3', chunk)
    whole = head <= n and 24 + 15 * n <= length and grain > 0
    have = (#chunk - 24 - (#chunk - 24) % 15) / 15
  end
  if not whole then
    absent, err, gone, head, n = true, state_error(chunk), 0, 0, 0
  end
end
spent = before(n)

--- continues
-- The same limit again: its history stays, and is written once for all.
local last = window_at + 11 * window_count - 1
continued = KEYS[k + 1] == key and string.sub(ARGV[j + 1], 11, last) == string.sub(arg, 11, last)
if continued then find_cache = find_cache or {} end

--- save
local answer
if ttl <= 0 then
  answer = call('DEL', key)
else
  local rest = ttl % 1000
  if rest > 0 then ttl = ttl + 1000 - rest end
  ttl = format('%.0f', ttl / 1000 + pad)
  local last = last_at and new_items .. pack('>i8I7', last_at, last_total) or ''
  local from, to = head + #prefix / 15, n - #last / 15
  if from > to then
    last, to = string.sub(last, 1 + 15 * (from - to)), from -- the rest was dropped
  end
  if n - head <= 64 or head * 2 > n then
    local middle = ''
    if gone >= 4503599627370496 and prefix == '' then
      -- Totals start again long before they are too large to be exact.
      local items = {}
      for i = head, n - 1 do
        local at, total = item(i)
        if total > gone then items[#items + 1] = pack('>i8I7', at, total - gone) end
      end
      middle, last, gone, n = table.concat(items), '', 0, head + #items
    elseif from < to and from >= base and to <= base + have then
      middle = string.sub(chunk, skip + 15 * (from - base), skip + 15 * (to - base) - 1)
    elseif from < to then
      middle = call('GETRANGE', key, 24 + 15 * from, 23 + 15 * to)
    end
    answer = call('SET', key,
      pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, 0, n - head) .. prefix .. middle .. last, 'PX', ttl)
  else
    -- The expiry first: whatever else were refused, it would not be too short.
    answer = call('PEXPIRE', key, ttl)
    if type(answer) ~= 'table' then
      answer = call('SETRANGE', key, 0, pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, head, n))
    end
    if prefix ~= '' then call('SETRANGE', key, 24 + 15 * head, prefix) end
    if last ~= '' then call('SETRANGE', key, 24 + 15 * to, last) end
  end
end
if type(answer) == 'table' then err = answer.err end
