local now, pad, count = tonumber(ARGV[#ARGV]), 3600000, #ARGV - 1
