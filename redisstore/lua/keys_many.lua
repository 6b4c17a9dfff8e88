-- keys_many.lua replaces parts of merge.lua for servers with MSETEX (Redis 8.4, Valkey 9.1), which writes many keys
-- with the same expiry. After all keys of a limit, the states are written together, in lists by their TTL. The states of
-- a list last from a quarter of longest to longest, in µs, and all its keys expire after longest, which is a power of
-- four. A key therefore lives up to 4 times as long as its state, which contains its end. New keys have lists of their
-- own, under the negative of longest: they are written with NX, because MGET returns nothing for a key of another type.

--- open_limit
list, some, longest = {}, nil, 0

--- write_fast
if values then
  local before = longest
  ttl = math.max(ttl, SHORT)
  if ttl >= longest or 4 * ttl < longest then
    local _, exponent = math.frexp(ttl)
    longest = 2 ^ (exponent + exponent % 2)
  end
  if longest ~= before or not prior ~= fresh then
    fresh = not prior
    local class = fresh and -longest or longest
    some = list[class]
    if not some then
      some = {}
      list[class] = some
    end
  end
  local n = #some
  some[n + 1], some[n + 2] = key, value
else
  --@write_one
end

--- close_limit
for class, some in pairs(list) do
  local n, fresh = #some, class < 0 and 'NX' or nil
  local life = format('%d', math.abs(class) / 1000 + 1 + pad) -- not in ttl_text, which later writes may reuse
  some[n + 1], some[n + 2], some[n + 3] = 'PX', life, fresh
  local answer = n > 2 and call('MSETEX', n / 2, unpack_list(some)) or 0
  -- A single key is written by itself. So are all if MSETEX fails: on a Cluster's node that lacks it, without the
  -- permission for it, with an error that these commands return too, or with NX, if one of the keys has another type.
  for i = 1, answer == 1 and 0 or n, 2 do
    if fresh then
      answer = call('SET', some[i], some[i + 1], 'PX', life, fresh)
    else
      answer = call('PSETEX', some[i], life, some[i + 1])
    end
    local status = 255
    if not answer then
      status, answer = 254, call('GET', some[i])
    end
    if answer.err then
      local text = string.sub(answer.err, 1, 255)
      for place = 1, k do -- the answer of KEYS[place] is out[place + 1]
        if KEYS[place] == some[i] then
          out[place + 1] = pack('>BB', status, #text) .. text .. (status == 254 and '' or out[place + 1])
        end
      end
    end
  end
end
