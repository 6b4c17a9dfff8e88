-- Generated from prelude.lua, common.lua, bucket.lua, fixed.lua, history.lua, window.lua, log.lua, concurrency.lua, stateless.lua, lookup.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
--
-- The fragments share the locals of common.lua: the limit and the operation that are
-- being decided, and what the parts find out about them. lua/README.md has the parts
-- and their contract. A server gets this text without comments and indentation.
local clock = redis.call('TIME')
local now, pad, count = clock[1] * 1000000 + clock[2], 0, #ARGV

local unpack_list = unpack
local call, pack, unpack, byte, format = redis.pcall, struct.pack, struct.unpack, string.byte, string.format

-- WORD is the first integer at which a double may not be exact. NEVER, the wait
-- of a cost that could not pass an untouched limit, is the same number.
local WORD, NEVER = 9007199254740992, 9007199254740992

-- FORMAT is the first byte of every state. States of the format before it are read.
local FORMAT = 2

-- muldiv returns the quotient and the rest of a·b/d. Where a·b is more than a
-- word, b is taken digit by digit from the top, in the largest base in which a
-- rest times a digit still is exact.
local function muldiv(a, b, d)
  local x = a * b
  if x < 9007199254740992 then
    local r = x % d
    return (x - r) / d, r
  end
  local r = a % d
  local q, rest, base, place, above = (a - r) / d * b, 0, 2, 1, 0
  while base * 2 * d <= 9007199254740992 and base < 67108864 do base = base * 2 end
  while place * base <= b do place = place * base end
  while place >= 1 do
    local low = b % place
    local x, y = rest * base, r * ((b - low) / place)
    local xr, yr = x % d, y % d
    above, rest = above * base + (x - xr) / d + (y - yr) / d, xr + yr
    if rest >= d then rest, above = rest - d, above + 1 end
    b, place = low, place / base
  end
  return q + above, rest
end

-- complain says what is wrong with what was read from our key.
local function state_error(value)
  if type(value) == 'table' then return value.err end
  local version = string.byte(value)
  if version and version > FORMAT and version < 32 then return 'NEWER ' .. version end
  return 'GARBAGE ' .. #value
end

-- The limit that is being decided: what was asked, and what is found out. They
-- are locals of the script, and the algorithms' parts are put in place where
-- they are needed: with tables and functions a decision took twice the time.
local key, k, arg, at, kind, algorithm = nil, 0
local cost, units, taken, count_denied, absent, wait, delay, window, room, remaining, reset
local write, err, prior, value, ttl, suspended, wrote
local after = 0 -- how many µs after now the units count that were charged
local ahead = 0 -- units are spent up to so many ms after now, and entered then
-- What is stored after the clock was set back far, even by a refusal: the state
-- itself, or true where that is what the algorithm has in hand.
local shifted, shifted_ttl

local pacer, debt, own_rate, own_period, burst, depth, depth_part
local rate, period, whole, part, clock, behind, _

local limit, new_end, align, period, start, next_end, used, ends, _

local grain, kept, gone, head, n
local instant, behind -- what is decided on as of when, and how far the clock is behind that
local spent -- the running total of all; what is given back moves what is gone
local chunk, skip, base, have -- what was read: items base to base+have−1
local last_at, last_total -- the newest item, where it was changed
local new_items -- items before that which are new as well
local find_cache -- where items were found, as long as none moves
local prefix, moved -- the oldest items, where they were changed, and up to where
local window_args, window_at, window_count -- the call's windows, as they came

local segment, current, span_segments, variant

local longest

local limit, lease_time, in_use, latest, holders, shortened

local denies


-- span returns how long an amount takes to come in, rounded up.
local function span(rate, period, whole, part)
  local q, r = period * whole + part, nil
  if q < WORD then
    r = q % rate
    q = (q - r) / rate
    if r > 0 then q = q + 1 end
    return q
  end
  q, r = muldiv(period, whole, rate)
  r = r + part
  local rest = r % rate
  q = q + (r - rest) / rate
  if rest > 0 then q = q + 1 end
  return q
end


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


-- lease_of returns a holder's units and the length of its lease, which the format
-- before this one did not keep.
local function permit_of(value, length)
  local units, units_held = string.match(value or '', '^(%d+) ?(%d*)$')
  return tonumber(units) or 0, tonumber(units_held) or length
end

