-- The prelude of tests and of replayed answers: the last argument is now, and keys live
-- an hour longer than they count, so that they do not expire by the clock of the server.
local now, pad, count = tonumber(ARGV[#ARGV]), 3600000, #ARGV - 1
