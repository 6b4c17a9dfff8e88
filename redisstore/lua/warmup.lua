-- Warm-up: engine/algo/warmup.go. whole and part are the price of the missing tokens, in tokens and in units of
-- 1/period token. passed is the number of units that have passed since the limit was cold, and warm is the number of
-- them that still count. clock is the instant of the last change or, for a full bucket, the instant when it became
-- full.

--- functions

-- price_to returns the price of the first v units after the limit was cold. On the ramp, the price
-- of a unit falls from three tokens to one.
local function price_to(v, ramp, period)
  if v < 0 then return 3 * v, 0 end
  if v >= ramp then return ramp + v, 0 end
  local whole, rest = muldiv(v, v, ramp)
  local saved = muldiv(rest, period, ramp)
  if saved > 0 then return 3 * v - whole - 1, period - saved end
  return 3 * v - whole, 0
end

-- price returns the price of the units from+1 to to.
local function price(from, to, ramp, period)
  local whole, part = price_to(from, ramp, period)
  local q, r = price_to(to, ramp, period)
  q, r = q - whole, r - part
  if r < 0 then return q - 1, r + period end
  return q, r
end

-- below returns the largest number of units, at most n, before unit v that together cost less than an amount.
local function below(whole, part, v, n, ramp, period)
  local least = 0
  while n > least do
    local middle = least + math.ceil((n - least) / 2)
    local q, r = price(v - middle, v, ramp, period)
    if q < whole or q == whole and r < part then least = middle else n = middle - 1 end
  end
  return least
end

--- locals
local rate, period, burst, over, ramp, most -- most is the largest cost if next_pays is set, or 0
local whole, part, passed, warm, clock, behind, tail

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior == 50 and byte(prior) == FORMAT then
    _, clock, whole, part, rate, period, passed, tail = unpack('>Bi8I7I7I6I7I7I7', prior)
  else
    absent, err = true, state_error(prior)
  end
end

--- args
local own_rate, own_period
cost, own_rate, own_period, burst, over, ramp, most, at = unpack('>I7I6I7I6I7I7I7', arg, at)
rate, period = own_rate, own_period

--- full
if whole == 0 and part == 0 then
  if passed > 2 * ramp then passed = 2 * ramp end
  warm = passed
  local idle = now + behind - clock
  if idle > 0 and idle > (over - over % 4) / 4 then
    local q, r = muldiv(idle, rate, period)
    if r > 0 then q = q + 1 end
    warm = passed - q
  end
  if warm <= 0 then passed, warm, clock, behind = 0, 0, now, 0 end
else
  warm = passed
end

--- settle
whole, part, passed, clock, behind, shifted = 0, 0, 0, now, 0, nil
--@read
if not absent then
  local elapsed = now - clock
  if elapsed < 0 then
    local q, r = price_to(burst, ramp, period)
    if -elapsed > span(rate, period, q, r) and -elapsed > span(rate, period, whole, part) then
      -- The clock was set back farther than a refill takes, so the state moves to now.
      clock = now
      --@encode
      shifted, shifted_ttl = value, span(rate, period, whole, part) + tail
    else
      behind = -elapsed
    end
    elapsed = 0
  end
  local fill = span(rate, period, whole, part)
  if elapsed >= fill then
    whole, part, clock = 0, 0, clock + fill
  else
    local q, r = muldiv(elapsed, rate, period)
    whole, part, clock = whole - q, part - r, clock + elapsed
    if part < 0 then whole, part = whole - 1, part + period end
  end
end
--@full

--- wait
wait, delay = 0, 0
if cost > (most > 0 and most or burst) then
  wait = NEVER
elseif cost > 0 then
  local q, r = price(warm + (most > 0 and 0 or cost) - burst, warm, ramp, period)
  q, r = whole - q, part - r
  if r < 0 then q, r = q - 1, r + period end
  if q > 0 or q == 0 and r > 0 then wait = span(rate, period, q, r) + behind end
end

--- left
remaining = burst
if whole > 0 or part > 0 then
  remaining = burst - 1 - below(whole, part, warm, burst, ramp, period)
  if remaining < 0 then remaining = 0 end
end

--- room
--@left
room = remaining
if most > 0 then
  local q, r = price(warm - burst, warm, ramp, period)
  room = (whole < q or whole == q and part <= r) and most or 0
end

--- spare
local burst = 2 * burst
--@room

--- give_held
-- Gives back the units that are not followed by later charges in the bucket, and whose price is not
-- paid yet.
local moment = now + behind
local give = function() -- a function, because a script can have at most 200 locals
  if held_ends > moment and (whole > 0 or part > 0) then
    local all, before, before_part, waited, waited_part, waits = {}, 0, 0, 0, 0, -WORD
    --@read_returns
    local left, left_part = muldiv(held_ends - moment, rate, period)
    left, left_part = left - before, left_part - before_part
    if left_part < 0 then left, left_part = left - 1, left_part + period end
    if left < 0 then left, left_part = 0, 0 end
    local after, after_part = whole - left, part - left_part
    if after_part < 0 then after, after_part = after - 1, after_part + period end
    if after < 0 then
      left, left_part, after, after_part = whole, part, 0, 0
    end
    local v = passed - below(after, after_part + 1, passed, passed, ramp, period)
    units = below(left, left_part + 1, v, math.min(units, v), ramp, period)
    local back, back_part, ends, ordered = whole, part, moment + span(rate, period, whole, part), rate <= period
    --@give
    back, back_part = back - whole, back_part - part
    if back_part < 0 then back, back_part = back - 1, back_part + period end
    if (back > 0 or back_part > 0) and (not ordered or after > 0 or after_part > 0) then
      --@write_returns
    end
  end
end
give()

--- charge
local q, r = price(warm, warm + units, ramp, period)
whole, part, passed, clock, after = whole + q, part + r, warm + units, now + behind, behind
if part >= period then whole, part = whole + 1, part - period end
if passed > 4503599627370496 then passed = 4503599627370496 end
warm = passed

--- give
if whole > 0 or part > 0 then
  local n = math.min(units, passed)
  local q, r = price(passed - n, passed, ramp, period)
  whole, part, passed = whole - q, part - r, passed - n
  if part < 0 then whole, part = whole - 1, part + period end
  if whole < 0 then whole, part = 0, 0 end
end

--- resettle
if behind > 0 then
  -- Less is missing now. If the clock is farther behind than the refill takes, the state moves to now.
  local q, r = price_to(burst, ramp, period)
  if behind > span(rate, period, q, r) and behind > span(rate, period, whole, part) then
    clock, behind = now, 0
  end
end
--@full

--- report
--@left
reset = 0
if whole > 0 or part > 0 then reset = span(rate, period, whole, part) + behind end

--- encode
value = pack('>Bi8I7I7I6I7I7I7', FORMAT, clock, whole, part, rate, period, passed, tail)

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
elseif passed == 0 and whole == 0 and part == 0 then
  value, ttl = nil, 0
else
  -- tail is how long a bucket takes to become cold once it is full.
  tail = math.max(muldiv(math.min(passed, 2 * ramp) - 1, period, rate), (over - over % 4) / 4) + 1
  --@encode
  ttl = clock + span(rate, period, whole, part) + tail - now
end
--@write_key

--- suspend
suspended = { rate, period, burst, over, ramp, most, whole, part, passed, warm, clock, behind }

--- resume
rate, period, burst, over, ramp, most = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
whole, part, passed, warm, clock, behind = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11], suspended[12]

--- ttl
--@read
if not absent then ttl = clock + span(rate, period, whole, part) + tail - now end
