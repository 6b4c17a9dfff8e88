-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, fixed.lua, history.lua, window.lua, log.lua, warmup.lua, concurrency.lua, stateless.lua, hash.lua, lookup.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
--
-- The fragments share the locals of common.lua: the limit and the operation that are
-- being decided, and what the parts find out about them. lua/README.md has the parts
-- and their contract. A server gets this text without comments and indentation.

-- Tells scripts the time: now is the time of the server in µs. pad is 0 ms: a key lives
-- as long as it counts. count is the number of arguments.
local clock = redis.call('TIME')
local now, pad, count = clock[1] * 1000000 + clock[2], 0, #ARGV

local unpack_list = unpack
local call, pack, unpack, byte, format = redis.pcall, struct.pack, struct.unpack, string.byte, string.format

-- WORD is 2^53: below it a double holds every integer exactly. NEVER is the wait of
-- a cost that exceeds the capacity, the same number.
local WORD, NEVER = 9007199254740992, 9007199254740992

-- FORMAT is the first byte of every state; format.go has the same number. States of
-- the format before it are read.
local FORMAT = 2

-- muldiv returns the quotient and the remainder of a·b/d. If a·b does not fit into a
-- word, it is a long multiplication: digit by digit of b, from the highest, in the
-- largest base in which a remainder times a digit is still exact.
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

-- state_error returns the error of a value that is not a state: an error reply, or
-- bytes that are not a state of this format.
local function state_error(value)
  if type(value) == 'table' then return value.err end
  local version = string.byte(value)
  if version and version > FORMAT and version < 32 then return 'NEWER ' .. version end
  return 'GARBAGE ' .. #value
end

-- The operation and the limit that are being decided. All parts work on these
-- locals of the script: with tables and functions a decision took twice the time.
local key, k, arg, at, kind, algorithm = nil, 0
local field -- of the hash that key names, where states are fields
local cost, units, taken, count_denied, absent, wait, delay, window, room, remaining, reset
local write, err, prior, value, ttl, suspended, wrote
local after = 0 -- the charged units count so many µs after now
local ahead = 0 -- the units will be spent so many ms after now, and are logged then
-- After the server's clock was set back far, even a denied operation stores the state
-- with its times moved to now. shifted is that state, or true if the algorithm's
-- locals are that state; shifted_ttl is its TTL.
local shifted, shifted_ttl

local pacer, debt, own_rate, own_period, burst, depth, depth_part
local most -- the largest cost, if the next request pays (debt is 2)
local rate, period, whole, part, clock, behind, _

local limit, new_end, align, period, start, next_end, used, ends, _

local grain, kept, gone, head, n -- grain, kept: see window.lua and log.lua
local instant, behind -- when the operation is decided, and how far now is before that
local spent -- the running total of all items; a give raises gone instead
local chunk, skip, base, have -- items base to base+have−1, at byte skip of chunk
local last_at, last_total -- the newest item, if it was added or changed
local new_items -- the other added items, before the newest one
local find_cache -- results of find, as long as no item moves; false: do not cache
local prefix, moved -- items head to moved−1, if a give has changed them
local window_args, window_at, window_count -- the limit's windows: argument, position, number

local segment, current, span_segments, variant

local longest

local rate, period, burst, over, ramp, most -- most: the largest cost if the next request pays, or 0
local whole, part, passed, warm, clock, behind, tail, _

local limit, lease_time, in_use, latest, holders, shortened

local denies

-- span returns the time in which an amount refills, rounded up.
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

-- newest_item returns the place, nil if there is no item, and the total of the newest
-- item.
local function newest_item()
  if n > head then return item(n - 1) end
  return nil, 0
end

-- find returns the first item whose place (column 1) or total (column 2) is not below
-- a bound, n if there is none. Several operations on one history look for the same
-- places, so these are cached.
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

-- add charges units at a place, which is not before the newest item.
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
    -- A give has changed this item, and now it changes again.
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

-- pull moves the units of all items after a place to that place.
local function pull(at)
  local i = find(at + 1, 1)
  if i == n then return end
  local later = spent - before(i)
  find_cache = false
  spent, n, last_at = spent - later, i, nil
  add(at, later)
end

