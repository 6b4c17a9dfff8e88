-- Generated from prelude.lua, common.lua, fixed.lua, keys.lua, single.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

local limit, new_end, align, period, start, next_end, used, ends, _

-- Operations on one limit each. An answer is a status byte, the units that "at most"
-- granted, and the outcome of the limit: decode.go. Operations on one history follow
-- each other: the history is read once and written once for all of them.
local AT_MOST, PEEK, GIVE = 1, 2, 3
local out, recompute_keys = { pack('>i8', now) }, nil
local continued = false -- this operation continues on the history of the last one
local unsaved -- the first operation whose change is not written yet
local unchanged -- the argument of the last operation, if it changed nothing

for j = 1, count do
  k, arg, at = k + 1, ARGV[j], 3
  key, kind, algorithm = KEYS[k], byte(arg, 1, 2)
  local allowed, granted = 1, 0
  count_denied, wait, delay, window, write, err, prior, ahead, after = 0, 0, 0, 0, false, nil, nil, 0, 0
  do -- field
  end
  do -- args
    count_denied, align, cost, limit, period, at = unpack('>BBI7I4I7', arg, at)
    -- align 2 is the calendar: the window that the client computed, and the end of the
    -- window after it.
    if align == 2 then start, new_end, next_end, at = unpack('>i8i8i8', arg, at) end
  end
  if not continued then
    shifted = nil
    do -- settle
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
    end
    unchanged = nil
  else
    do -- resettle
    end
  end
  if err == 'RECOMPUTE' or recompute_keys and recompute_keys[key] then
    -- It is sent again, and so are the operations that follow on its key, to keep
    -- their order.
    recompute_keys, err = recompute_keys or {}, 'RECOMPUTE'
    recompute_keys[key] = true
  end
  if arg == unchanged then
    out[j + 1], write = out[j], false
  elseif not err then
    if kind == GIVE then
      taken, at = unpack('>i8', arg, at)
      units, write = cost, cost > 0 and not absent
      if write then
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
        do -- resettle
        end
      end
    else
      if kind == AT_MOST and cost > 0 then
        do -- room
          room = limit - used
          if room < 0 then room = 0 end
        end
        local share
        share, ahead = unpack('>I2I2', arg, at)
        if share > 1 and room > 1 then
          room = (room - room % share) / share
          if room < 1 then room = 1 end
        end
        granted = room < cost and room or cost
        cost = granted > 0 and granted or 1
      end
      do -- wait
        wait = 0
        if cost > limit then
          wait = NEVER
        elseif cost > 0 and used + cost > limit then
          wait = ends - now
        end
      end
      if wait == 0 then
        units = cost
        if cost > 0 and kind ~= PEEK then
          write = true
          do -- charge
            if used == 0 then ends = new_end end
            used = used + units
            -- If the clock was set back, the units count in the window after now's own.
            if ends > new_end then after = (align == 2 and new_end or ends - period) - now end
            if after < 0 then after = 0 end
          end
        end
      else
        allowed, delay = 0, 0
        if count_denied == 1 and cost > 0 and wait ~= NEVER then
          -- A peek answers the wait that counting would lead to, and counts nothing.
          if kind == PEEK then
            do -- suspend
              suspended = { limit, new_end, align, period, start or 0, next_end or 0, used, ends }
            end
          end
          write = true
          do -- penalize
            local extra = limit - used
            if extra > cost then extra = cost end
            if extra > 0 then
              if used == 0 then ends = new_end end
              used = used + extra
            end
          end
          after = 0
          do -- wait
            wait = 0
            if cost > limit then
              wait = NEVER
            elseif cost > 0 and used + cost > limit then
              wait = ends - now
            end
          end
          if kind == PEEK then
            do -- resume
              limit, new_end, align, period, start, next_end, used, ends = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]
            end
          end
        end
      end
      if kind == PEEK then write = false end
    end
    if write then
      absent, shifted = false, nil
    elseif shifted and cost > 0 and kind < PEEK then
      write = true
    end
    do -- report
      remaining, reset = limit - used, 0
      if remaining < 0 then remaining = 0 end
      if used > 0 then reset = ends - now end
    end
    out[j + 1] = pack('>BI7I8I8I8I8I7B', allowed, granted, remaining, wait, reset, delay, after, window)
  end
  unchanged = not write and arg
  if write then unsaved = unsaved or j end
  continued = false
  if not err then
    do -- continues
    end
  end
  if unsaved and not continued and not err then
    do -- store
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
    end
  end
  if err then
    err = string.sub(err, 1, 255)
    err = pack('>BB', 2, #err) .. err
    for i = unsaved or j, j do out[i + 1] = err end
  end
  if not continued then unsaved = nil end
end
return table.concat(out)
