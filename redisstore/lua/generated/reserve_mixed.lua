-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, fixed.lua, history.lua, window.lua, log.lua, warmup.lua, concurrency.lua, stateless.lua, keys.lua, reserve.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

-- Reserve and settle: engine/algo/reserve.go. As in several.lua all limits are settled
-- first. Then a reserve finds the wait of each, and charges all or none. A settle gives
-- back what was not used of a reservation, or charges more, limit by limit. Before that
-- it writes the reservation's key, which lasts until the reservation ends.
local RESERVE = 10
local out, recompute_keys = { pack('>i8', now) }, nil
local accepts -- the longest delay that the caller accepts
local delays -- all limits can delay their caller
local slot, held_ends -- what the reservation holds of the limit

for j = 1, count do
  arg = ARGV[j]
  local limits, steps, allowed, never, failed, mark, settles_until = byte(arg, 2), {}, 1, false, nil, nil, nil
  kind, at, wrote = byte(arg), 3, false
  if kind == RESERVE then
    delays, at = byte(arg, 3) == 1, 4
  else
    k = k + 1
    mark = KEYS[k]
    settles_until, at = unpack('>i8', arg, 3)
    local settled = call('GET', mark)
    if type(settled) == 'table' then failed = settled.err end
    if settled or now >= settles_until then allowed = 0 end
  end
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, count_denied, delay, err, prior, shifted = KEYS[k], 0, 0, nil, nil, nil
    do -- field
    end
    if algorithm == 1 then -- args of bucket.lua
      pacer, debt, cost, own_rate, own_period, burst, depth, depth_part, at = unpack('>BBI7I4I7I4I7I7', arg, at)
      if debt == 2 then most, at = unpack('>I7', arg, at) end
    elseif algorithm == 2 then -- args of fixed.lua
      count_denied, align, cost, limit, period, at = unpack('>BBI7I4I7', arg, at)
      -- align 2 is the calendar: the window that the client computed, and the end of the
      -- window after it.
      if align == 2 then start, new_end, next_end, at = unpack('>i8i8i8', arg, at) end
    elseif algorithm == 3 then -- args of window.lua
      count_denied, cost, segment, span_segments, variant, window_count, at = unpack('>BI7I7I2BB', arg, at)
      window_args, window_at, at = arg, at, at + 11 * window_count
    elseif algorithm == 4 then -- args of log.lua
      count_denied, cost, longest, window_count, at = unpack('>BI7I7B', arg, at)
      window_args, window_at, at = arg, at, at + 11 * window_count
    elseif algorithm == 5 then -- args of warmup.lua
      local own_rate, own_period
      cost, own_rate, own_period, burst, over, ramp, most, at = unpack('>I7I4I7I4I7I7I7', arg, at)
      rate, period = own_rate, own_period
    elseif algorithm == 6 then -- args of concurrency.lua
    elseif algorithm == 7 then -- args of stateless.lua
    end
    if algorithm == 1 then -- settle of bucket.lua
      whole, part, clock, behind, shifted = 0, 0, now, 0, nil
      do -- read
        do -- get_state
          prior = prior or call('GET', key)
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
      if absent then
        rate, period = own_rate, own_period
      else
        if clock > now then shifted = prior end
        -- The faster of the stored rate and the limit's own rate is in force.
        if (rate ~= own_rate or period ~= own_period) and muldiv(rate, own_period, period) < own_rate then
          do -- convert
            -- Converts the amount to units of 1/own_period token. The part is rounded up, so that
            -- the caller gets no more.
            local q, r = muldiv(part, own_period, period)
            if r > 0 then q = q + 1 end
            if q >= own_period then whole, q = whole + 1, q - own_period end
            part, rate, period = q, own_rate, own_period
          end
        end
        local elapsed = now - clock
        if elapsed >= 0 then
          clock = now
          if elapsed * rate >= WORD and elapsed >= span(rate, period, whole, part) then
            whole, part = 0, 0
          else
            local q, r = elapsed * rate, nil
            if q < WORD then
              r = q % period
              q = (q - r) / period
            else
              q, r = muldiv(elapsed, rate, period)
            end
            whole, part = whole - q, part - r
            if part < 0 then whole, part = whole - 1, part + period end
            if whole < 0 then whole, part = 0, 0 end
          end
        elseif -elapsed > span(rate, period, burst, 0) and -elapsed > span(rate, period, whole, part) then
          -- The clock was set back farther than a refill takes: the state moves to now,
          -- under the rate that it was written under.
          local _, _, tokens, parts, count, unit = unpack('>Bi8I7I7I4I7', shifted)
          clock, shifted = now, pack('>Bi8I7I7I4I7', FORMAT, now, tokens, parts, count, unit)
          shifted_ttl = span(count, unit, tokens, parts)
        else
          behind, shifted = -elapsed, nil
        end
      end
    elseif algorithm == 2 then -- settle of fixed.lua
      if align == 0 then
        new_end = now + period
      elseif align == 1 then
        new_end = now - now % period + period
      elseif now < start or now >= new_end then
        err = 'RECOMPUTE' -- the client computes the window again, for the time of this reply
      end
      used, ends, shifted = 0, 0, nil
      do -- read
        do -- get_state
          prior = prior or call('GET', key)
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
      if used > 0 then
        if ends <= now then
          used = 0
        elseif align < 2 and ends > now + 2 * period or align == 2 and ends > next_end then
          -- The clock was set back by more than a window: the units move to now's window.
          ends = new_end
          shifted, shifted_ttl = pack('>BI4i8', FORMAT, used, ends), ends - now
        end
      end
    elseif algorithm == 3 then -- settle of window.lua
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
      do -- resettle
        -- The current segment is that of now, or the newest one if now is before it.
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
      end
    elseif algorithm == 4 then -- settle of log.lua
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
      do -- resettle
        -- The operation is decided at now, or at the last charge if now is before it.
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
      end
    elseif algorithm == 5 then -- settle of warmup.lua
      whole, part, passed, clock, behind, shifted = 0, 0, 0, now, 0, nil
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
      if not absent then
        local elapsed = now - clock
        if elapsed < 0 then
          local q, r = price_to(burst, ramp, period)
          if -elapsed > span(rate, period, q, r) and -elapsed > span(rate, period, whole, part) then
            -- The clock was set back farther than a refill takes: the state moves to now.
            shifted = pack('>Bi8I7I7I4I7I7I7', FORMAT, now, whole, part, rate, period, passed, tail)
            shifted_ttl = span(rate, period, whole, part) + tail
            clock = now
          else
            behind = -elapsed
          end
          elapsed = 0
        end
        local fill = span(rate, period, whole, part)
        if elapsed >= fill then
          whole, part, clock = 0, 0, clock + fill
        else
          local q, r = muldiv(elapsed, rate, period)
          whole, part, clock = whole - q, part - r, clock + elapsed
          if part < 0 then whole, part = whole - 1, part + period end
        end
      end
      do -- full
        if whole == 0 and part == 0 then
          if passed > 2 * ramp then passed = 2 * ramp end
          warm = passed
          local idle = now + behind - clock
          if idle > 0 and idle > (over - over % 4) / 4 then
            local q, r = muldiv(idle, rate, period)
            if r > 0 then q = q + 1 end
            warm = passed - q
          end
          if warm <= 0 then passed, warm, clock, behind = 0, 0, now, 0 end
        else
          warm = passed
        end
      end
    elseif algorithm == 6 then -- settle of concurrency.lua
      cost, limit, lease_time, at = unpack('>I7I4I7', arg, at)
      k = k + 1
      holders = KEYS[k]
      local _
      do -- read
        in_use = call('HGET', holders, '')
        absent, latest = not in_use, 0
        if absent then
          in_use = 0
        elseif type(in_use) == 'string' and #in_use == 9 and byte(in_use) == 1 then
          _, in_use = unpack('>BI8', in_use)
        elseif type(in_use) == 'string' and #in_use == 17 and byte(in_use) == FORMAT then
          _, in_use, latest = unpack('>BI8i8', in_use)
        else
          absent, err, in_use = true, state_error(in_use), 0
        end
        if not absent then
          local ended = call('ZRANGEBYSCORE', key, '-inf', format('%.0f', now))
          if ended.err then
            err = ended.err
          elseif call('ZCARD', key) == #ended then
            in_use, latest = 0, 0
          else
            in_use = in_use - permits_of(holders, ended, 0)
          end
        end
      end
      shortened = false
      if latest > now then shortened = shorten(key, holders, lease_time) end
    elseif algorithm == 7 then -- settle of stateless.lua
      denies, cost, at = unpack('>BI7', arg, at)
      absent = true
    end
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    local s = {}
    if kind == RESERVE then
      s.accepts, at = unpack('>i8', arg, at)
    else
      s.units, s.taken, s.slot, s.ends, at = unpack('>I7i8i8i8', arg, at)
    end
    if algorithm == 1 then -- suspend of bucket.lua
      suspended = { pacer, debt, own_rate, own_period, burst, depth, depth_part, rate, period, whole, part, clock, behind, most }
    elseif algorithm == 2 then -- suspend of fixed.lua
      suspended = { limit, new_end, align, period, start or 0, next_end or 0, used, ends }
    elseif algorithm == 3 then -- suspend of window.lua
      suspended = { count_denied, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, new_items, window_args, window_at, window_count, segment, current, span_segments, variant, chunk, skip, base, have, spent, instant, behind }
    elseif algorithm == 4 then -- suspend of log.lua
      suspended = { count_denied, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, new_items, window_args, window_at, window_count, longest, chunk, skip, base, have, spent, instant, behind }
    elseif algorithm == 5 then -- suspend of warmup.lua
      suspended = { rate, period, burst, over, ramp, most, whole, part, passed, warm, clock, behind }
    elseif algorithm == 6 then -- suspend of concurrency.lua
      suspended = { limit, in_use, lease_time, holders, shortened }
    elseif algorithm == 7 then -- suspend of stateless.lua
      suspended = { denies }
    end
    s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent = algorithm, key, field, cost, count_denied, absent
    s.shifted, s.shifted_ttl, s.suspended, s.wait, s.delay, s.window = shifted or false, shifted_ttl, suspended, 0, 0, 0
    steps[i] = s
  end

  for i = 1, (failed or kind ~= RESERVE) and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, suspended, wait, delay, window, accepts = s.algorithm, s.key, s.cost, s.suspended, 0, 0, 0, s.accepts
    if algorithm == 1 then -- resume of bucket.lua
      pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
      rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
    elseif algorithm == 2 then -- resume of fixed.lua
      limit, new_end, align, period, start, next_end, used, ends = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]
    elseif algorithm == 3 then -- resume of window.lua
      count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
      last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
      window_args, window_at, window_count, segment, current, span_segments, variant = suspended[12], suspended[13], suspended[14], suspended[15], suspended[16], suspended[17], suspended[18]
      chunk, skip, base, have, spent, instant, behind = suspended[19], suspended[20], suspended[21], suspended[22], suspended[23], suspended[24], suspended[25]
    elseif algorithm == 4 then -- resume of log.lua
      count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
      last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
      window_args, window_at, window_count, longest = suspended[12], suspended[13], suspended[14], suspended[15]
      chunk, skip, base, have, spent, instant, behind = suspended[16], suspended[17], suspended[18], suspended[19], suspended[20], suspended[21], suspended[22]
    elseif algorithm == 5 then -- resume of warmup.lua
      rate, period, burst, over, ramp, most = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
      whole, part, passed, warm, clock, behind = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11], suspended[12]
    elseif algorithm == 6 then -- resume of concurrency.lua
      limit, in_use, lease_time, holders, shortened = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5]
    elseif algorithm == 7 then -- resume of stateless.lua
      denies = suspended[1]
    end
    if algorithm == 1 then -- wait of bucket.lua
      wait, delay = 0, 0
      local price = debt == 2 and 0 or cost
      if cost > (debt == 2 and most or depth) then
        wait = NEVER
      elseif cost > 0 then
        local over, over_part = whole + price - depth, part - depth_part
        if debt == 1 and whole >= burst and cost <= depth - burst then
          -- A bucket in debt denies until a token is there.
          over, over_part = whole - burst, part + 1
        end
        if over_part < 0 then over, over_part = over - 1, over_part + period end
        if over > 0 or over == 0 and over_part > 0 then
          wait = span(rate, period, over, over_part) + behind
        elseif pacer == 1 and whole + price >= burst then
          delay = span(rate, period, whole + price - burst, part)
        end
      end
    elseif algorithm == 2 then -- wait of fixed.lua
      wait = 0
      if cost > limit then
        wait = NEVER
      elseif cost > 0 and used + cost > limit then
        wait = ends - now
      end
    elseif algorithm == 3 then -- wait of window.lua
      wait, window = 0, 0
      if cost > 0 then
        for w = 0, window_count - 1 do
          local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
          local free, time, place = limit - cost, NEVER, current
          if free >= 0 then
            local reach, weighted
            do -- reach
              -- reach is the number of segments before the current one that a window counts.
              -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
              -- strict, 2 lenient, which does not count the oldest.
              reach = span / segment
              weighted = variant == 0 and reach <= kept
              if variant == 2 then reach = reach - 1 end
              if reach > kept then reach = kept end
            end
            local over = spent - free
            if over > gone then
              local oldest = item(find(over, 2))
              -- A weighted segment need not have expired: it can be the oldest one of
              -- the window, which is partly expired.
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
    elseif algorithm == 4 then -- wait of log.lua
      wait, window = 0, 0
      if cost > 0 then
        for w = 0, window_count - 1 do
          local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
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
    elseif algorithm == 5 then -- wait of warmup.lua
      wait, delay = 0, 0
      if cost > (most > 0 and most or burst) then
        wait = NEVER
      elseif cost > 0 then
        local q, r = price(warm + (most > 0 and 0 or cost) - burst, warm, ramp, period)
        q, r = whole - q, part - r
        if r < 0 then q, r = q - 1, r + period end
        if q > 0 or q == 0 and r > 0 then wait = span(rate, period, q, r) + behind end
      end
    elseif algorithm == 6 then -- wait of concurrency.lua
      wait = 0
      if cost > limit then
        wait = NEVER
      elseif cost > 0 then
        wait = wait_for(key, holders, in_use + cost - limit, lease_time, shortened)
      end
    elseif algorithm == 7 then -- wait of stateless.lua
      wait = denies == 1 and cost > 0 and NEVER or 0
    end
    if algorithm == 1 then -- reserve of bucket.lua
      if wait > 0 and wait ~= NEVER and delays and pacer == 0 and rate == own_rate and period == own_period then
        wait, delay = 0, wait - behind
      end
      if wait == 0 and delay > accepts then wait = delay - accepts + behind end
    elseif algorithm == 2 then -- reserve of fixed.lua
    elseif algorithm == 3 then -- reserve of window.lua
    elseif algorithm == 4 then -- reserve of log.lua
    elseif algorithm == 5 then -- reserve of warmup.lua
    elseif algorithm == 6 then -- reserve of concurrency.lua
    elseif algorithm == 7 then -- reserve of stateless.lua
    end
    if wait > 0 then allowed = 0 end
    never = never or wait == NEVER
    s.wait, s.delay, s.window = wait, delay, window
  end
  if mark and allowed == 1 and not failed then
    local left = settles_until - now
    local rest = left % 1000
    if rest > 0 then left = left + 1000 - rest end
    local answer = call('SET', mark, pack('>B', FORMAT), 'PX', format('%.0f', left / 1000 + pad))
    wrote = not answer.err
    failed = answer.err
  end

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, field, cost, count_denied, absent, suspended = s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent, s.suspended
    shifted, shifted_ttl, wait, delay, window, write, err, after = s.shifted, s.shifted_ttl, s.wait, s.delay, s.window, false, nil, 0
    if algorithm == 1 then -- resume of bucket.lua
      pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
      rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
    elseif algorithm == 2 then -- resume of fixed.lua
      limit, new_end, align, period, start, next_end, used, ends = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]
    elseif algorithm == 3 then -- resume of window.lua
      count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
      last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
      window_args, window_at, window_count, segment, current, span_segments, variant = suspended[12], suspended[13], suspended[14], suspended[15], suspended[16], suspended[17], suspended[18]
      chunk, skip, base, have, spent, instant, behind = suspended[19], suspended[20], suspended[21], suspended[22], suspended[23], suspended[24], suspended[25]
    elseif algorithm == 4 then -- resume of log.lua
      count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
      last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
      window_args, window_at, window_count, longest = suspended[12], suspended[13], suspended[14], suspended[15]
      chunk, skip, base, have, spent, instant, behind = suspended[16], suspended[17], suspended[18], suspended[19], suspended[20], suspended[21], suspended[22]
    elseif algorithm == 5 then -- resume of warmup.lua
      rate, period, burst, over, ramp, most = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
      whole, part, passed, warm, clock, behind = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11], suspended[12]
    elseif algorithm == 6 then -- resume of concurrency.lua
      limit, in_use, lease_time, holders, shortened = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5]
    elseif algorithm == 7 then -- resume of stateless.lua
      denies = suspended[1]
    end
    if kind ~= RESERVE then
      units, taken, slot, held_ends = s.units - cost, s.taken, s.slot, s.ends
      if allowed == 1 and units < 0 then
        if algorithm == 1 then -- spare of bucket.lua
          room = depth - whole
          if part > depth_part then room = room - 1 end
          if debt == 2 then
            room = most + burst - whole
            if part > 0 then room = room - 1 end
          end
          if room < 0 then room = 0 end
        elseif algorithm == 2 then -- spare of fixed.lua
          do -- room
            room = limit - used
            if room < 0 then room = 0 end
          end
        elseif algorithm == 3 then -- spare of window.lua
          do -- room
            room = NEVER
            for w = 0, window_count - 1 do
              local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
              local left
              do -- window_room
                local reach, weighted
                do -- reach
                  -- reach is the number of segments before the current one that a window counts.
                  -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
                  -- strict, 2 lenient, which does not count the oldest.
                  reach = span / segment
                  weighted = variant == 0 and reach <= kept
                  if variant == 2 then reach = reach - 1 end
                  if reach > kept then reach = kept end
                end
                local i = find(current - reach, 1)
                left = limit - spent + before(i)
                if weighted and i < n and item(i) == current - reach then
                  local expired = muldiv(before(i + 1) - before(i), instant - current * segment, segment)
                  left = left + expired
                end
                if left < 0 then left = 0 end
              end
              if left < room then room = left end
            end
          end
        elseif algorithm == 4 then -- spare of log.lua
          do -- room
            room = NEVER
            for w = 0, window_count - 1 do
              local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
              local left
              do -- window_room
                left = limit - spent + before(find(instant - (span < grain and span or grain) + 1, 1))
                if left < 0 then left = 0 end
              end
              if left < room then room = left end
            end
          end
        elseif algorithm == 5 then -- spare of warmup.lua
          do -- room
            do -- left
              remaining = burst
              if whole > 0 or part > 0 then
                remaining = burst - 1 - below(whole, part, warm, burst, ramp, period)
                if remaining < 0 then remaining = 0 end
              end
            end
            room = remaining
            if most > 0 then
              local q, r = price(warm - burst, warm, ramp, period)
              room = (whole < q or whole == q and part <= r) and most or 0
            end
          end
        elseif algorithm == 6 then -- spare of concurrency.lua
          do -- room
            room = 0
          end
        elseif algorithm == 7 then -- spare of stateless.lua
          do -- room
            room = denies == 1 and 0 or NEVER
          end
        end
        units = -units
        if room < units then units = room end
        if units > 0 then
          write = true
          if algorithm == 1 then -- charge of bucket.lua
            if rate ~= own_rate or period ~= own_period then
              do -- convert
                -- Converts the amount to units of 1/own_period token. The part is rounded up, so that
                -- the caller gets no more.
                local q, r = muldiv(part, own_period, period)
                if r > 0 then q = q + 1 end
                if q >= own_period then whole, q = whole + 1, q - own_period end
                part, rate, period = q, own_rate, own_period
              end
            end
            whole, after = whole + units, behind
          elseif algorithm == 2 then -- charge of fixed.lua
            if used == 0 then ends = new_end end
            used = used + units
            -- If the clock was set back, the units count in the window after now's own.
            if ends > new_end then after = (align == 2 and new_end or ends - period) - now end
            if after < 0 then after = 0 end
          elseif algorithm == 3 then -- charge of window.lua
            drop(current - kept)
            if span_segments > kept then kept = span_segments end
            add(current, units)
            after = behind
          elseif algorithm == 4 then -- charge of log.lua
            do -- append
              -- Appends an entry `ahead` after now, but not before the newest entry. A log holds
              -- 100 000 units at most: the oldest are dropped.
              drop(instant - grain + 1)
              if longest > grain then grain = longest end
              local place, newest = instant + ahead * 1000, newest_item()
              if not newest or newest <= instant then kept = 0 end
              if ahead > kept then kept = ahead end
              if newest and newest > place then place = newest end
              add(place, units)
              after = place - now
              if spent - 100000 > gone then gone = spent - 100000 end
            end
          elseif algorithm == 5 then -- charge of warmup.lua
            local q, r = price(warm, warm + units, ramp, period)
            whole, part, passed, clock, after = whole + q, part + r, warm + units, now + behind, behind
            if part >= period then whole, part = whole + 1, part - period end
            if passed > 4503599627370496 then passed = 4503599627370496 end
            warm = passed
          elseif algorithm == 6 then -- charge of concurrency.lua
          elseif algorithm == 7 then -- charge of stateless.lua
          end
        end
      elseif allowed == 1 and units > 0 and not absent then
        write = true
        if algorithm == 1 then -- give_held of bucket.lua
          -- The least of the units, of what is still missing of the charge (back), and of what
          -- does not wait in slots behind the reservation (free).
          local left, same_rate = held_ends - clock, rate == own_rate and period == own_period
          if left > 0 and (pacer == 0 or clock < slot) then
            local back, back_part = muldiv(held_ends - taken, own_rate, own_period)
            if not same_rate then back_part = muldiv(back_part, period, own_period) end
            local refilled, refilled_part = muldiv(math.max(0, clock - taken), rate, period)
            back, back_part = back - refilled, back_part - refilled_part
            if back_part < 0 then back, back_part = back - 1, back_part + period end
            if back < 0 then back, back_part = 0, 0 end
            if back >= units then back, back_part = units, 0 end
            local waiting, waiting_part = whole - burst, part
            local later = same_rate and span(rate, period, whole, part) - left
            if later and later <= 0 then
              waiting, waiting_part = 0, 0
            elseif later then
              local q, r = muldiv(later, rate, period)
              r = r + rate - 1
              local rest = r % period
              q = q + (r - rest) / period
              if q < waiting or q == waiting and rest < waiting_part then waiting, waiting_part = q, rest end
            end
            local free, free_part = units - waiting, -waiting_part
            if free_part < 0 then free, free_part = free - 1, free_part + period end
            if free < 0 then free, free_part = 0, 0 end
            if free < back or free == back and free_part < back_part then back, back_part = free, free_part end
            whole, part = whole - back, part - back_part
            if part < 0 then whole, part = whole - 1, part + period end
            if whole < 0 then whole, part = 0, 0 end
          end
        elseif algorithm == 2 then -- give_held of fixed.lua
          do -- give
            -- Units that were charged in another window have expired with it.
            local gone = false
            if taken ~= 0 and align == 0 then
              gone = taken < ends - period or taken >= ends
            elseif taken ~= 0 and align == 1 then
              gone = taken - taken % period + period ~= ends
            elseif taken ~= 0 and ends == new_end then
              gone = taken < start or taken >= new_end
            elseif taken ~= 0 then
              gone = taken < new_end or taken >= ends
            end
            if not gone then used = used - units end
            if used < 0 then used = 0 end
          end
        elseif algorithm == 3 then -- give_held of window.lua
          do -- give
            -- With a handle the units of one segment, without the oldest units that the limit's
            -- own windows count.
            local oldest, span = current - kept, span_segments * segment
            if taken == 0 then
              local reach, weighted
              do -- reach
                -- reach is the number of segments before the current one that a window counts.
                -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
                -- strict, 2 lenient, which does not count the oldest.
                reach = span / segment
                weighted = variant == 0 and reach <= kept
                if variant == 2 then reach = reach - 1 end
                if reach > kept then reach = kept end
              end
              oldest = current - reach
            end
            give_from(oldest, units, (taken - taken % segment) / segment)
          end
        elseif algorithm == 4 then -- give_held of log.lua
          do -- give
            -- With a handle the units of one instant, without the oldest units that the limit's
            -- own windows count.
            local span = grain
            if taken == 0 and longest < grain then span = longest end
            give_from(instant - span + 1, units, taken)
          end
        elseif algorithm == 5 then -- give_held of warmup.lua
          -- The units that no later charge follows in the bucket, and whose price is not paid yet.
          local left, left_part = muldiv(math.max(0, held_ends - now - behind), rate, period)
          if left > 0 or left_part > 0 then
            if whole < left or whole == left and part < left_part then left, left_part = whole, part end
            local later, later_part = whole - left, part - left_part + 1
            if later_part < 0 then later, later_part = later - 1, later_part + period end
            local v = passed - below(later, later_part, passed, passed, ramp, period)
            units = below(left, left_part + 1, v, math.min(units, v), ramp, period)
            do -- give
              if whole > 0 or part > 0 then
                local n = math.min(units, passed)
                local q, r = price(passed - n, passed, ramp, period)
                whole, part, passed = whole - q, part - r, passed - n
                if part < 0 then whole, part = whole - 1, part + period end
                if whole < 0 then whole, part = 0, 0 end
              end
            end
          end
        elseif algorithm == 6 then -- give_held of concurrency.lua
          do -- give
          end
        elseif algorithm == 7 then -- give_held of stateless.lua
          do -- give
          end
        end
        if algorithm == 1 then -- resettle of bucket.lua
          if whole == 0 and part == 0 then clock, behind = now, 0 end
          -- Less is missing now, so the clock may now be farther behind than a refill takes.
          if behind > 0 and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
            clock, behind = now, 0
          end
        elseif algorithm == 2 then -- resettle of fixed.lua
        elseif algorithm == 3 then -- resettle of window.lua
          -- The current segment is that of now, or the newest one if now is before it.
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
        elseif algorithm == 4 then -- resettle of log.lua
          -- The operation is decided at now, or at the last charge if now is before it.
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
        elseif algorithm == 5 then -- resettle of warmup.lua
          if behind > 0 then
            -- Less is missing now, so the clock may now be farther behind than a refill takes.
            local q, r = price_to(burst, ramp, period)
            if behind > span(rate, period, q, r) and behind > span(rate, period, whole, part) then
              clock, behind = now, 0
            end
          end
          do -- full
            if whole == 0 and part == 0 then
              if passed > 2 * ramp then passed = 2 * ramp end
              warm = passed
              local idle = now + behind - clock
              if idle > 0 and idle > (over - over % 4) / 4 then
                local q, r = muldiv(idle, rate, period)
                if r > 0 then q = q + 1 end
                warm = passed - q
              end
              if warm <= 0 then passed, warm, clock, behind = 0, 0, now, 0 end
            else
              warm = passed
            end
          end
        elseif algorithm == 6 then -- resettle of concurrency.lua
        elseif algorithm == 7 then -- resettle of stateless.lua
        end
      end
      if not write then shifted = nil end
    elseif allowed == 1 then
      units = cost
      if cost > 0 then
        write = true
        if algorithm == 1 then -- charge of bucket.lua
          if rate ~= own_rate or period ~= own_period then
            do -- convert
              -- Converts the amount to units of 1/own_period token. The part is rounded up, so that
              -- the caller gets no more.
              local q, r = muldiv(part, own_period, period)
              if r > 0 then q = q + 1 end
              if q >= own_period then whole, q = whole + 1, q - own_period end
              part, rate, period = q, own_rate, own_period
            end
          end
          whole, after = whole + units, behind
        elseif algorithm == 2 then -- charge of fixed.lua
          if used == 0 then ends = new_end end
          used = used + units
          -- If the clock was set back, the units count in the window after now's own.
          if ends > new_end then after = (align == 2 and new_end or ends - period) - now end
          if after < 0 then after = 0 end
        elseif algorithm == 3 then -- charge of window.lua
          drop(current - kept)
          if span_segments > kept then kept = span_segments end
          add(current, units)
          after = behind
        elseif algorithm == 4 then -- charge of log.lua
          do -- append
            -- Appends an entry `ahead` after now, but not before the newest entry. A log holds
            -- 100 000 units at most: the oldest are dropped.
            drop(instant - grain + 1)
            if longest > grain then grain = longest end
            local place, newest = instant + ahead * 1000, newest_item()
            if not newest or newest <= instant then kept = 0 end
            if ahead > kept then kept = ahead end
            if newest and newest > place then place = newest end
            add(place, units)
            after = place - now
            if spent - 100000 > gone then gone = spent - 100000 end
          end
        elseif algorithm == 5 then -- charge of warmup.lua
          local q, r = price(warm, warm + units, ramp, period)
          whole, part, passed, clock, after = whole + q, part + r, warm + units, now + behind, behind
          if part >= period then whole, part = whole + 1, part - period end
          if passed > 4503599627370496 then passed = 4503599627370496 end
          warm = passed
        elseif algorithm == 6 then -- charge of concurrency.lua
        elseif algorithm == 7 then -- charge of stateless.lua
        end
      end
    else
      if wait == 0 then delay = 0 end
      if count_denied == 1 and cost > 0 and not never then
        write = true
        if algorithm == 1 then -- penalize of bucket.lua
        elseif algorithm == 2 then -- penalize of fixed.lua
          local extra = limit - used
          if extra > cost then extra = cost end
          if extra > 0 then
            if used == 0 then ends = new_end end
            used = used + extra
          end
        elseif algorithm == 3 then -- penalize of window.lua
          local most = 0
          for w = 0, window_count - 1 do
            local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
            local left
            do -- window_room
              local reach, weighted
              do -- reach
                -- reach is the number of segments before the current one that a window counts.
                -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
                -- strict, 2 lenient, which does not count the oldest.
                reach = span / segment
                weighted = variant == 0 and reach <= kept
                if variant == 2 then reach = reach - 1 end
                if reach > kept then reach = kept end
              end
              local i = find(current - reach, 1)
              left = limit - spent + before(i)
              if weighted and i < n and item(i) == current - reach then
                local expired = muldiv(before(i + 1) - before(i), instant - current * segment, segment)
                left = left + expired
              end
              if left < 0 then left = 0 end
            end
            if left > most then most = left end
          end
          if most > cost then most = cost end
          if most > 0 then
            units = most
            do -- charge
              drop(current - kept)
              if span_segments > kept then kept = span_segments end
              add(current, units)
              after = behind
            end
          end
        elseif algorithm == 4 then -- penalize of log.lua
          units, ahead = cost, 0
          local most = spent - before(find(instant - grain + 1, 1))
          do -- append
            -- Appends an entry `ahead` after now, but not before the newest entry. A log holds
            -- 100 000 units at most: the oldest are dropped.
            drop(instant - grain + 1)
            if longest > grain then grain = longest end
            local place, newest = instant + ahead * 1000, newest_item()
            if not newest or newest <= instant then kept = 0 end
            if ahead > kept then kept = ahead end
            if newest and newest > place then place = newest end
            add(place, units)
            after = place - now
            if spent - 100000 > gone then gone = spent - 100000 end
          end
          -- A wait depends on no more than the newest units, as many as the largest window
          -- holds, or as there were before. Older units are dropped.
          for w = 0, window_count - 1 do
            local limit = unpack('>I4', window_args, window_at + 11 * w)
            if limit > most then most = limit end
          end
          if spent - most > gone then gone = spent - most end
        elseif algorithm == 5 then -- penalize of warmup.lua
        elseif algorithm == 6 then -- penalize of concurrency.lua
        elseif algorithm == 7 then -- penalize of stateless.lua
        end
        after = 0
        if algorithm == 1 then -- wait of bucket.lua
          wait, delay = 0, 0
          local price = debt == 2 and 0 or cost
          if cost > (debt == 2 and most or depth) then
            wait = NEVER
          elseif cost > 0 then
            local over, over_part = whole + price - depth, part - depth_part
            if debt == 1 and whole >= burst and cost <= depth - burst then
              -- A bucket in debt denies until a token is there.
              over, over_part = whole - burst, part + 1
            end
            if over_part < 0 then over, over_part = over - 1, over_part + period end
            if over > 0 or over == 0 and over_part > 0 then
              wait = span(rate, period, over, over_part) + behind
            elseif pacer == 1 and whole + price >= burst then
              delay = span(rate, period, whole + price - burst, part)
            end
          end
        elseif algorithm == 2 then -- wait of fixed.lua
          wait = 0
          if cost > limit then
            wait = NEVER
          elseif cost > 0 and used + cost > limit then
            wait = ends - now
          end
        elseif algorithm == 3 then -- wait of window.lua
          wait, window = 0, 0
          if cost > 0 then
            for w = 0, window_count - 1 do
              local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
              local free, time, place = limit - cost, NEVER, current
              if free >= 0 then
                local reach, weighted
                do -- reach
                  -- reach is the number of segments before the current one that a window counts.
                  -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
                  -- strict, 2 lenient, which does not count the oldest.
                  reach = span / segment
                  weighted = variant == 0 and reach <= kept
                  if variant == 2 then reach = reach - 1 end
                  if reach > kept then reach = kept end
                end
                local over = spent - free
                if over > gone then
                  local oldest = item(find(over, 2))
                  -- A weighted segment need not have expired: it can be the oldest one of
                  -- the window, which is partly expired.
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
        elseif algorithm == 4 then -- wait of log.lua
          wait, window = 0, 0
          if cost > 0 then
            for w = 0, window_count - 1 do
              local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
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
        elseif algorithm == 5 then -- wait of warmup.lua
          wait, delay = 0, 0
          if cost > (most > 0 and most or burst) then
            wait = NEVER
          elseif cost > 0 then
            local q, r = price(warm + (most > 0 and 0 or cost) - burst, warm, ramp, period)
            q, r = whole - q, part - r
            if r < 0 then q, r = q - 1, r + period end
            if q > 0 or q == 0 and r > 0 then wait = span(rate, period, q, r) + behind end
          end
        elseif algorithm == 6 then -- wait of concurrency.lua
          wait = 0
          if cost > limit then
            wait = NEVER
          elseif cost > 0 then
            wait = wait_for(key, holders, in_use + cost - limit, lease_time, shortened)
          end
        elseif algorithm == 7 then -- wait of stateless.lua
          wait = denies == 1 and cost > 0 and NEVER or 0
        end
        delay = 0
      end
    end
    if write then
      shifted = nil
    elseif shifted and cost > 0 then
      write = true
    end
    if algorithm == 1 then -- report of bucket.lua
      remaining, reset = burst - whole, 0
      if part > 0 then remaining = remaining - 1 end
      if remaining < 0 then remaining = 0 end
      if whole > 0 or part > 0 then
        reset = span(rate, period, whole, part) + behind
      end
    elseif algorithm == 2 then -- report of fixed.lua
      remaining, reset = limit - used, 0
      if remaining < 0 then remaining = 0 end
      if used > 0 then reset = ends - now end
    elseif algorithm == 3 then -- report of window.lua
      local newest, total = newest_item()
      local denied_window = wait > 0 and window
      remaining, reset = nil, 0
      for w = 0, window_count - 1 do
        if not denied_window or denied_window == w then
          local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
          local left, reach, weighted
          do -- window_room
            local reach, weighted
            do -- reach
              -- reach is the number of segments before the current one that a window counts.
              -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
              -- strict, 2 lenient, which does not count the oldest.
              reach = span / segment
              weighted = variant == 0 and reach <= kept
              if variant == 2 then reach = reach - 1 end
              if reach > kept then reach = kept end
            end
            local i = find(current - reach, 1)
            left = limit - spent + before(i)
            if weighted and i < n and item(i) == current - reach then
              local expired = muldiv(before(i + 1) - before(i), instant - current * segment, segment)
              left = left + expired
            end
            if left < 0 then left = 0 end
          end
          do -- reach
            -- reach is the number of segments before the current one that a window counts.
            -- weighted says that the oldest of them counts by its weight. variant 0 is weighted, 1
            -- strict, 2 lenient, which does not count the oldest.
            reach = span / segment
            weighted = variant == 0 and reach <= kept
            if variant == 2 then reach = reach - 1 end
            if reach > kept then reach = kept end
          end
          local ends = 0
          if total > gone then ends = (newest + reach + 1) * segment - instant + behind end
          if ends < 0 then ends = 0 end
          if not remaining or left < remaining or left == remaining and ends > reset then
            remaining, reset, window = left, ends, w
          end
        end
      end
    elseif algorithm == 4 then -- report of log.lua
      local newest, total = newest_item()
      local ends = 0
      if total > gone then ends = newest + (longest < grain and longest or grain) - instant + behind end
      if ends < 0 then ends = 0 end
      local denied_window = wait > 0 and window
      remaining, reset = nil, ends
      for w = 0, window_count - 1 do
        if not denied_window or denied_window == w then
          local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
          local left
          do -- window_room
            left = limit - spent + before(find(instant - (span < grain and span or grain) + 1, 1))
            if left < 0 then left = 0 end
          end
          if not remaining or left < remaining then remaining, window = left, w end
        end
      end
    elseif algorithm == 5 then -- report of warmup.lua
      do -- left
        remaining = burst
        if whole > 0 or part > 0 then
          remaining = burst - 1 - below(whole, part, warm, burst, ramp, period)
          if remaining < 0 then remaining = 0 end
        end
      end
      reset = 0
      if whole > 0 or part > 0 then reset = span(rate, period, whole, part) + behind end
    elseif algorithm == 6 then -- report of concurrency.lua
      remaining, reset = limit - in_use, 0
      if remaining < 0 then remaining = 0 end
      if shortened then
        if #shortened > 0 then reset = shortened[#shortened].expires - now end
      else
        local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
        if #last == 2 then reset = tonumber(last[2]) - now end
      end
      if reset < 0 then reset = 0 end
    elseif algorithm == 7 then -- report of stateless.lua
      remaining, reset = 0, 0
    end
    if write then
      if algorithm == 1 then -- store of bucket.lua
        if shifted then
          value, ttl = shifted, shifted_ttl
        else
          value, ttl = pack('>Bi8I7I7I4I7', FORMAT, clock, whole, part, rate, period), reset
        end
        do -- write_state
          do -- write_key
            local answer
            if ttl > 0 then
              local rest = ttl % 1000
              if rest > 0 then ttl = ttl + 1000 - rest end
              -- A number would be written with 17 digits, which takes longer.
              answer = call('SET', key, value, 'PX', format('%d', ttl / 1000 + pad))
            else
              answer = call('DEL', key)
            end
            if type(answer) == 'table' then err = answer.err end
          end
        end
      elseif algorithm == 2 then -- store of fixed.lua
        if shifted then
          value, ttl = shifted, shifted_ttl
        else
          value, ttl = pack('>BI4i8', FORMAT, used, ends), reset
        end
        do -- write_state
          do -- write_key
            local answer
            if ttl > 0 then
              local rest = ttl % 1000
              if rest > 0 then ttl = ttl + 1000 - rest end
              -- A number would be written with 17 digits, which takes longer.
              answer = call('SET', key, value, 'PX', format('%d', ttl / 1000 + pad))
            else
              answer = call('DEL', key)
            end
            if type(answer) == 'table' then err = answer.err end
          end
        end
      elseif algorithm == 3 then -- store of window.lua
        local newest, total = newest_item()
        grain, ttl = segment, 0
        if total > gone then ttl = (newest + kept + 1) * segment - now end
        do -- save
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
              last, to = string.sub(last, 1 + 15 * (from - to)), from -- the others were dropped
            end
            if n - head <= 64 or head * 2 > n then
              local middle = ''
              if gone >= 4503599627370496 and prefix == '' then
                -- Totals start again from 0 long before they are too large to be exact.
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
              -- The expiry comes first, so that it is not too short if a later write fails.
              answer = call('PEXPIRE', key, ttl)
              if type(answer) ~= 'table' then
                answer = call('SETRANGE', key, 0, pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, head, n))
              end
              if prefix ~= '' then call('SETRANGE', key, 24 + 15 * head, prefix) end
              if last ~= '' then call('SETRANGE', key, 24 + 15 * to, last) end
            end
          end
          if type(answer) == 'table' then err = answer.err end
        end
      elseif algorithm == 4 then -- store of log.lua
        local newest, total = newest_item()
        ttl = 0
        if total > gone then ttl = newest + grain - now end
        do -- save
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
              last, to = string.sub(last, 1 + 15 * (from - to)), from -- the others were dropped
            end
            if n - head <= 64 or head * 2 > n then
              local middle = ''
              if gone >= 4503599627370496 and prefix == '' then
                -- Totals start again from 0 long before they are too large to be exact.
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
              -- The expiry comes first, so that it is not too short if a later write fails.
              answer = call('PEXPIRE', key, ttl)
              if type(answer) ~= 'table' then
                answer = call('SETRANGE', key, 0, pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, head, n))
              end
              if prefix ~= '' then call('SETRANGE', key, 24 + 15 * head, prefix) end
              if last ~= '' then call('SETRANGE', key, 24 + 15 * to, last) end
            end
          end
          if type(answer) == 'table' then err = answer.err end
        end
      elseif algorithm == 5 then -- store of warmup.lua
        if shifted then
          value, ttl = shifted, shifted_ttl
        elseif passed == 0 and whole == 0 and part == 0 then
          value, ttl = nil, 0
        else
          -- From then on it takes so long to be cold.
          tail = math.max(muldiv(math.min(passed, 2 * ramp) - 1, period, rate), (over - over % 4) / 4) + 1
          value = pack('>Bi8I7I7I4I7I7I7', FORMAT, clock, whole, part, rate, period, passed, tail)
          ttl = clock + span(rate, period, whole, part) + tail - now
        end
        do -- write_key
          local answer
          if ttl > 0 then
            local rest = ttl % 1000
            if rest > 0 then ttl = ttl + 1000 - rest end
            -- A number would be written with 17 digits, which takes longer.
            answer = call('SET', key, value, 'PX', format('%d', ttl / 1000 + pad))
          else
            answer = call('DEL', key)
          end
          if type(answer) == 'table' then err = answer.err end
        end
      elseif algorithm == 6 then -- store of concurrency.lua
      elseif algorithm == 7 then -- store of stateless.lua
      end
    end
    failed = failed or err
    wrote = wrote or write and not err
    s.answer = pack('>I8I8I8I8I7B', remaining, wait, reset, delay, after, window)
  end

  if failed == 'RECOMPUTE' then
    -- It is sent again, and so are the operations that follow on its keys, to keep
    -- their order.
    recompute_keys = recompute_keys or {}
    for i = 1, limits do recompute_keys[steps[i].key] = true end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[#out + 1] = pack('>BI7', allowed, 0)
    for i = 1, limits do out[#out + 1] = steps[i].answer end
  end
end
return table.concat(out)
