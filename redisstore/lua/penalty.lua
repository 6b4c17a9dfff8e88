-- Penalty: engine/algo/penalty.go. used is the number of ignored denials since start, and ends is the instant when the
-- wait of the last denial is over. own is the number of strikes that were not forgotten when the last block began, at
-- clock. over is the instant from which the state is equivalent to no state. Other fragments share these
-- locals, because a script can have at most 200.

--- locals
local limit, period, used, start, ends
local own, clock
local numbers -- the limit's block, max_block, forget and most (the largest number of strikes), and the state's over

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior == 38 and byte(prior) == FORMAT then
    _, own, used, clock, start, ends, numbers.over = unpack('>BBI4i8i8i8i8', prior)
  else
    absent, err = true, state_error(prior)
  end
end

--- args
count_denied, numbers = 1, {}
cost, limit, period, numbers.block, numbers.max_block, numbers.forget, numbers.most, at = unpack('>I7I4I7I7I7I7B', arg, at)

--- over
-- over is the end of the state with the limit's parameters.
over = ends
if own > 0 then over = math.max(over, clock + own * numbers.forget) end
if used > 0 then over = math.max(over, start + period) end

--- blocked
-- rest is the time until the key is no longer blocked.
rest = 0
if own > 0 then
  local length, n = numbers.block, 1
  while n < own and length < numbers.max_block do length, n = 2 * length, n + 1 end
  if length > numbers.max_block then length = numbers.max_block end
  rest = math.min(numbers.over, clock + length - clock % ((length - length % 8) / 8 + 1)) - now
  if rest < 0 then rest = 0 end
end

--- tolerated
-- left is the number of strikes that are not forgotten, and tries is the number of ignored denials that starts a block.
left, tries = own, limit
if now > clock then left = own - math.floor((now - clock) / numbers.forget) end
for n = 1, left do tries = (tries - tries % 2) / 2 end
if tries < 1 then tries = 1 end

--- settle
own, clock, used, start, ends, shifted, numbers.over = 0, 0, 0, 0, 0, nil, 0
local over
--@read
if now >= numbers.over then own, clock, used, start, ends = 0, 0, 0, 0, 0 end
if clock - now > numbers.max_block or start - now > period then
  -- The clock was set back by more than the longest block or the period, so the state moves to now.
  if clock > now then clock = now end
  if start > now then start = now end
  ends = 0
  --@over
  numbers.over = math.min(numbers.over, over)
  --@encode
  shifted, shifted_ttl = value, numbers.over - now
end
if now >= clock + own * numbers.forget then own, clock = 0, 0 end
if used == 0 or now >= start + period then used, start = 0, 0 end
if now >= ends then ends = 0 end
--@over
numbers.over = math.min(numbers.over, over)
local rest
--@blocked
if rest > 0 and cost > 0 then longest_wait = NEVER end -- the denial does not count

--- wait
local rest
--@blocked
wait, delay = cost > 0 and rest or 0, 0

--- room
local rest
--@blocked
room = rest > 0 and 0 or NEVER

--- spare
room = NEVER -- a settlement charges nothing

--- charge
write = false

--- give

--- penalize
if now >= ends then
  ends = now + (longest_wait < period and longest_wait or period)
else
  local left, tries
  --@tolerated
  if used == 0 then start = now end
  used = used + 1
  ends = now + (longest_wait < period and longest_wait or period)
  if used >= tries then
    own, clock, used, start = (left < 0 and 0 or left) + 1, now, 0, 0
    if own > numbers.most then own = numbers.most end
    numbers.over = NEVER
    local rest
    --@blocked
    ends = now + rest
  end
end
local over
--@over
numbers.over = over

--- report
local left, tries, rest
--@tolerated
--@blocked
remaining, reset = rest > 0 and 0 or tries - used, numbers.over - now
if remaining < 0 then remaining = 0 end
if reset < 0 then reset = 0 end
window = left > 0 and left or 0 -- a penalty's answer contains its strikes in this place

--- encode
value = pack('>BBI4i8i8i8i8', FORMAT, own, used, clock, start, ends, numbers.over)

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  --@encode
  ttl = reset
end
--@write_key

--- suspend
suspended = { limit, period, used, start, ends, numbers, own, clock, numbers.over }

--- resume
limit, period, used, start, ends, numbers = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
own, clock, numbers.over = suspended[7], suspended[8], suspended[9]

--- ttl
numbers = {}
--@read
if not absent then ttl = numbers.over - now end
