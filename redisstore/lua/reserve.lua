-- Reserve and settle: engine/algo/reserve.go. As in several.lua, all limits are settled first. Next, a reserve computes
-- the wait of each limit, and charges all limits or none. A settle gives back the unused units of a reservation, or
-- charges more, limit by limit. Before that it writes the reservation's key, which lasts until the reservation ends.
--
-- A reservation with a term has no such key. Instead it is kept by id in a hash of all open reservations: the end of
-- its term, the term, its charge for each limit, and the body, which only clients read. A sorted set contains the ends
-- of the terms. A settlement reads the charge from the hash. A report (stage 2) leaves the reservation open.
--
-- One MGET reads the operation's leading keys that are strings. The argument's second byte is their number.
local RESERVE = 10
local out, recompute_keys = { pack('>i8', now) }, nil
local accepts -- the longest delay that the caller accepts
local delays -- whether all limits can delay their caller
local slot, held_ends -- the reservation's charge for the limit
local returns -- for a settlement: the key of the record of returns, the record, and the new record (value) and its end
local dropped -- the largest number of units that a settlement could not charge
-- Stages of a settlement: 1 is final, 2 is a report, 3 ends an overdue reservation, 4 undoes a reserve.
local REPORT, HELD = 2, '>I7i8i8i8I7'