-- leases_of returns holders' units in all, each one's, and the lengths of their
-- leases.
local function permits_of(holders, ids, length)
  local sum, units, lengths = 0, {}, {}
  for from = 1, #ids, 1000 do
    local to = math.min(from + 999, #ids)
    local some = call('HMGET', holders, unpack_list(ids, from, to))
    for i = 1, #some do
      local at = from + i - 1
      units[at], lengths[at] = permit_of(some[i], length)
      sum = sum + units[at]
    end
  end
  return sum, units, lengths
end

-- corrected returns all leases as they are after the clock was set back: none lasts
-- longer than its own length from now.
local function shorten(key, holders, length)
  local all, ids, list = call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}, {}
  for i = 1, #all, 2 do ids[#ids + 1] = all[i] end
  local _, units, lengths = permits_of(holders, ids, length)
  for i = 1, #ids do
    list[i] = { id = ids[i], units = units[i], expires = math.min(tonumber(all[2 * i]), now + lengths[i]) }
  end
  table.sort(list, function(a, b) return a.expires < b.expires end)
  return list
end

-- frees returns when so many units over will have expired, leaving out one
-- holder. Where the clock was set back, the leases are in late.
local function wait_for(key, holders, over, length, shortened, but)
  local from = 0
  while over > 0 do
    local page = shortened or {}
    if not shortened then
      local some, ids = call('ZRANGEBYSCORE', key, '(' .. format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', from, 100), {}
      for i = 1, #some, 2 do ids[#ids + 1] = some[i] end
      local _, units = permits_of(holders, ids, length)
      for i = 1, #ids do page[i] = { id = ids[i], units = units[i], expires = tonumber(some[2 * i]) } end
    end
    for i = 1, #page do
      if page[i].id ~= but then over = over - page[i].units end
      if over <= 0 then return page[i].expires - now end
    end
    if shortened or #page == 0 then break end
    from = from + 100
  end
  -- More is held than there are leases for: one of the two keys was evicted.
  return over > 0 and length or 0
end

-- What needs no limit: is there a state, until when does it count; and
-- forgetting it.
local EXPIRY = 5
local out = { pack('>i8', now) }

for j = 1, count do
  arg = ARGV[j]
  local found, longest, failed, limits = 0, 0, nil, byte(arg, 2)
  kind, wrote = byte(arg), false
  for i = 1, limits do
    k, algorithm = k + 1, byte(arg, 2 + i)
    key, err, prior, ttl = KEYS[k], nil, nil, 0
    local first = k
    if algorithm == 1 then -- ttl of bucket.lua
      do -- read
        prior = prior or call('GET', key)
        absent = not prior
        if not absent then
          if type(prior) == 'string' and #prior == 34 and byte(prior) <= FORMAT then
            _, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', prior)
          else
            absent, err = true, state_error(prior)
          end
        end
      end
      if not absent then ttl = span(rate, period, whole, part) + clock - now end
    elseif algorithm == 2 then -- ttl of fixed.lua
      do -- read
        prior = prior or call('GET', key)
        absent = not prior
        if not absent then
          if type(prior) == 'string' and #prior == 13 and byte(prior) <= FORMAT then
            _, used, ends = unpack('>BI4i8', prior)
          else
            absent, err = true, state_error(prior)
          end
        end
      end
      if not absent then ttl = ends - now end
    elseif algorithm == 3 then -- ttl of window.lua
      do -- load
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
      end
      if n > head then
        local newest, total = item(n - 1)
        if total > gone then ttl = (newest + kept + 1) * grain - now end
      end
    elseif algorithm == 4 then -- ttl of log.lua
      do -- load
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
      end
      if n > head then
        local newest, total = item(n - 1)
        if total > gone then ttl = newest + grain - now end
      end
    elseif algorithm == 5 then -- ttl of concurrency.lua
      k = k + 1
      holders = KEYS[k]
      local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
      absent = #last ~= 2
      if last.err then
        err = last.err
      elseif not absent then
        ttl = tonumber(last[2]) - now
      end
    elseif algorithm == 6 then -- ttl of stateless.lua
      absent = true
    end
    if kind == EXPIRY then
      failed = failed or err
      if ttl > 0 then found = 1 end
      if ttl > longest then longest = ttl end
    else
      -- Whatever it is that stands at our key, it is forgotten.
      if ttl > 0 or err then found = 1 end
      for d = first, k do
        local answer = call('DEL', KEYS[d])
        if type(answer) == 'table' then failed = failed or answer.err else wrote = true end
      end
    end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[j + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[j + 1] = pack('>BI8', found, longest)
  end
end
return table.concat(out)
