-- The charged units of sliding windows and logs, oldest first: engine/algo/history.go. An item
-- consists of a place (a segment's number, or a time in µs) and the running total of units up to
-- and including the item. The units of any span are therefore the difference of two totals, and
-- dropping the oldest items changes no other item. Items head to n−1 count. gone is the running
-- total of the dropped units.
--
-- A history of up to 64 items is read and written as a whole. In a longer history, only the needed items are
-- read, in chunks, and only the changed items are written.

--- locals
-- When gone reaches REBASE, totals start again from 0. A history holds at most 2^52 units, and an
-- operation adds less than 2^50, so totals stay below 2^53.
local REBASE = 2251799813685248
local grain, kept, gone, head, n -- grain and kept are explained in window.lua and log.lua
local instant, behind -- the instant of the decision, and how far now is before it
local spent -- the running total of all items; a give changes gone instead
local chunk, skip, base, have -- items base to base+have−1, at byte skip of chunk
local last_at, last_total -- the newest item, if it was added or changed
local new_items -- the other added items, before the newest one
local find_cache -- results of find, valid as long as no item moves; false means that they are not cached
local prefix, moved -- items head to moved−1, which a give has changed
local window_args, window_at, window_count -- the limit's windows: argument, position, number

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

-- newest_item returns the place (nil if there is no item) and the total of the newest item.
local function newest_item()
  if n > head then return item(n - 1) end
  return nil, 0
end

-- find returns the first item whose place (column 1) or total (column 2) is at least a bound, or n
-- if there is none. Several operations on one history search for the same places, so these results
-- are cached.
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

-- before returns the running total of the items before item i.
local function before(i)
  if i <= head then return gone end
  local _, total = item(i - 1)
  return total > gone and total or gone
end

-- add charges units at a place. The place is not before the newest item.
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
    -- An earlier give has changed this item. It is now stored as the newest item, so it leaves the prefix.
    moved = n - 1
    prefix = string.sub(prefix, 1, 15 * (moved - head))
  end
  last_at, last_total, spent = at, total, total
end

-- drop drops the items before a place.
local function drop(at)
  local i = find(at, 1)
  gone = before(i)
  if moved > head then prefix = string.sub(prefix, 1 + 15 * (i - head)) end
  head = i
  if head == n then gone, spent = 0, 0 end
end

-- empty drops all items.
local function empty()
  gone, head, n, last_at, prefix, moved, new_items, spent, kept = 0, 0, 0, nil, '', 0, '', 0, 0
  if find_cache then find_cache = {} end
end

-- clamp moves the units of all items after a place to that place.
local function clamp(at)
  local i = find(at + 1, 1)
  if i == n then return end
  local later = spent - before(i)
  find_cache = false
  spent, n, last_at = spent - later, i, nil
  add(at, later)
end

-- give_from removes units: the oldest units at or after the place oldest or, if there is a handle (taken is not -WORD), the
-- units of one place. The items before them stay, and their totals rise by the number of removed units. To bound the
-- time of a call, it changes at most 1000 items in this way. If there are more items before the place and they no
-- longer count, they are dropped, as by a charge. If they count, the oldest units are removed instead of the handle's
-- units, which never admits more.
local function give_from(oldest, units, place)
  local i = find(oldest, 1)
  if taken ~= -WORD then
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
  for p = j, moved - 1 do -- items that an earlier give has changed
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
  local whole = type(chunk) == 'string' and #chunk >= 24 and byte(chunk) == FORMAT
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
-- If the next operation has the same key and limit, it continues on this history, which is written
-- once, after the last of them. Before totals start again from 0, the history is written first.
local last = window_at + 13 * window_count - 1
continued = gone < REBASE and KEYS[k + 1] == key and string.sub(ARGV[j + 1], 11, last) == string.sub(arg, 11, last)
if continued then find_cache = find_cache or {} end

--- room
local more = 0
--@windows_room

--- spare
-- The units that would pass if each window's limit were larger by the largest limit.
local more = 0
for w = 0, window_count - 1 do
  local limit = unpack('>I6', window_args, window_at + 13 * w)
  if limit > more then more = limit end
end
--@windows_room

--- windows_room
room = NEVER
for w = 0, window_count - 1 do
  local limit, span = unpack('>I6I7', window_args, window_at + 13 * w)
  local left
  limit = limit + more
  --@window_room
  if left < room then room = left end
end

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
    last, to = string.sub(last, 1 + 15 * (from - to)), from -- the other items were dropped
  end
  if n - head <= 64 or head * 2 > n or gone >= REBASE then
    local middle = ''
    if gone >= REBASE then
      local items = {}
      for i = head, n - 1 do
        local at, total = item(i)
        if total > gone then items[#items + 1] = pack('>i8I7', at, total - gone) end
      end
      prefix, middle, last, gone, n = '', table.concat(items), '', 0, head + #items
    elseif from < to and from >= base and to <= base + have then
      middle = string.sub(chunk, skip + 15 * (from - base), skip + 15 * (to - base) - 1)
    elseif from < to then
      middle = call('GETRANGE', key, 24 + 15 * from, 23 + 15 * to)
    end
    answer = call('PSETEX', key, ttl,
      pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, 0, n - head) .. prefix .. middle .. last)
  else
    -- The expiry is set first, so that it is not too short if a later write fails.
    answer = call('PEXPIRE', key, ttl)
    if type(answer) ~= 'table' then
      answer = call('SETRANGE', key, 0, pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, head, n))
    end
    if prefix ~= '' then call('SETRANGE', key, 24 + 15 * head, prefix) end
    if last ~= '' then call('SETRANGE', key, 24 + 15 * to, last) end
  end
end
if type(answer) == 'table' then err = answer.err end
