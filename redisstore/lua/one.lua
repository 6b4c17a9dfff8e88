-- Operations on one limit each. An answer is a byte that says what became of
-- it, the units that at most got, and the limit's own numbers.
local AT_MOST, PEEK, GIVE = 1, 2, 3
local out, later = { pack('>i8', now) }, nil

for j = 1, count do
  k, arg, at = k + 1, ARGV[j], 3
  key, kind, algorithm = KEYS[k], byte(arg, 1, 2)
  local allowed, granted = 1, 0
  counts, wait, delay, window, write, err, prior = 0, 0, 0, 0, false, nil, nil
  --@asks
  --@settle
  if err == 'RECOMPUTE' or later and later[key] then
    -- It will be asked again; what comes after it on its key, after that.
    later, err = later or {}, 'RECOMPUTE'
    later[key] = true
  end
  if not err then
    if kind == GIVE then
      taken, at = unpack('>i8', arg, at)
      units, write = cost, cost > 0 and not absent
      if write then
        --@give
      end
    else
      if kind == AT_MOST and cost > 0 then
        --@room
        local share = unpack('>I2', arg, at)
        if share > 1 and room > 1 then
          room = (room - room % share) / share
          if room < 1 then room = 1 end
        end
        granted = room < cost and room or cost
        cost = granted > 0 and granted or 1
      end
      --@probe
      if wait == 0 then
        units = cost
        if cost > 0 and kind ~= PEEK then
          write = true
          --@charge
        end
      else
        allowed, delay = 0, 0
        if counts == 1 and cost > 0 and wait ~= NEVER then
          -- A peek only finds the wait that counting would lead to.
          if kind == PEEK then
            --@hold
          end
          write = true
          --@penalize
          --@probe
          if kind == PEEK then
            --@resume
          end
        end
      end
      if kind == PEEK then write = false end
    end
    --@finish
  end
  if err then
    err = string.sub(err, 1, 255)
    out[j + 1] = pack('>BB', 2, #err) .. err
  else
    out[j + 1] = pack('>BI7I8I8I8I8B', allowed, granted, remaining, wait, reset, delay, window)
  end
end
return table.concat(out)
