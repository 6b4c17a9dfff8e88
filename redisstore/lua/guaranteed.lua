-- Guaranteed rate: engine/algo/guaranteed.go. numbers contains the limit's parameters, the state as missing amounts in
-- units of 1/period, and values computed from them. The state is a list: the shared bucket, and then, for each class,
-- its own bucket and its ceiling's bucket. Other fragments share these locals, because a script can have at most 200.

--- locals
local rate, period, burst, clock, behind
local numbers

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior >= 24 and #prior % 14 == 10 and byte(prior) == FORMAT and #prior == 24 + 14 * (numbers.classes or (#prior - 24) / 14) then
    local at
    numbers.missing = {}
    _, clock, numbers.over, numbers.missing[1], at = unpack('>Bi8i8I7', prior)
    for i = 2, 2 * (#prior - 24) / 14, 2 do
      numbers.missing[i], numbers.missing[i + 1], at = unpack('>I7I7', prior, at)
    end
  else
    absent, err = true, state_error(prior)
  end
end

--- args
numbers = { rates = {}, bursts = {}, ceilings = {}, most = {} }
cost, rate, period, burst, numbers.shared, numbers.longest, numbers.rank, numbers.down, numbers.classes, at = unpack('>I7I6I7I6I6I7BBB', arg, at)
for i = 1, numbers.classes do
  numbers.rates[i], numbers.bursts[i], numbers.ceilings[i], numbers.most[i], at = unpack('>I6I6I6I6', arg, at)
end

--- later
-- to is the state us µs later, in missing amounts, if nothing is charged.
local rest, spill = rate, 0
to = { 0 }
for i = 1, numbers.classes do
  local more = us * numbers.rates[i]
  rest = rest - numbers.rates[i]
  if numbers.down == 1 then more, spill = more + spill, 0 end
  local own, ceiling = numbers.missing[2 * i] - more, numbers.missing[2 * i + 1] - us * numbers.ceilings[i]
  if own < 0 then spill, own = spill - own, 0 end
  if ceiling < 0 then ceiling = 0 end
  to[2 * i], to[2 * i + 1] = own, ceiling
end
to[1] = numbers.missing[1] - spill - us * rest
if to[1] < 0 then to[1] = 0 end

--- has
-- The amount that the class can take from its own bucket and the shared one.
local shared = numbers.shared * period - to[1]
has = numbers.bursts[numbers.rank] * period - to[2 * numbers.rank]
if shared > 0 then has = has + shared end

--- last
-- numbers.over is the instant when nothing is missing if nothing is charged, and ttl is the time until then.
local us, to, capped = 0, nil, 0
for i = 1, numbers.classes do
  local soonest, own, speed = WORD, 0, 0
  for j = i, 1, -1 do
    own, speed = own + numbers.missing[2 * j], speed + numbers.rates[j]
    if own == 0 then soonest = 0 elseif speed > 0 then soonest = math.min(soonest, (own - own % speed) / speed + (own % speed > 0 and 1 or 0)) end
    if numbers.down == 0 then break end
  end
  us = math.max(us, soonest)
  local ceiling, most = numbers.missing[2 * i + 1], numbers.ceilings[i]
  if ceiling > 0 then capped = math.max(capped, (ceiling - ceiling % most) / most + (ceiling % most > 0 and 1 or 0)) end
end
--@later
local left = to[1] % rate
us = us + (to[1] - left) / rate + (left > 0 and 1 or 0)
if capped > us then us = capped end
numbers.over, ttl = clock + us, us > 0 and us + behind or 0

--- settle
clock, behind, shifted = now, 0, nil
--@read
if absent then
  numbers.missing = { 0 }
  for i = 2, 2 * numbers.classes + 1 do numbers.missing[i] = 0 end
else
  local us, to = now - clock, nil
  if us < 0 and -us > numbers.longest and -us > numbers.over - clock then
    -- The clock was set back a long way, so the state moves to now.
    numbers.over, clock, us = numbers.over - clock + now, now, 0
    --@encode
    shifted, shifted_ttl = value, numbers.over - now
  end
  if us < 0 then
    behind = -us
  else
    --@later
    numbers.missing, clock = to, now
  end
end

--- wait
wait, delay = 0, 0
local own, most, ceiling = numbers.rank, numbers.bursts[numbers.rank] + numbers.shared, numbers.ceilings[numbers.rank]
if ceiling > 0 and numbers.most[own] < most then most = numbers.most[own] end
if cost > most then
  wait = NEVER
elseif cost > 0 then
  local price, us, to, has = cost * period, 0, numbers.missing, nil
  local over = to[2 * own + 1] + price - numbers.most[own] * period
  if ceiling > 0 and over > 0 then wait = (over - over % ceiling) / ceiling + (over % ceiling > 0 and 1 or 0) end
  --@has
  if has < price then
    -- The wait is found by trial, because units reach the class at a rate that changes as buckets fill. The first trial
    -- assumes that the class gets the whole rate.
    local short, late = price - has, nil
    us = (short - short % rate) / rate + (short % rate > 0 and 1 or 0)
    local early = us
    repeat
      --@later
      --@has
      if has >= price then late = us else early = us end
      us = late and early + math.floor((late - early) / 2) or 2 * us
    until late and late - early <= 1 or us > WORD -- no valid state takes so long
    if late and late > wait then wait = late end
  end
  if wait > 0 then wait = wait + behind end
end

--- room
local to, has = numbers.missing, nil
--@has
room = (has - has % period) / period
if numbers.ceilings[numbers.rank] > 0 then
  local left = numbers.most[numbers.rank] * period - to[2 * numbers.rank + 1]
  room = math.min(room, (left - left % period) / period)
end
if room < 0 then room = 0 end

--- spare
local missing, own, ceiling = numbers.missing, numbers.rank, numbers.ceilings[numbers.rank]
local most = numbers.bursts[own] + numbers.shared
if ceiling > 0 and numbers.most[own] < most then most = numbers.most[own] end
room = (most + numbers.bursts[own] + numbers.shared) * period - missing[2 * own] - missing[1]
if ceiling > 0 then room = math.min(room, 2 * numbers.most[own] * period - missing[2 * own + 1]) end
room = math.max(0, (room - room % period) / period)

--- charge
local missing, own, price = numbers.missing, 2 * numbers.rank, units * period
local first = math.min(price, numbers.bursts[numbers.rank] * period - missing[own])
missing[own], missing[1] = missing[own] + first, missing[1] + price - first
if numbers.ceilings[numbers.rank] > 0 then missing[own + 1] = missing[own + 1] + price end
after = behind

--- returned
-- Gives amount back to the class's own bucket, and the excess to the shared bucket. Gives amount_capped back to the
-- bucket of the class's ceiling.
local missing, own = numbers.missing, 2 * numbers.rank
local first = math.min(amount, missing[own])
missing[own], missing[1] = missing[own] - first, math.max(0, missing[1] - (amount - first))
missing[own + 1] = math.max(0, missing[own + 1] - amount_capped)

--- give
local amount = math.min(units, 4 * burst) * period -- more than can be missing
local amount_capped = amount
--@returned

--- give_held
local since, charged = math.max(0, clock - taken), math.min(reserved, burst) * period
local amount = math.min(units, burst) * period
local amount_capped = math.max(0, math.min(amount, charged - since * numbers.ceilings[numbers.rank]))
amount = math.max(0, math.min(amount, charged - since * rate))
--@returned

--- resettle
--@last
if ttl == 0 then clock, behind = now, 0 end
-- Less is missing now. If the clock is farther behind than the refill takes, the state moves to now.
if behind > numbers.longest and behind > numbers.over - clock then clock, behind = now, 0 end

--- report
--@room
--@last
remaining, reset = room, ttl

--- encode
value = pack('>Bi8i8I7', FORMAT, clock, numbers.over, numbers.missing[1])
for i = 2, #numbers.missing, 2 do value = value .. pack('>I7I7', numbers.missing[i], numbers.missing[i + 1]) end

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  ttl = reset
  --@encode
end
--@write_key

--- suspend
suspended = { rate, period, burst, clock, behind, numbers }

--- resume
rate, period, burst, clock, behind, numbers = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]

--- ttl
numbers = {}
--@read
if not absent then ttl = numbers.over - now end
