-- Generated from prelude.lua, common.lua, fixed.lua, hash.lua, reserve.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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
      field, at = unpack('>I2c0', arg, at)
    end
    do -- args
      count_denied, align, cost, limit, period, at = unpack('>BBI7I4I7', arg, at)
      -- align 2 is the calendar: the window that the client computed, and the end of the
      -- window after it.
      if align == 2 then start, new_end, next_end, at = unpack('>i8i8i8', arg, at) end
    end
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
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    local s = {}
    if kind == RESERVE then
      s.accepts, at = unpack('>i8', arg, at)
    else
      s.units, s.taken, s.slot, s.ends, at = unpack('>I7i8i8i8', arg, at)
    end
    do -- suspend
      suspended = { limit, new_end, align, period, start or 0, next_end or 0, used, ends }
    end
    s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent = algorithm, key, field, cost, count_denied, absent
    s.shifted, s.shifted_ttl, s.suspended, s.wait, s.delay, s.window = shifted or false, shifted_ttl, suspended, 0, 0, 0
    steps[i] = s
  end

  for i = 1, (failed or kind ~= RESERVE) and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, suspended, wait, delay, window, accepts = s.algorithm, s.key, s.cost, s.suspended, 0, 0, 0, s.accepts
    do -- resume
      limit, new_end, align, period, start, next_end, used, ends = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]
    end
    do -- wait
      wait = 0
      if cost > limit then
        wait = NEVER
      elseif cost > 0 and used + cost > limit then
        wait = ends - now
      end
    end
    do -- reserve
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
      limit, new_end, align, period, start, next_end, used, ends = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]
    end
    if kind ~= RESERVE then
      units, taken, slot, held_ends = s.units - cost, s.taken, s.slot, s.ends
      if allowed == 1 and units < 0 then
        do -- spare
          do -- room
            room = limit - used
            if room < 0 then room = 0 end
          end
        end
        units = -units
        if room < units then units = room end
        if units > 0 then
          write = true
          do -- charge
            if used == 0 then ends = new_end end
            used = used + units
            -- If the clock was set back, the units count in the window after now's own.
            if ends > new_end then after = (align == 2 and new_end or ends - period) - now end
            if after < 0 then after = 0 end
          end
        end
      elseif allowed == 1 and units > 0 and not absent then
        write = true
        do -- give_held
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
        end
        do -- resettle
        end
      end
      if not write then shifted = nil end
    elseif allowed == 1 then
      units = cost
      if cost > 0 then
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
      if wait == 0 then delay = 0 end
      if count_denied == 1 and cost > 0 and not never then
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
        delay = 0
      end
    end
    if write then
      shifted = nil
    elseif shifted and cost > 0 then
      write = true
    end
    do -- report
      remaining, reset = limit - used, 0
      if remaining < 0 then remaining = 0 end
      if used > 0 then reset = ends - now end
    end
    if write then
      do -- store
        if shifted then
          value, ttl = shifted, shifted_ttl
        else
          value, ttl = pack('>BI4i8', FORMAT, used, ends), reset
        end
        do -- write_state
          if ttl > 0 then
            local list, filled, longest = { field, value }, 2, ttl
            do -- write_fields
              -- Writes the fields and values in list. The hash lives at least until the last of its
              -- states has expired: its TTL is longer than that, so that it is seldom set again. The
              -- write comes first, because a server whose memory is full refuses only a script's first.
              local rest = longest % 1000
              if rest > 0 then longest = longest + 1000 - rest end
              local needed, left = longest / 1000 + pad, call('PTTL', key)
              local added = type(left) == 'table' and left or call('HSET', key, unpack_list(list, 1, filled))
              if type(added) == 'number' and left < needed then
                local answer = call('PEXPIRE', key, format('%d', needed + math.max(needed, 10000)))
                if type(answer) == 'table' then
                  if left == -2 then call('DEL', key) end -- it would never end
                  added = answer
                end
              end
              if type(added) == 'table' then
                err = added.err
              else
                do -- sweep
                  -- Looks at some 128 fields, from where the last sweep ended, and deletes those that
                  -- expired two seconds ago: a field of a key that soon comes again is better written over.
                  -- The last digits of the time choose which writes sweep, so that on average three fields
                  -- are looked at for every two new ones, and one for every ten writes if none is new.
                  if now % 1376 <= added * 16 then
                    local cursor = call('HGET', key, '') or '0'
                    local page = call('HSCAN', key, cursor, 'COUNT', '128')
                    local found, old, n, due = page[2] or {}, {}, 0, now - pad * 1000 - 2000000
                    for i = 1, #found, 2 do
                      local value, gone = found[i + 1], false
                      do -- expired
                        if #value == 13 and byte(value) <= FORMAT then
                          local _, _, ends = unpack('>BI4i8', value)
                          gone = ends < due
                        end
                      end
                      if gone and n < 1000 then
                        n = n + 1
                        old[n] = found[i]
                      end
                    end
                    if n > 0 then call('HDEL', key, unpack_list(old)) end
                    if page[1] and page[1] ~= cursor then call('HSET', key, '', page[1]) end
                  end
                end
              end
            end
          else
            do -- delete_field
              local answer = call('HDEL', key, field)
              if type(answer) == 'table' then err = answer.err end
            end
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
