-- Reads the time: now is the server's time in µs. count is the number of arguments. pad is how much longer a key lives
-- than its state, in ms. Redis 8 counts a TTL from the start of the command, in whole ms. The start can be some µs
-- before the answer to TIME, or more if the process was interrupted in between.
local clock = redis.call('TIME')
local now, pad, count = clock[1] * 1000000 + clock[2], 100, #ARGV
