-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, keys.lua, keys_merge.lua, alone.lua, merge.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

-- One allow on one key, which is what a single caller sends. The arguments and the
-- answer are those of merge.lua, whose text follows. Nearly all such operations end
-- here. They make no function, because making the functions takes as long as all the
-- arithmetic. What is rare goes on to merge.lua: a state of another rate or format, a
-- clock that was set back, products beyond a word, errors.
do
  local key, arg, decided, prior, value, ttl = KEYS[1], ARGV[1], false, nil, nil, nil
  do -- alone_get
    prior = call('GET', key)
  end
  do -- alone
    -- A bucket without debt, or a pacer, whose state is of the limit's rate.
    local units, own_rate, own_period, most, most_part = unpack('>I7I4I7xxxxI7I7', arg, 6)
    local rate, period, whole, part, clock, version = own_rate, own_period, 0, 0, now, FORMAT
    local known = type(prior) == 'string' and #prior == 34
    if known then
      version, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', prior)
    end
    local gained = (now - clock) * rate
    if (known or not prior) and version == FORMAT and rate == own_rate and period == own_period and gained >= 0 and gained < WORD then
      local rest = gained % period
      whole, part = whole - (gained - rest) / period, part - rest
      if part < 0 then whole, part = whole - 1, part + period end
      if whole < 0 then whole, part = 0, 0 end
      local after = whole + units
      local missing = period * after + part
      decided = missing < WORD
      if after < most or after == most and part <= most_part then
        rest = missing % rate
        ttl = (missing - rest) / rate
        if rest > 0 then ttl = ttl + 1 end
        value = pack('>Bi8I7I7I4I7', FORMAT, now, after, part, rate, period)
      end
    end
  end
  if decided and value then
    local rest = ttl % 1000
    if rest > 0 then ttl = ttl + 1000 - rest end
    do -- alone_put
      local answer = call('SET', key, value, 'PX', format('%d', ttl / 1000 + pad))
      if answer.err then decided = false end
    end
  end
  if decided then
    return pack('>i8', now) .. (prior or '\0')
  end
end

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

-- Allows, peeks and gives of token buckets, pacers and fixed windows, and counts of
-- fixed windows, merged by key.
-- For each limit there is an argument with its numbers, how many groups of keys follow
-- and how many keys each group has: keys.lua and hash.lua say what a group is. If the
-- limit's cost is not 0, each key has one allow of that cost. Otherwise each key has an
-- argument of entries: whether any may charge, and then kind, cost and number of
-- equal operations in a row. The answer is the state that each key had before; the
-- client decides each operation on it with the steps of package algo (decode.go).
local GIVE, COUNT = 3, 9
local out, answered, a = { pack('>i8', now) }, 1, 0
local values, list, filled, longest -- of the states that are read or written together
do -- open
  if #KEYS > 1 then
    values = call('MGET', unpack_list(KEYS))
    if values.err then values = nil end
  end
end

while a < count do
  local same_cost, groups
  a = a + 1
  arg, count_denied, taken = ARGV[a], 0, 0
  algorithm, groups, at = unpack('>BI2', arg)
  do -- args
    pacer, debt, cost, own_rate, own_period, burst, depth, depth_part, at = unpack('>BBI7I4I7I4I7I7', arg, at)
    if debt == 2 then most, at = unpack('>I7', arg, at) end
  end
  same_cost = cost -- each key has one allow of it; 0: each key has entries
  for _ = 1, groups do
    local keys, first
    keys, at = unpack('>I2', arg, at)
    do -- open_group
    end
    for i = 1, keys do
      local entries, length, times, passed = nil, 2, 1, nil
      write, err = false, nil
      do -- next_state
        k = k + 1
        key, prior = KEYS[k], values and values[k]
      end
      if same_cost == 0 then
        a = a + 1
        entries = ARGV[a]
        cost, length = byte(entries), #entries
      else
        cost = same_cost
      end
      do -- get_state
        prior = prior or call('GET', key)
      end
      local decided, before, read_error = false, prior or '\0', nil
      if same_cost > 0 and count_denied == 0 then -- nearly all end here
        do -- quick
          -- As alone, where the limit's numbers are in the locals.
          local version, clock, whole, part, rate, period = FORMAT, now, 0, 0, own_rate, own_period
          local known = not prior
          if not known and debt == 0 and type(prior) == 'string' and #prior == 34 then
            version, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', prior)
            known = version == FORMAT and rate == own_rate and period == own_period
          end
          local gained = (now - clock) * rate
          if known and debt == 0 and gained >= 0 and gained < WORD then
            local rest = gained % period
            whole, part = whole - (gained - rest) / period, part - rest
            if part < 0 then whole, part = whole - 1, part + period end
            if whole < 0 then whole, part = 0, 0 end
            local after = whole + cost
            local missing = period * after + part
            decided = missing < WORD
            if decided and (after < depth or after == depth and part <= depth_part) then
              rest = missing % rate
              ttl = (missing - rest) / rate
              if rest > 0 then ttl = ttl + 1 end
              value = pack('>Bi8I7I7I4I7', FORMAT, now, after, part, rate, period)
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
        end
      end
      if not decided then
        local may_charge = cost > 0
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
        before, read_error = prior or '\0', err
        for place = 2, read_error and 0 or length, 12 do
          if entries then kind, cost, times = unpack('>BI7I4', entries, place) end
          if entries and kind == GIVE then
            units = cost
            if not absent then
              write = true
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
          elseif entries and kind == COUNT then
            units, write, absent = cost * times, true, false
            do -- count
            end
          else
            local alone
            repeat -- the first allow under another rate is decided alone
              alone = false
              do -- room
                room = depth - whole
                if part > depth_part then room = room - 1 end
                if room < 0 or debt == 1 and whole >= burst then room = 0 elseif debt == 2 then room = most end
              end
              passed = times
              if cost * times > room then passed = (room - room % cost) / cost end
              do -- limit_passed
                -- A bucket with debt allows as long as a part of a token is there. The first allow
                -- under another rate puts the bucket under its own rate, so it is decided alone.
                if debt == 1 and passed > 0 then
                  local left = (burst - whole) / cost
                  if passed > left then passed = math.ceil(left) end
                end
                if passed > 1 and (rate ~= own_rate or period ~= own_period) then
                  passed, alone = 1, true
                end
              end
              if passed > 0 then
                units, write, absent = cost * passed, true, false
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
              times = times - passed
            until not alone
            if times > 0 and count_denied == 1 then
              do -- penalize_merged
              end
            end
          end
        end
        if write then
          shifted = nil
        elseif shifted and may_charge then
          write = true
        end
        if write and not read_error then
          wait, delay, window = 0, 0, 0
          do -- report
            remaining, reset = burst - whole, 0
            if part > 0 then remaining = remaining - 1 end
            if remaining < 0 then remaining = 0 end
            if whole > 0 or part > 0 then
              reset = span(rate, period, whole, part) + behind
            end
          end
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
      end
      if err then
        err = string.sub(err, 1, 255)
        before = pack('>BB', read_error and 254 or 255, #err) .. err .. (read_error and '' or before)
      end
      answered = answered + 1
      out[answered] = before
    end
    do -- close_group
    end
  end
end
return table.concat(out)
