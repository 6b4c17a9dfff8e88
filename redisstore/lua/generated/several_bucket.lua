-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, keys.lua, several.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

-- Operations on several limits, all or nothing. All limits are settled, then the wait
-- of each is found, then all are charged, or none. The locals of a limit are suspended
-- while another limit is worked on.
local AT_MOST, PEEK, GIVE = 1, 2, 3
local out, recompute_keys = { pack('>i8', now) }, nil

for j = 1, count do
  arg, at = ARGV[j], 3
  local limits, steps, allowed, granted, never, failed = byte(arg, 2), {}, 1, 0, false, nil
  kind, wrote = byte(arg), false
  local least = NEVER
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, count_denied, delay, write, err, prior, shifted = KEYS[k], 0, 0, false, nil, nil, nil
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
    if kind == AT_MOST and cost > 0 and not failed then
      do -- room
        room = depth - whole
        if part > depth_part then room = room - 1 end
        if room < 0 or debt == 1 and whole >= burst then room = 0 elseif debt == 2 then room = most end
      end
      if room > cost then room = cost end
      if room < least then least = room end
    end
    if kind == GIVE then taken, at = unpack('>i8', arg, at) end
    do -- suspend
      suspended = { pacer, debt, own_rate, own_period, burst, depth, depth_part, rate, period, whole, part, clock, behind, most }
    end
    steps[i] = { algorithm, key, cost, count_denied, absent, shifted or false, suspended, 0, 0, 0, taken, shifted_ttl, field }
  end
  if kind == AT_MOST and least < NEVER then granted = least end

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, suspended, wait, delay, window = s[1], s[2], s[3], s[7], 0, 0, 0
    do -- resume
      pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
      rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
    end
    if kind == AT_MOST and cost > 0 then
      cost = granted > 0 and granted or 1
      s[3] = cost
    end
    if kind ~= GIVE then
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
    end
    if wait > 0 then allowed = 0 end
    never = never or wait == NEVER
    s[8], s[9], s[10] = wait, delay, window
  end

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, count_denied, absent, shifted, suspended = s[1], s[2], s[3], s[4], s[5], s[6], s[7]
    wait, delay, window, taken, shifted_ttl, field, units, write, err, after = s[8], s[9], s[10], s[11], s[12], s[13], cost, false, nil, 0
    do -- resume
      pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
      rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
    end
    if kind == GIVE then
      write = cost > 0 and not absent
      if write then
        do -- give
          whole = whole - units
          if whole < 0 then whole, part = 0, 0 end
        end
        do -- resettle
          if whole == 0 and part == 0 then clock, behind = now, 0 end
          -- Less is missing now, so the clock may now be farther behind than a refill takes.
          if behind > 0 and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
            clock, behind = now, 0
          end
        end
      end
    elseif allowed == 1 then
      if cost > 0 and kind ~= PEEK then
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
      delay = 0
      if count_denied == 1 and cost > 0 and not never then
        local settled = suspended
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
        if kind == PEEK then
          suspended = settled
          do -- resume
            pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
            rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
          end
        end
      end
    end
    if kind == PEEK then write = false end
    if write then
      shifted = nil
    elseif shifted and cost > 0 and kind < PEEK then
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
    s[8] = pack('>I8I8I8I8I7B', remaining, wait, reset, delay, after, window)
  end

  if failed == 'RECOMPUTE' then
    -- It is sent again, and so are the operations that follow on its keys, to keep
    -- their order.
    recompute_keys = recompute_keys or {}
    for i = 1, limits do recompute_keys[steps[i][2]] = true end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[#out + 1] = pack('>BI7', allowed, granted)
    for i = 1, limits do out[#out + 1] = steps[i][8] end
  end
end
return table.concat(out)
