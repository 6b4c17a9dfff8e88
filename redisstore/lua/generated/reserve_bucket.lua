-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, keys.lua, reserve.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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
    do -- args
      pacer, debt, cost, own_rate, own_period, burst, depth, depth_part, at = unpack('>BBI7I4I7I4I7I7', arg, at)
      if debt == 2 then most, at = unpack('>I7', arg, at) end
    end
    do -- settle
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
    end
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    local s = {}
    if kind == RESERVE then
      s.accepts, at = unpack('>i8', arg, at)
    else
      s.units, s.taken, s.slot, s.ends, at = unpack('>I7i8i8i8', arg, at)
    end
    do -- suspend
      suspended = { pacer, debt, own_rate, own_period, burst, depth, depth_part, rate, period, whole, part, clock, behind, most }
    end
    s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent = algorithm, key, field, cost, count_denied, absent
    s.shifted, s.shifted_ttl, s.suspended, s.wait, s.delay, s.window = shifted or false, shifted_ttl, suspended, 0, 0, 0
    steps[i] = s
  end

  for i = 1, (failed or kind ~= RESERVE) and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, suspended, wait, delay, window, accepts = s.algorithm, s.key, s.cost, s.suspended, 0, 0, 0, s.accepts
    do -- resume
      pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
      rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
    end
    do -- wait
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
    end
    do -- reserve
      if wait > 0 and wait ~= NEVER and delays and pacer == 0 and rate == own_rate and period == own_period then
        wait, delay = 0, wait - behind
      end
      if wait == 0 and delay > accepts then wait = delay - accepts + behind end
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
    do -- resume
      pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
      rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
    end
    if kind ~= RESERVE then
      units, taken, slot, held_ends = s.units - cost, s.taken, s.slot, s.ends
      if allowed == 1 and units < 0 then
        do -- spare
          room = depth - whole
          if part > depth_part then room = room - 1 end
          if debt == 2 then
            room = most + burst - whole
            if part > 0 then room = room - 1 end
          end
          if room < 0 then room = 0 end
        end
        units = -units
        if room < units then units = room end
        if units > 0 then
          write = true
          do -- charge
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
          end
        end
      elseif allowed == 1 and units > 0 and not absent then
        write = true
        do -- give_held
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
        end
        do -- resettle
          if whole == 0 and part == 0 then clock, behind = now, 0 end
          -- Less is missing now, so the clock may now be farther behind than a refill takes.
          if behind > 0 and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
            clock, behind = now, 0
          end
        end
      end
      if not write then shifted = nil end
    elseif allowed == 1 then
      units = cost
      if cost > 0 then
        write = true
        do -- charge
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
        end
      end
    else
      if wait == 0 then delay = 0 end
      if count_denied == 1 and cost > 0 and not never then
        write = true
        do -- penalize
        end
        after = 0
        do -- wait
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
        end
        delay = 0
      end
    end
    if write then
      shifted = nil
    elseif shifted and cost > 0 then
      write = true
    end
    do -- report
      remaining, reset = burst - whole, 0
      if part > 0 then remaining = remaining - 1 end
      if remaining < 0 then remaining = 0 end
      if whole > 0 or part > 0 then
        reset = span(rate, period, whole, part) + behind
      end
    end
    if write then
      do -- store
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
