-- Expiry and reset, which do not depend on the limit's parameters. Expiry returns whether there is a state, and its
-- TTL. Reset deletes the state.
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
    --@ttl
    if kind == EXPIRY then
      failed = failed or err
      if ttl > 0 then found = 1 end
      if ttl > longest then longest = ttl end
    else
      -- A reset deletes any value at the key, even one that is not a state.
      if ttl > 0 or err then found = 1 end
      local answer = call('DEL', unpack_list(KEYS, first, k))
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
