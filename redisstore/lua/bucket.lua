-- Token bucket and pacer: engine/algo/bucket.go. whole and part are the amount missing from the bucket: whole tokens,
-- and the rest in units of 1/period token. A state has it in these units as one number, if that is below WORD. rate and period are in force for the bucket. own_rate and own_period belong
-- to the operation's limit. behind is how far now is behind the bucket's own time. tail is the time from clock until the
-- last caller with a reserved slot continues. Until then the stored rate is in force, and from then on the rate in
-- numbers: the fastest of all charges since.

--- locals
local pacer, debt, own_rate, own_period, burst, depth, depth_part
local most -- the largest cost if next_pays is set (debt is 2)
local cost_parts, depth_parts, short_parts -- the cost, the depth and what refills in SHORT, in units of 1/own_period token
local rate, period, whole, part, clock, behind, tail
local numbers

--- read
prior = prior or call('GET', key)
absent, tail = not prior, 0
if not absent then
  if type(prior) == 'string' and #prior == 28 and byte(prior) == FORMAT then
    _, clock, whole, rate, period = unpack('>Bi7I7I6I7', prior)
    part = whole % period
    whole = (whole - part) / period
  elseif type(prior) == 'string' and (#prior == 36 or #prior == 56) and byte(prior) == FORMAT then
    _, clock, whole, part, rate, period = unpack('>Bi8I7I7I6I7', prior)
    if #prior == 56 then
      local later, later_period
      tail, later, later_period = unpack('>I7I6I7', prior, 37)
      numbers = { later, later_period }
    end
  else
    absent, err = true, state_error(prior)
  end
end

--- args
pacer, debt, cost, own_rate, own_period, burst, depth, depth_part, at = unpack('>BBI7I6I7I6I7I7', arg, at)
if debt == 2 then most, at = unpack('>I7', arg, at) end

--- alone
local cost, own_rate, own_period, depth, depth_part = unpack('>I7I6I7xxxxxxI7I7', arg, 6)
local cost_parts, depth_parts, short_parts
--@fast_limit
--@fast

--- fast_limit
cost_parts, depth_parts = cost * own_period, depth * own_period + depth_part
if depth_parts >= WORD then depth_parts = WORD - 1 end
short_parts = own_rate * SHORT

--- fast
-- Decides an allow of a bucket without debt, or of a pacer, if the state was written with the limit's rate.
local known, missing, elapsed = not prior, 0, 0
if prior and #prior == 28 then -- an error is a table, whose length is 0
  local version, clock, before, rate, period = unpack('>Bi7I7I6I7', prior)
  known = version == FORMAT and rate == own_rate and period == own_period
  missing, elapsed = before, now - clock
  keeps = elapsed <= since
end
value = nil
local gained = elapsed * own_rate
if known and gained >= 0 and gained < WORD then
  missing = missing - gained
  if missing < 0 then missing = 0 end
  missing = missing + cost_parts
  decided = missing < WORD
  if decided and missing <= depth_parts then
    if missing <= short_parts then
      ttl = SHORT -- or less: the key lives equally long
    else
      keeps = false
      local rest = missing % own_rate
      ttl = (missing - rest) / own_rate
      if rest > 0 then ttl = ttl + 1 end
    end
    value = pack('>Bi7I7I6I7', FORMAT, now, missing, own_rate, own_period)
  end
end

--- convert
-- Converts the amount to units of 1/own_period token. The part is rounded up, against the caller.
local q, r = muldiv(part, own_period, period)
if r > 0 then q = q + 1 end
if q >= own_period then whole, q = whole + 1, q - own_period end
part, rate, period = q, own_rate, own_period

--- settle
whole, part, clock, behind, shifted = 0, 0, now, 0, nil
--@read
if absent then
  rate, period = own_rate, own_period
else
  if clock > now then shifted = { whole, part, rate, period } end
  local elapsed = now - clock
  local before = numbers
  if tail > 0 then
    if muldiv(numbers[1], own_period, numbers[2]) < own_rate then numbers = { own_rate, own_period } end
    if elapsed > 0 then
      local rest = math.max(0, elapsed - tail)
      elapsed = elapsed - rest
      --@refill
      tail, elapsed = tail - elapsed, rest
      if tail == 0 or whole == 0 and part == 0 then
        tail = 0
        --@convert_later
      end
    end
  end
  -- The faster of the stored rate and the limit's own rate is in force.
  if tail == 0 and (rate ~= own_rate or period ~= own_period) and muldiv(rate, own_period, period) < own_rate then
    --@convert
  end
  if elapsed < 0 then
    --@lag
  end
  if elapsed >= 0 then
    --@refill
  elseif -elapsed > ttl then
    -- The clock was set back farther than a refill takes, so the state moves to now, with the rate in force when it was
    -- written.
    local whole, part, rate, period = unpack_list(shifted)
    local numbers = before
    clock = now
    --@encode
    --@fills
    shifted, shifted_ttl = value, ttl
  else
    behind, shifted = -elapsed, nil
  end
end

--- convert_later
-- Converts the amount to the rate that is in force from the last slot on.
local own_rate, own_period = numbers[1], numbers[2]
--@convert

--- fills
-- Sets ttl to the time until the bucket is full.
ttl = span(rate, period, whole, part)
if tail > 0 and ttl > tail then
  local whole, part, rate, period, clock, elapsed = whole, part, rate, period, nil, tail
  --@refill
  --@convert_later
  ttl = tail + span(rate, period, whole, part)
end

--- lag
-- Sets ttl to the longest time that the clock may be behind the bucket.
local whole, part, rate, period = whole, part, rate, period
if tail > 0 then
  --@convert_later
end
ttl = tail + math.max(span(rate, period, burst, 0), span(rate, period, whole, part))

--- wait
wait, delay = 0, 0
local price = debt == 2 and 0 or cost
if cost > (debt == 2 and most or depth) then
  wait = NEVER
elseif cost > 0 then
  local over, over_part
  --@over
  if over > 0 or over == 0 and over_part > 0 then
    wait = span(rate, period, over, over_part)
    if tail > 0 and wait > tail then
      local whole, part, rate, period, clock, elapsed = whole, part, rate, period, nil, tail
      --@refill
      --@convert_later
      --@over
      wait = tail + span(rate, period, over, over_part)
    end
    wait = wait + behind
  elseif pacer == 1 and whole + price >= burst then
    delay = span(rate, period, whole + price - burst, part)
  end
end

--- over
-- The missing amount that must refill before the cost passes.
over, over_part = whole + price - depth, part - depth_part
if debt == 1 and whole >= burst and cost <= depth - burst then
  -- A bucket in debt denies until it has a token.
  over, over_part = whole - burst, part + 1
end
if over_part < 0 then over, over_part = over - 1, over_part + period end

--- room
room = depth - whole
if part > depth_part then room = room - 1 end
if room < 0 or debt == 1 and whole >= burst then room = 0 elseif debt == 2 then room = most end

--- spare
room = burst + depth - whole
if part > depth_part then room = room - 1 end
if debt == 2 then
  room = most + burst - whole
  if part > 0 then room = room - 1 end
end
if room < 0 then room = 0 end

--- reserve
if wait > 0 and wait ~= NEVER and delays and pacer == 0 and rate == own_rate and period == own_period and (tail == 0 or numbers[1] == own_rate and numbers[2] == own_period) then
  wait, delay = 0, wait - behind
end
if pacer == 1 then
  --@queue
elseif wait == 0 and delay > accepts then
  wait = delay - accepts + behind
end

--- queue
-- The request passes once its delay is at most what the caller accepts. If even an unused limit would delay the cost for
-- longer, it never passes.
local price = debt == 2 and 0 or cost
local late = 0
if cost > 0 and wait ~= NEVER and whole + price >= burst then late = span(rate, period, whole + price - burst, part) end
if late > accepts then
  wait, delay = math.max(wait, late - accepts + behind), late
  if price > burst and span(rate, period, price - burst, 0) > accepts then wait = NEVER end
end

--- give_held
local moment, left, same_rate = clock, held_ends - clock, rate == own_rate and period == own_period
if left > 0 and (pacer == 0 or clock < slot) then
  --@give_back
end

--- free
--@waiting
if tail > 0 and (after > 0 or after_part > 0) then
  -- The last caller may wait under a version with a smaller burst.
  waits = moment + tail
  local q, r = muldiv(tail, rate, period)
  local free, free_part = whole - q - after, part - r - after_part
  while free_part < 0 do free, free_part = free - 1, free_part + period end
  if free < 0 then free, free_part = 0, 0 end
  if free < back or free == back and free_part < back_part then back, back_part = free, free_part end
end

--- promise
-- A pacer needs no tail, because its rate is part of its name.
if pacer == 0 and delay > tail then
  if tail == 0 then numbers = { own_rate, own_period } end
  tail = delay
end

--- ends
if tail > 0 then
  --@fills
  ends = moment + ttl
end

--- before
-- The answer says that the state is longer.
if not read_error and #before == 56 then before = '\2' .. string.sub(before, 2) end
if not read_error and #before == 36 then before = '\3' .. string.sub(before, 2) end

--- limit_passed
-- A bucket with debt allows requests while any part of a token is left. The first allow with another rate changes the
-- bucket's rate, so it is decided alone.
if debt == 1 and passed > 0 then
  local left = (burst - whole) / cost
  if passed > left then passed = math.ceil(left) end
end
if passed > 1 and tail == 0 and (rate ~= own_rate or period ~= own_period) then
  passed, alone = 1, true
end

--- charge
if tail == 0 and (rate ~= own_rate or period ~= own_period) then
  --@convert
end
whole, after = whole + units, behind

--- give
whole = whole - units
if whole < 0 then whole, part = 0, 0 end

--- resettle
if whole == 0 and part == 0 then clock, behind, tail = now, 0, 0 end
-- Less is missing now. If the clock is farther behind than the refill takes, the state moves to now.
if behind > 0 then
  --@lag
  if behind > ttl then clock, behind = now, 0 end
end

--- report
remaining, reset = burst - whole, 0
if part > 0 then remaining = remaining - 1 end
if remaining < 0 then remaining = 0 end
if whole > 0 or part > 0 then
  --@fills
  reset = ttl + behind
end

--- encode
local missing = whole * period + part
if tail == 0 and missing < WORD then
  value = pack('>Bi7I7I6I7', FORMAT, clock, missing, rate, period)
else
  value = pack('>Bi8I7I7I6I7', FORMAT, clock, whole, part, rate, period)
  if tail > 0 then value = value .. pack('>I7I6I7', tail, numbers[1], numbers[2]) end
end

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  ttl = reset
  if behind > 0 and ttl > 0 then ttl = ttl + 2 * SHORT end -- the span of the state's own time begins later
  --@encode
end
--@write_key

--- suspend
suspended = { pacer, debt, own_rate, own_period, burst, depth, depth_part, rate, period, whole, part, clock, behind, most, tail, numbers }

--- resume
pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
tail, numbers = suspended[15], suspended[16]

--- ttl
--@read
if not absent then
  --@fills
  ttl = ttl + clock - now
end
