-- Fixed window: engine/algo/fixed.go. used is the number of counted units, and ends is the end of
-- their window. If used is 0, there is no state. new_end is the end of the window that a charge at now would start.

--- locals
local MOST = 281474976710655 -- a window counts up to 2^48-1 units
local limit, new_end, align, period, start, next_end, used, ends

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior == 15 and byte(prior) == FORMAT then
    _, used, ends = unpack('>BI6i8', prior)
  else
    absent, err = true, state_error(prior)
  end
end

--- args
count_denied, align, cost, limit, period, at = unpack('>BBI7I6I7', arg, at)
-- align 2 means the calendar: start and new_end delimit the window that the client computed, and next_end is the end of
-- the window after it.
if align == 2 then start, new_end, next_end, at = unpack('>i8i8i8', arg, at) end

--- alone
local align, cost, limit, period = unpack('>BI7I6I7', arg, 5)
--@fast

--- fast
-- Decides an allow of a window that starts with its first request or is aligned to the clock, and does not count denied
-- requests.
local version, used, ends = FORMAT, 0, 0
local known = not prior
if prior and #prior == 15 then -- an error is a table, whose length is 0
  version, used, ends = unpack('>BI6i8', prior)
  known = version == FORMAT and ends <= now + 2 * period
end
value = nil
if known then
  if used == 0 or ends <= now then
    used, ends = 0, now + (align == 1 and period - now % period or period)
  else
    keeps = true -- the key lives until the window ends
  end
  used, decided = used + cost, true
  if used <= limit then value, ttl = pack('>BI6i8', FORMAT, used, ends), ends - now end
end

--- settle
if align == 0 then
  new_end = now + period
elseif align == 1 then
  new_end = now - now % period + period
elseif now < start or now >= new_end then
  err = 'RECOMPUTE' -- the client computes the window again, with the time of this reply
end
used, ends, shifted = 0, 0, nil
--@read
if used > 0 then
  if ends <= now then
    used = 0
  elseif align < 2 and ends > now + 2 * period or align == 2 and ends > next_end then
    -- The clock was set back by more than a window, so the units move to the current window.
    ends = new_end
    --@encode
    shifted, shifted_ttl = value, ends - now
  end
end

--- wait
wait = 0
if cost > limit then
  wait = NEVER
elseif cost > 0 and used + cost > limit then
  wait = ends - now
end

--- room
room = limit - used
if room < 0 then room = 0 end

--- spare
-- The units that a limit twice as large would still admit, within the range of a state's count.
room = math.min(2 * limit, MOST) - used
if room < 0 then room = 0 end

--- charge
if used == 0 then ends = new_end end
used = used + units
-- If the clock was set back, the units count in the window after the current one.
if ends > new_end then after = (align == 2 and new_end or ends - period) - now end
if after < 0 then after = 0 end

--- count
if units > MOST - used then units = MOST - used end
--@charge

--- give
-- Units that were charged in another window have expired with that window.
local gone = false
if taken ~= -WORD and align == 0 then
  gone = taken < ends - period or taken >= ends
elseif taken ~= -WORD and align == 1 then
  gone = taken - taken % period + period ~= ends
elseif taken ~= -WORD and ends == new_end then
  gone = taken < start or taken >= new_end
elseif taken ~= -WORD then
  gone = taken < new_end or taken >= ends
end
if not gone then used = used - units end
if used < 0 then used = 0 end

--- penalize
local extra = limit - used
if extra > cost then extra = cost end
if extra > 0 then
  if used == 0 then ends = new_end end
  used = used + extra
end

--- penalize_merged
if cost <= limit then
  write = true
  --@penalize
end

--- report
remaining, reset = limit - used, 0
if remaining < 0 then remaining = 0 end
if used > 0 then reset = ends - now end

--- encode
value = pack('>BI6i8', FORMAT, used, ends)

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  ttl = reset
  --@encode
end
--@write_key

--- suspend
suspended = { limit, new_end, align, period, start or 0, next_end or 0, used, ends }

--- resume
limit, new_end, align, period, start, next_end, used, ends = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]

--- ttl
--@read
if not absent then ttl = ends - now end
