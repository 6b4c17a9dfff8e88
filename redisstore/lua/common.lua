-- Each script that decides operations begins with a prelude and this code. README.md describes the locals and the parts
-- that fragments share.

--- constants

local unpack_list = unpack
local call, pack, unpack, byte, format = redis.pcall, struct.pack, struct.unpack, string.byte, string.format

-- WORD is 2^53. Below it, a double holds every integer exactly. NEVER, the same number, is the wait for a cost that
-- exceeds the capacity.
local WORD, NEVER = 9007199254740992, 9007199254740992

-- Time is divided into spans of SHORT µs, and since is the time since this one began. A key that a span writes lives at
-- least 2·SHORT, so to the end of the next span. Therefore a state that lasts for up to SHORT keeps the TTL of one that
-- was written in the same span. SETRANGE writes it into the string, in two thirds of the time that a TTL takes.
local SHORT = 2097152
local since = now % SHORT

-- FORMAT is the first byte of every state; format.go defines the same number.
local FORMAT = 1

--- functions

-- muldiv returns the quotient and the remainder of a·b/d. If a·b does not fit into a word, it uses long multiplication:
-- it processes b digit by digit, from the highest, in the largest base whose products of a remainder and a digit are
-- exact.
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

-- state_error returns the error for a value that is not a state: an error reply, or bytes that are not a state of this
-- format.
local function state_error(value)
  if type(value) == 'table' then return value.err end
  local version = string.byte(value)
  if version and version > FORMAT and version < 32 then return 'NEWER ' .. version end
  return 'GARBAGE ' .. #value
end

--- choose
-- If there are several choices, the first choice that does not have to wait is charged: see Pass in
-- engine/algo/choice.go. choice contains the choice of each limit (0 for a limit that always takes part), and later the
-- charged choice. A step holds its cost, wait, delay and window at 3, 8, 9 and 10.
if choice then
  local choices, chosen = choice, nil
  for each = 1, 32 do -- the maximum number of limits
    local room_for, of = true, false
    for i = 1, limits do
      local own = byte(choices, i)
      of = of or own == each
      if (own == 0 or own == each) and steps[i][8] > 0 then room_for = false end
    end
    chosen = chosen or of and room_for and each
  end
  choice, allowed = chosen, chosen and 1 or 0
  for i = 1, limits do
    local own = byte(choices, i)
    if chosen and own ~= 0 and own ~= chosen then
      steps[i][3], steps[i][8], steps[i][9], steps[i][10] = 0, 0, 0, 0
    end
  end
end

--- locals
-- The operation and the limit that are being decided. All parts share these locals of the script, because with tables
-- and functions a decision took twice the time.
local key, k, arg, at, kind, algorithm = nil, 0
local cost, units, taken, count_denied, absent, wait, delay, window, room, remaining, reset
local write, err, prior, value, ttl, suspended, wrote, _
local after = 0 -- the charged units count this many µs after now
local ahead = 0 -- the units can be spent until this many ms after now, and the log enters them at that time
-- After the server's clock was set back a long way, even a denied operation stores the state, with its times moved to
-- now. shifted is that state, or true if the algorithm's locals contain it. shifted_ttl is its TTL.
local shifted, shifted_ttl
-- count_denied is 1 if a denial counts. It is 2 if shifted must be stored whether the request passes or not, for
-- example because it includes a report. longest_wait is the longest wait of a denied request, or NEVER if the denial
-- does not count.
local longest_wait
local ttl_least, ttl_most, ttl_text, ttl_texts = 0, 0, nil, {} -- the TTLs that share the last text, and all texts in ms

--- holder

--- fast_limit

--- reserve

--- spare
--@room

--- give_held
--@give

--- write_key
if ttl > 0 then
  --@ttl_text
  err = call('PSETEX', key, ttl_text, value).err
else
  local answer = call('DEL', key)
  if type(answer) == 'table' then err = answer.err end
end

--- write_fast
--@write_one

--- write_one
if keeps then
  --@write_kept
elseif prior or not values then
  --@write_key
else
  -- MGET returns nothing for a key of another type. NX preserves such a key, so that it is read and reported as an
  -- error.
  --@ttl_text
  local answer = call('SET', key, value, 'PX', ttl_text, 'NX')
  decided = answer
  err = answer and answer.err or nil
end

--- write_kept
local answer = call('SETRANGE', key, '0', value)
if type(answer) == 'table' then err = answer.err end

--- ttl_text
-- A number would be formatted with 17 digits, which takes longer. Above SHORT there are eight TTLs between a power of two
-- and the next, rounded up, so that keys of one call share most of their texts: a state says itself when it ends.
if ttl > ttl_most or ttl <= ttl_least then
  local life = 2 * SHORT
  if ttl <= SHORT then
    ttl_least, ttl_most = 0, SHORT
  else
    local _, exponent = math.frexp(ttl)
    local step = 2 ^ (exponent - 4)
    ttl_least = ttl - ttl % step
    if ttl_least == ttl then ttl_least = ttl - step end
    ttl_most = ttl_least + step
    life = math.max(life, ttl_most)
  end
  ttl_text = ttl_texts[life]
  if not ttl_text then
    ttl_text = format('%d', life / 1000 + 1 + pad)
    ttl_texts[life] = ttl_text
  end
end
