-- merge.lua and alone.lua for states in fields of hashes. The keys of one hash are a group. The
-- group's fields come first among its arguments. One command reads them, and one command writes
-- them.

--- open
list = {}

--- open_group
k, first, filled, longest = k + 1, a, 0, 0
key = KEYS[k]
values = call('HMGET', key, unpack_list(ARGV, a + 1, a + keys))
a = a + keys

--- next_state
field, prior = ARGV[first + i], values[i]
if values.err then prior = values end

--- get_state

--- write_state
if ttl > 0 then
  filled = filled + 2
  list[filled - 1], list[filled] = field, value
  if ttl > longest then longest = ttl end
else
  --@delete_field
end

--- write_quick
--@write_state

--- close_group
if filled > 0 then
  err = nil
  --@write_fields
  if err then -- no field was written
    err = string.sub(err, 1, 255)
    local text, place = pack('>BB', 255, #err) .. err, 1
    for i = 1, keys do
      if place < filled and list[place] == ARGV[first + i] then
        place = place + 2
        out[answered - keys + i] = text .. out[answered - keys + i]
      end
    end
  end
end

--- alone_get
prior = call('HGET', key, ARGV[2])

--- alone_put
local longest, list, filled, err = ttl, { ARGV[2], value }, 2, nil
--@write_fields
if err then decided = false end