-- give_from removes units: the oldest ones from the place oldest on or, with a
-- handle (taken ~= 0), those of one place. The items before them stay, and their
-- totals rise by the units that are removed. To bound the time of a call, that is done
-- with 1000 items at most. If more items come before and they no longer count, they
-- are dropped, as by a charge. If they count, the oldest units are removed instead of
-- those of the handle, which never allows more.
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
  for p = j, moved - 1 do -- items that a give before this one has changed
    stale[#stale + 1] = pack('>i8I7', item(p))
  end
  gone, head, prefix, moved = gone + units, first, table.concat(stale), first + #stale
  if j == n then last_at, new_items = nil, '' end
  if find_cache then find_cache = {} end
end

-- price_to returns the price of the first v units after the limit was cold. The ramp has
-- so many units that the first one costs three tokens, and the one after it one token.
local function price_to(v, ramp, period)
  if v < 0 then return 3 * v, 0 end
  if v >= ramp then return ramp + v, 0 end
  local whole, rest = muldiv(v, v, ramp)
  local saved = muldiv(rest, period, ramp)
  if saved > 0 then return 3 * v - whole - 1, period - saved end
  return 3 * v - whole, 0
end

-- price returns the price of the units from the one after from to the one at to.
local function price(from, to, ramp, period)
  local whole, part = price_to(from, ramp, period)
  local q, r = price_to(to, ramp, period)
  q, r = q - whole, r - part
  if r < 0 then return q - 1, r + period end
  return q, r
end

-- below returns how many of the last units before the one at v cost less than an amount
-- together, and at most n.
local function below(whole, part, v, n, ramp, period)
  local least = 0
  while n > least do
    local middle = least + math.ceil((n - least) / 2)
    local q, r = price(v - middle, v, ramp, period)
    if q < whole or q == whole and r < part then least = middle else n = middle - 1 end
  end
  return least
end

-- permit_of returns a holder's units and its lease time. Format 1 did not store the
-- lease time: it is then the given one.
local function permit_of(value, length)
  local units, stored_time = string.match(value or '', '^(%d+) ?(%d*)$')
  return tonumber(units) or 0, tonumber(stored_time) or length
end

-- permits_of returns the sum of the holders' units, the units of each holder and the
-- lease time of each.
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

-- shorten returns all permits, by expiry, after the clock was set back: none lasts
-- longer than its lease time from now.
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

-- wait_for returns how long it takes until `over` units have expired, not counting
-- those of the holder `but`. If the clock was set back, shortened has the permits.
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
  -- The sum of the units is larger than that of the permits: one key was evicted.
  return over > 0 and length or 0
end

-- Expiry and reset, which do not depend on the limit's numbers: returns whether
-- there is a state and its TTL, or deletes it.
local EXPIRY = 5
local out = { pack('>i8', now) }

for j = 1, count do
  arg = ARGV[j]
  local found, longest, failed, limits = 0, 0, nil, byte(arg, 2)
  kind, wrote, at = byte(arg), false, 3
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, err, prior, ttl = KEYS[k], nil, nil, 0
    local first = k
    if algorithm == 1 then -- field of bucket.lua
      field, at = unpack('>I2c0', arg, at)
    elseif algorithm == 2 then -- field of fixed.lua
      field, at = unpack('>I2c0', arg, at)
    elseif algorithm == 3 then -- field of window.lua
    elseif algorithm == 4 then -- field of log.lua
    elseif algorithm == 5 then -- field of warmup.lua
    elseif algorithm == 6 then -- field of concurrency.lua
    elseif algorithm == 7 then -- field of stateless.lua
    end
    if algorithm == 1 then -- ttl of bucket.lua
      do -- read
        do -- get_state
          prior = prior or call('HGET', key, field)
        end
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
        do -- get_state
          prior = prior or call('HGET', key, field)
        end
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
    elseif algorithm == 5 then -- ttl of warmup.lua
      do -- read
        prior = prior or call('GET', key)
        absent = not prior
        if not absent then
          if type(prior) == 'string' and #prior == 48 and byte(prior) <= FORMAT then
            _, clock, whole, part, rate, period, passed, tail = unpack('>Bi8I7I7I4I7I7I7', prior)
          else
            absent, err = true, state_error(prior)
          end
        end
      end
      if not absent then ttl = clock + span(rate, period, whole, part) + tail - now end
    elseif algorithm == 6 then -- ttl of concurrency.lua
      k = k + 1
      holders = KEYS[k]
      local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
      absent = #last ~= 2
      if last.err then
        err = last.err
      elseif not absent then
        ttl = tonumber(last[2]) - now
      end
    elseif algorithm == 7 then -- ttl of stateless.lua
      absent = true
    end
    if kind == EXPIRY then
      failed = failed or err
      if ttl > 0 then found = 1 end
      if ttl > longest then longest = ttl end
    else
      -- A reset deletes any value at the key, even one that is not a state.
      if ttl > 0 or err then found = 1 end
      local answer
      if algorithm == 1 then -- delete_state of bucket.lua
        answer = call('HDEL', key, field)
        -- What is no hash holds no state, and is deleted as a value that is no state is.
        if type(answer) == 'table' and string.find(answer.err, 'WRONGTYPE', 1, true) then answer = call('DEL', key) end
      elseif algorithm == 2 then -- delete_state of fixed.lua
        answer = call('HDEL', key, field)
        -- What is no hash holds no state, and is deleted as a value that is no state is.
        if type(answer) == 'table' and string.find(answer.err, 'WRONGTYPE', 1, true) then answer = call('DEL', key) end
      elseif algorithm == 3 then -- delete_state of window.lua
        for d = first, k do
          answer = call('DEL', KEYS[d])
          if type(answer) == 'table' then break end
        end
      elseif algorithm == 4 then -- delete_state of log.lua
        for d = first, k do
          answer = call('DEL', KEYS[d])
          if type(answer) == 'table' then break end
        end
      elseif algorithm == 5 then -- delete_state of warmup.lua
        for d = first, k do
          answer = call('DEL', KEYS[d])
          if type(answer) == 'table' then break end
        end
      elseif algorithm == 6 then -- delete_state of concurrency.lua
        for d = first, k do
          answer = call('DEL', KEYS[d])
          if type(answer) == 'table' then break end
        end
      elseif algorithm == 7 then -- delete_state of stateless.lua
        for d = first, k do
          answer = call('DEL', KEYS[d])
          if type(answer) == 'table' then break end
        end
      end
      if type(answer) == 'table' then failed = failed or answer.err else wrote = true end
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
