-- Tells scripts the time: now is the time of the server in µs. count is the number of arguments. pad, in ms, is how much longer than its
-- state a key lives: Redis 8 counts a TTL from the start of the command, in whole ms, which can be some µs before TIME answers, and more if
-- the process was interrupted in between.
local clock = redis.call('TIME')
local now, pad, count = clock[1] * 1000000 + clock[2], 100, #ARGV
