-- What all scripts begin with, after the prelude has told the time.

--- functions

local unpack_list = unpack
local call, pack, unpack, byte, format = redis.pcall, struct.pack, struct.unpack, string.byte, string.format

-- WORD is the first integer at which a double may not be exact. NEVER, the wait
-- of a cost that could not pass an untouched limit, is the same number.
local WORD, NEVER = 9007199254740992, 9007199254740992

-- FORMAT is the first byte of every state. States of the format before it are read.
local FORMAT = 2

-- muldiv returns the quotient and the rest of a·b/d. Where a·b is more than a
-- word, b is taken digit by digit from the top, in the largest base in which a
-- rest times a digit still is exact.
local function muldiv(a, b, d)
  local x = a * b
  if x < 9007199254740992 then
    local r = x % d
    return (x - r) / d, r
  end
  local r = a % d
  local q, rest, base, place, above = (a - r) / d * b, 0, 2, 1, 0
  while base * 2 * d <= 9007199254740992 and base < 67108864 do base = base * 2 end
  while place * base <= b do place = place * base end
  while place >= 1 do
    local low = b % place
    local x, y = rest * base, r * ((b - low) / place)
    local xr, yr = x % d, y % d
    above, rest = above * base + (x - xr) / d + (y - yr) / d, xr + yr
    if rest >= d then rest, above = rest - d, above + 1 end
    b, place = low, place / base
  end
  return q + above, rest
end

-- complain says what is wrong with what was read from our key.
local function state_error(value)
  if type(value) == 'table' then return value.err end
  local version = string.byte(value)
  if version and version > FORMAT and version < 32 then return 'NEWER ' .. version end
  return 'GARBAGE ' .. #value
end

--- locals
-- The limit that is being decided: what was asked, and what is found out. They
-- are locals of the script, and the algorithms' parts are put in place where
-- they are needed: with tables and functions a decision took twice the time.
local key, k, arg, at, kind, algorithm = nil, 0
local cost, units, taken, count_denied, absent, wait, delay, window, room, remaining, reset
local write, err, prior, value, ttl, suspended, wrote
local after = 0 -- how many µs after now the units count that were charged
local ahead = 0 -- units are spent up to so many ms after now, and entered then
-- What is stored after the clock was set back far, even by a refusal: the state
-- itself, or true where that is what the algorithm has in hand.
local shifted, shifted_ttl

--- write_key
local answer
if ttl > 0 then
  local rest = ttl % 1000
  if rest > 0 then ttl = ttl + 1000 - rest end
  answer = call('SET', key, value, 'PX', ttl / 1000 + pad)
else
  answer = call('DEL', key)
end
if type(answer) == 'table' then err = answer.err end
