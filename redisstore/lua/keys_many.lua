-- keys_many.lua replaces parts of keys_merge.lua for servers with MSETEX (Redis 8.4, Valkey 9.1), which writes many keys
-- with the same expiry. After all keys of a limit, the states that already existed are written together, in lists by
-- their TTL. The states of a list last from a quarter of longest to longest, in µs, and all its keys expire after
-- longest, which is a power of four. A key therefore lives up to 4 times as long as its state, which contains its end.

--- open_group
list, some, longest = {}, nil, 0

--- write_quick
if prior and values then
  if ttl >= longest or 4 * ttl < longest then
    local _, exponent = math.frexp(ttl)
    longest = 2 ^ (exponent + exponent % 2)
    some = list[longest]
    if not some then
      some = {}
      list[longest] = some
    end
  end
  local n = #some
  some[n + 1], some[n + 2] = key, value
else
  --@write_one
end

--- close_group
for longest, some in pairs(list) do
  local n, life = #some, format('%d', longest / 1000 + 1 + pad) -- not in ttl_text, which later writes may reuse
  some[n + 1], some[n + 2] = 'PX', life
  local answer = n > 2 and call('MSETEX', n / 2, unpack_list(some)) or {}
  -- SET writes a single key. It also writes the keys if MSETEX fails: on a Cluster's node that lacks it, without the
  -- permission for it, or with an error that SET returns too.
  for i = 1, type(answer) == 'table' and n or 0, 2 do
    answer = call('SET', some[i], some[i + 1], 'PX', life)
    if answer.err then
      local text = string.sub(answer.err, 1, 255)
      for place = 1, k do -- the answer of KEYS[place] is out[place + 1]
        if KEYS[place] == some[i] then out[place + 1] = pack('>BB', 255, #text) .. text .. out[place + 1] end
      end
    end
  end
end
