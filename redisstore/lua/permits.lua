-- Acquire, renew and release: engine/algo/hold.go. Each call that writes drops the expired permits.
-- After the clock was set back, each call shortens permits to at most their lease time from now,
-- and writes them.
local ACQUIRE, RENEW = 6, 7
local out = { pack('>i8', now) }

for j = 1, count do
  arg = ARGV[j]
  local limits, length = byte(arg, 2, 3)
  local id, steps, failed = string.sub(arg, 4, 3 + length), {}, nil
  local fits, same, live, any = true, true, true, false
  kind, at, wrote = byte(arg), 4 + length, false
  for i = 1, limits do
    k, at, err = k + 1, at + 1, nil
    key = KEYS[k]
    --@args
    holder = own_key .. id
    --@settle
    failed = failed or err
    if not failed then
      wait = NEVER
      if cost <= room_for(0, 0, 0) then
        wait = wait_for(key, holders, in_use - had, own - had, total - had * (2 * own - had), shortened, holder)
      end
      fits, same, live = fits and wait == 0, same and had == cost, live and had > 0
      any = any or had > 0
      --@suspend
      steps[i] = { key, cost, wait, suspended }
    end
  end
  local renews = kind == RENEW or kind == ACQUIRE and same
  local allowed = renews and live or kind == ACQUIRE and fits or kind > RENEW
  for i = 1, failed and 0 or limits do
    local s = steps[i]
    key, cost, wait, suspended, err = s[1], s[2], s[3], s[4], nil
    --@resume
    write = false
    if kind > RENEW then
      wait = 0
      --@give_held
    else
      if renews then wait = allowed and 0 or NEVER end
      if allowed then
        units, write = renews and had or cost, true
        --@charge
      end
    end
    --@report
    if (write or shortened) and not failed then
      --@store
      failed, wrote = err, wrote or not err
    end
    value = pack('>I8I8I8I8I7B', remaining, wait, reset, 0, 0, 0)
    --@extra
    steps[i] = value
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    local said = kind > RENEW and any or kind <= RENEW and allowed
    out[#out + 1] = pack('>BI7', said and 1 or 0, 0)
    for i = 1, limits do out[#out + 1] = steps[i] end
  end
end
return table.concat(out)
