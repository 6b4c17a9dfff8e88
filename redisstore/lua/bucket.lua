-- Token bucket and pacer: algo/bucket.go. What is missing from a full bucket is
-- whole tokens and a part of one, in units of 1/period token: two words.

--- functions

-- span returns how long an amount takes to come in, rounded up.
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

--- locals
local pacer, debt, rate, period, burst, depth, depth_part, full
local whole, part, clock, _

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior == 34 and byte(prior) == 1 then
    _, clock, whole, part, old_rate, old_period = unpack('>Bi8I7I7I4I7', prior)
  else
    absent, err = true, complain(prior)
  end
end

--- asks
pacer, debt, cost, rate, period, burst, depth, depth_part, full, at = unpack('>BBI7I4I7I4I7I7I7', arg, at)

--- settle
whole, part, clock = 0, 0, now
local old_rate, old_period
--@read
if not absent then

  -- What has come in since then, under the numbers of then.
  local elapsed = now - clock
  if elapsed >= 0 then
    clock = now
    if elapsed * old_rate >= WORD and elapsed >= span(old_rate, old_period, whole, part) then
      whole, part = 0, 0
    else
      local q, r = elapsed * old_rate, nil
      if q < WORD then
        r = q % old_period
        q = (q - r) / old_period
      else
        q, r = muldiv(elapsed, old_rate, old_period)
      end
      whole, part = whole - q, part - r
      if part < 0 then whole, part = whole - 1, part + old_period end
      if whole < 0 then whole, part = 0, 0 end
    end
  end

  -- The same under this call's numbers.
  if old_rate ~= rate or old_period ~= period then
    local q, r = muldiv(part, period, old_period)
    if r > 0 then q = q + 1 end
    if q >= period then whole, q = whole + 1, q - period end
    part, write = q, cost > 0
  end
  if whole > depth or whole == depth and part > depth_part then
    whole, part, write = depth, depth_part, cost > 0
  end

  -- A clock that was set back by more than a refill takes starts again.
  local ahead = clock - now
  if ahead > 0 and ahead > full and ahead > span(rate, period, whole, part) then
    clock, write = now, cost > 0
  end
end

--- probe
wait, delay = 0, 0
if cost > depth then
  wait = NEVER
elseif cost > 0 then
  local over, over_part = whole + cost - depth, part - depth_part
  if debt == 1 and whole >= burst and cost <= depth - burst then
    -- A debtor waits until something is there.
    over, over_part = whole - burst, part + 1
  end
  if over_part < 0 then over, over_part = over - 1, over_part + period end
  if over > 0 or over == 0 and over_part > 0 then
    wait = span(rate, period, over, over_part)
    if clock > now then wait = wait + clock - now end
  elseif pacer == 1 and whole + cost >= burst then
    delay = span(rate, period, whole + cost - burst, part)
  end
end

--- room
room = depth - whole
if part > depth_part then room = room - 1 end
if debt == 1 and whole >= burst then room = 0 end

--- passes
-- A debtor passes as long as something is there.
if debt == 1 and passed > 0 then
  local left = (burst - whole) / cost
  if passed > left then passed = math.ceil(left) end
end

--- charge
whole = whole + units

--- give
whole = whole - units
if whole < 0 then whole, part = 0, 0 end

--- finish
remaining, reset = burst - whole, 0
if part > 0 then remaining = remaining - 1 end
if remaining < 0 then remaining = 0 end
if whole > 0 or part > 0 then
  reset = span(rate, period, whole, part)
  if clock > now then reset = reset + clock - now end
end

--- store
value, ttl = pack('>Bi8I7I7I4I7', 1, clock, whole, part, rate, period), reset
--@keep

--- hold
held = { pacer, debt, rate, period, burst, depth, depth_part, full, whole, part, clock }

--- resume
pacer, debt, rate, period, burst, depth, depth_part, full, whole, part, clock =
  held[1], held[2], held[3], held[4], held[5], held[6], held[7], held[8], held[9], held[10], held[11]

--- lasts
local old_rate, old_period
--@read
if not absent then ttl = span(old_rate, old_period, whole, part) + clock - now end
