-- Generated from prelude.lua, common.lua, fixed.lua, hash.lua, lookup.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
--
-- The fragments share the locals of common.lua: the limit and the operation that are
-- being decided, and what the parts find out about them. lua/README.md has the parts
-- and their contract. A server gets this text without comments and indentation.

-- Tells scripts the time: now is the time of the server in µs. pad is 0 ms: a key lives
-- as long as it counts. count is the number of arguments.
local clock = redis.call('TIME')
local now, pad, count = clock[1] * 1000000 + clock[2], 0, #ARGV

local unpack_list = unpack
local call, pack, unpack, byte, format = redis.pcall, struct.pack, struct.unpack, string.byte, string.format

-- WORD is 2^53: below it a double holds every integer exactly. NEVER is the wait of
-- a cost that exceeds the capacity, the same number.
local WORD, NEVER = 9007199254740992, 9007199254740992

-- FORMAT is the first byte of every state; format.go has the same number. States of
-- the format before it are read.
local FORMAT = 2

-- muldiv returns the quotient and the remainder of a·b/d. If a·b does not fit into a
-- word, it is a long multiplication: digit by digit of b, from the highest, in the
-- largest base in which a remainder times a digit is still exact.
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

-- state_error returns the error of a value that is not a state: an error reply, or
-- bytes that are not a state of this format.
local function state_error(value)
  if type(value) == 'table' then return value.err end
  local version = string.byte(value)
  if version and version > FORMAT and version < 32 then return 'NEWER ' .. version end
  return 'GARBAGE ' .. #value
end

-- The operation and the limit that are being decided. All parts work on these
-- locals of the script: with tables and functions a decision took twice the time.
local key, k, arg, at, kind, algorithm = nil, 0
local field -- of the hash that key names, where states are fields
local cost, units, taken, count_denied, absent, wait, delay, window, room, remaining, reset
local write, err, prior, value, ttl, suspended, wrote
local after = 0 -- the charged units count so many µs after now
local ahead = 0 -- the units will be spent so many ms after now, and are logged then
-- After the server's clock was set back far, even a denied operation stores the state
-- with its times moved to now. shifted is that state, or true if the algorithm's
-- locals are that state; shifted_ttl is its TTL.
local shifted, shifted_ttl

local limit, new_end, align, period, start, next_end, used, ends, _

-- Expiry and reset, which do not depend on the limit's numbers: returns whether
-- there is a state and its TTL, or deletes it.
local EXPIRY = 5
local out = { pack('>i8', now) }

for j = 1, count do
  arg = ARGV[j]
  local found, longest, failed, limits = 0, 0, nil, byte(arg, 2)
  kind, wrote, at = byte(arg), false, 3
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, err, prior, ttl = KEYS[k], nil, nil, 0
    local first = k
    do -- field
      field, at = unpack('>I2c0', arg, at)
    end
    do -- ttl
      do -- read
        do -- get_state
          prior = prior or call('HGET', key, field)
        end
        absent = not prior
        if not absent then
          if type(prior) == 'string' and #prior == 13 and byte(prior) <= FORMAT then
            _, used, ends = unpack('>BI4i8', prior)
          else
            absent, err = true, state_error(prior)
          end
        end
      end
      if not absent then ttl = ends - now end
    end
    if kind == EXPIRY then
      failed = failed or err
      if ttl > 0 then found = 1 end
      if ttl > longest then longest = ttl end
    else
      -- A reset deletes any value at the key, even one that is not a state.
      if ttl > 0 or err then found = 1 end
      local answer
      do -- delete_state
        answer = call('HDEL', key, field)
        -- What is no hash holds no state, and is deleted as a value that is no state is.
        if type(answer) == 'table' and string.find(answer.err, 'WRONGTYPE', 1, true) then answer = call('DEL', key) end
      end
      if type(answer) == 'table' then failed = failed or answer.err else wrote = true end
    end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[j + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[j + 1] = pack('>BI8', found, longest)
  end
end
return table.concat(out)
