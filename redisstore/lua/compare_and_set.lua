-- Sets a value if its version is the expected one. A stored value consists of a format byte, its
-- version and its text. It has no TTL, because processes rely on it until they replace it.
local key, expected = KEYS[1], tonumber(ARGV[1])
local value, version, _ = redis.call('GET', key), 0, nil
if value then
  if #value < 9 or string.byte(value) ~= 1 then
    return { err = (string.byte(value) or 0) == 2 and 'NEWER 2' or 'GARBAGE ' .. #value }
  end
  _, version = struct.unpack('>BI8', value)
end
if version ~= expected then return { 0, version } end
-- The version is at least the time, so a server that has lost its data never repeats a version.
version = math.max(version + 1, now)
redis.call('SET', key, struct.pack('>BI8', 1, version) .. ARGV[2])
return { 1, version }
