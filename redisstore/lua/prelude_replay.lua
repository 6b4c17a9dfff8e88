-- The prelude for tests and for replayed answers. The last argument is now. Keys live an hour
-- longer than they count, so that they do not expire by the server's clock.
local now, pad, count = tonumber(ARGV[#ARGV]), 3600000, #ARGV - 1
