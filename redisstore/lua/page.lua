-- Returns a page of a hash of states: the next cursor, and the fields without their values. A hash that contains no
-- state is deleted.
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local fields = {}
for i = 1, #page[2], 2 do
  if page[2][i] ~= '' then fields[#fields + 1] = page[2][i] end
end
if #fields == 0 and ARGV[1] == '0' and page[1] == '0' then redis.call('DEL', KEYS[1]) end
return { page[1], fields }
