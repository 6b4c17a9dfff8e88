-- Acquire, renew and release: engine/algo/hold.go. Each call that writes drops the
-- permits that have expired. After the clock was set back, no permit lasts longer than
-- its lease time from now, and each call writes that.
local ACQUIRE, RENEW = 6, 7
local out = { pack('>i8', now) }

-- units_held returns the units that the holder has of a limit, 0 if they are lost.
local function units_held(s, id)
  local expires = call('ZSCORE', s.key, id)
  if not expires or tonumber(expires) <= now then return 0 end
  return (permit_of(call('HGET', s.holders, id), s.lease_time))
end

-- grant writes a permit, which replaces the one that the holder had.
local function grant(s, id, had, units)
  s.in_use, s.latest = s.in_use - had + units, now
  call('ZADD', s.key, format('%.0f', now + s.lease_time), id)
  call('HSET', s.holders, id, format('%.0f %.0f', units, s.lease_time))
end

-- write_totals writes the field that concerns all holders.
local function write_totals(s)
  return call('HSET', s.holders, '', pack('>BI8i8', FORMAT, s.in_use, s.latest))
end

-- drop_expired drops the expired permits, before anything else is written.
local function drop_expired(s)
  local answer = write_totals(s)
  if type(answer) == 'table' then return answer.err end
  local ended = call('ZRANGEBYSCORE', s.key, '-inf', format('%.0f', now))
  for from = 1, #ended, 1000 do
    call('HDEL', s.holders, unpack_list(ended, from, math.min(from + 999, #ended)))
  end
  if #ended > 0 then call('ZREMRANGEBYSCORE', s.key, '-inf', format('%.0f', now)) end
end

-- set_expiry writes the units of all holders, and makes both keys expire with the
-- last permit.
local function set_expiry(s)
  local last = call('ZRANGE', s.key, -1, -1, 'WITHSCORES')
  if #last < 2 then
    call('DEL', s.key, s.holders)
    return
  end
  write_totals(s)
  local left = tonumber(last[2]) - now
  local rest = left % 1000
  if rest > 0 then left = left + 1000 - rest end
  left = format('%.0f', left / 1000 + pad)
  call('PEXPIRE', s.key, left)
  call('PEXPIRE', s.holders, left)
end

for j = 1, count do
  arg = ARGV[j]
  local limits, length = byte(arg, 2, 3)
  local id, steps, failed = string.sub(arg, 4, 3 + length), {}, nil
  local fits, same, live, any = true, true, true, false
  kind, at, wrote = byte(arg), 4 + length, false
  for i = 1, limits do
    k, at, err = k + 1, at + 1, nil
    key = KEYS[k]
    --@settle
    failed = failed or err
    if not failed then
      local s = { key = key, holders = holders, cost = cost, limit = limit, lease_time = lease_time, in_use = in_use, latest = latest, shortened = shortened, wait = 0 }
      s.had = units_held(s, id)
      if cost > limit then
        s.wait = NEVER
      else
        s.wait = wait_for(key, holders, in_use + cost - limit - s.had, lease_time, shortened, id)
      end
      fits, same, live = fits and s.wait == 0, same and s.had == cost, live and s.had > 0
      any = any or s.had > 0
      steps[i] = s
    end
  end
  local renews = kind == RENEW or kind == ACQUIRE and same
  local allowed = renews and live or kind == ACQUIRE and fits or kind > RENEW
  for i = 1, failed and 0 or limits do
    local s = steps[i]
    if renews then s.wait = allowed and 0 or NEVER end
    local release = kind > RENEW and s.had > 0
    if not failed and (kind <= RENEW and allowed or release or s.shortened) then
      if s.shortened then s.latest = now end
      failed = drop_expired(s)
      if not failed then
        wrote = true
        for _, e in ipairs(s.shortened or {}) do call('ZADD', s.key, format('%.0f', e.expires), e.id) end
        if release then
          s.in_use = s.in_use - s.had
          call('ZREM', s.key, id)
          call('HDEL', s.holders, id)
        elseif kind <= RENEW and allowed then
          grant(s, id, s.had, renews and s.had or s.cost)
        end
        set_expiry(s)
      end
    end
    if kind > RENEW then s.wait = 0 end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    local said = kind > RENEW and any or kind <= RENEW and allowed
    out[#out + 1] = pack('>BI7', said and 1 or 0, 0)
    for i = 1, limits do
      key, holders, in_use, limit, shortened = steps[i].key, steps[i].holders, steps[i].in_use, steps[i].limit, false
      write = false
      --@report
      out[#out + 1] = pack('>I8I8I8I8I7B', remaining, steps[i].wait, reset, 0, 0, 0)
    end
  end
end
return table.concat(out)