for j = 1, count do
  arg = ARGV[j]
  local limits, steps, allowed, failed, mark, settles_until, choice = byte(arg, 3), {}, 1, nil, nil, nil, nil
  local stage, opened = 0, nil -- opened is the open reservation of an operation with a term
  kind, at, wrote, dropped, longest_wait = byte(arg), 4, false, 0, 0
  if limits > 128 then
    limits = limits - 128
    choice, at = string.sub(arg, at, at + limits - 1), at + limits
  end
  if kind == RESERVE then
    local term
    delays, term, at = unpack('>BI7', arg, at)
    delays = delays == 1
    if term > 0 then
      opened = { key = KEYS[k + 1], due = KEYS[k + 2], term = term, held = {} }
      opened.id, opened.body, at = unpack('>Bc0I2c0', arg, at)
      k = k + 2
      local all = call('ZCARD', opened.due)
      failed = type(all) == 'table' and all.err or all == 1000000 and 'FULL 1000000 reservations are open'
    end
  elseif byte(arg, at) > 0 then
    opened = { key = KEYS[k + 1], due = KEYS[k + 2], held = {} }
    stage, opened.id, at = unpack('>BBc0', arg, at)
    k = k + 2
    local state = call('HGET', opened.key, opened.id)
    if not state then
      allowed = 0
    elseif type(state) == 'table' then
      failed = state.err
    elseif byte(state) ~= FORMAT or byte(state, 17) ~= limits or #state < 17 + 38 * limits then
      failed = state_error(state)
    else
      settles_until, opened.term = unpack('>i8I7', state, 2)
      opened.state = state
      opened.body = string.sub(state, 18 + 38 * limits)
      if (now >= settles_until) ~= (stage == 3) then allowed = 0 end
    end
  else
    mark = KEYS[k + 1]
    settles_until, at = unpack('>i8', arg, at + 1)
  end
  local first, found = k, byte(arg, 2) > 0 and call('MGET', unpack_list(KEYS, k + 1, k + byte(arg, 2)))
  if mark then
    k = k + 1
    -- MGET returns nothing for a key of another type. Writing the mark causes an error for such a key.
    local settled = found and found[1]
    if not settled and (not found or now >= settles_until) then settled = call('GET', mark) end
    if type(settled) == 'table' then failed = settled.err end
    if settled or now >= settles_until then allowed = 0 end
  end
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, count_denied, wait, delay, window, err, shifted, returns = KEYS[k], 0, 0, 0, 0, nil, nil, nil
    prior = found and found[k - first] or nil
    --@args
    --@holder
    --@settle
    --@returns
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    local held_at = at
    if kind == RESERVE then
      accepts, at = unpack('>i8', arg, at)
      if not failed then
        --@wait
        --@reserve
        if wait > 0 then allowed = 0 end
        if wait > longest_wait then longest_wait = wait end
      end
    elseif stage == 0 then
      at = at + 31
    end
    --@suspend
    -- s[11] is the position of the reservation's charge in the argument, and later the answer.
    local s = { algorithm, key, cost, count_denied, absent, shifted, suspended, wait, delay, window, held_at, shifted_ttl }
    s.returns = returns
    steps[i] = s
  end
  --@choose
  if mark and allowed == 1 and not failed then
    local left = settles_until - now
    local rest = left % 1000
    if rest > 0 then left = left + 1000 - rest end
    local answer = call('SET', mark, pack('>B', FORMAT), 'PX', format('%d', left / 1000 + pad), 'NX')
    answer = answer or call('GET', mark)
    wrote = not answer.err
    failed = answer.err
  end

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, count_denied, absent, shifted, suspended = s[1], s[2], s[3], s[4], s[5], s[6], s[7]
    wait, delay, window, shifted_ttl, write, err, after = s[8], s[9], s[10], s[12], false, nil, 0
    --@resume
    returns = s.returns
    if kind ~= RESERVE and allowed == 1 then
      local reserved, reported = nil, 0
      if stage == 0 then
        reserved, taken, slot, held_ends = unpack('>I7i8i8i8', arg, s[11])
      else
        reserved, taken, slot, held_ends, reported = unpack(HELD, opened.state, 38 * i - 20)
      end
      if stage == 4 and slot < held_ends then slot = held_ends end
      local actual = math.max(cost, reported)
      units = actual - math.max(reserved, reported)
      if units > 0 then
        --@spare
        if room < units then
          if units - room > dropped then dropped = units - room end
          units = room
        end
        if units > 0 then
          write = true
          --@charge
        end
      elseif actual < reserved and stage ~= REPORT and not absent then
        units, write = reserved - actual, true
        --@give_held
        --@resettle
      end
      if stage == REPORT then opened.held[i] = pack(HELD, reserved, taken, slot, held_ends, actual) end
      if not write then shifted = nil end
    elseif kind ~= RESERVE then
      shifted = nil
    elseif allowed == 1 then
      units = cost
      if cost > 0 then
        write = true
        --@charge
        --@promise
      end
    else
      if wait == 0 then delay = 0 end
      if count_denied == 1 and cost > 0 and longest_wait < NEVER then
        write = true
        --@penalize
        after = 0
        --@wait
        delay = 0
      end
    end
    if write then
      shifted = nil
    elseif shifted and (cost > 0 or count_denied == 2) then
      write = true
    end
    --@report
    if write then
      --@store
      if returns and returns.value and not err then
        ttl = returns.ends - now
        --@ttl_text
        err = call('PSETEX', returns.key, ttl_text, returns.value).err
      end
    end
    failed = failed or err
    wrote = wrote or write and not err
    value = pack('>I8I8I8I8I7B', remaining, wait, reset, delay, after, window)
    --@extra
    s[11] = value
    if opened and kind == RESERVE then
      local taken = now + after
      opened.held[i] = pack(HELD, cost, taken, taken + delay, now + reset, 0)
    end
  end

  if opened and allowed == 1 and not failed then
    local answer
    if kind == RESERVE or stage == REPORT then
      local ends = now + opened.term
      answer = call('HSET', opened.key, opened.id, pack('>Bi8I7B', FORMAT, ends, opened.term, limits) .. table.concat(opened.held) .. opened.body)
      call('ZADD', opened.due, format('%d', ends), opened.id)
      -- The keys last for a day after the last term, plus an hour, so that their expiry is seldom set again.
      local left = (opened.term - opened.term % 1000) / 1000 + 86400000 + pad
      local last = call('PTTL', opened.key)
      if type(last) == 'table' or last < left then -- a table is an error: no permission
        left = format('%d', left + 3600000)
        call('PEXPIRE', opened.key, left)
        call('PEXPIRE', opened.due, left)
      end
    else
      answer = call('HDEL', opened.key, opened.id)
      call('ZREM', opened.due, opened.id)
    end
    if type(answer) == 'table' then failed = answer.err else wrote = true end
  end

  if failed == 'RECOMPUTE' then
    -- The operation is sent again. To keep the order, the later operations on its keys are sent again too.
    recompute_keys = recompute_keys or {}
    for i = 1, limits do recompute_keys[steps[i][2]] = true end
  end
  local answers = #out
  if failed then
    failed = string.sub(failed, 1, 255)
    out[answers + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[answers + 1] = pack('>BI7', allowed, choice or dropped)
    for i = 1, limits do
      out[answers + 1 + i] = steps[i][11]
    end
  end
end
return table.concat(out)
