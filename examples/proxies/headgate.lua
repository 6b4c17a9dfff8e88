-- Asks Headgate about each request, and answers a denied one in its place.
local authorize = "http://127.0.0.1:8003/v1/authorize" -- the section "listen headgate"

-- What to do if there is no decision, because Headgate is unreachable or its store is away: "open" lets the request
-- pass, "closed" answers 503. Every other answer than 200 is a refusal, also one that Headgate's HTTP server gives to
-- a request that it cannot read: otherwise a client could pass by sending such a request.
local undecided = "open"

-- Headers of Headgate's answer that are passed on to clients.
local passed = { "ratelimit", "ratelimit-policy", "retry-after", "cache-control", "content-type", "x-request-id" }

-- What HAProxy's client can send, less than the defaults of tune.http.maxhdr and tune.bufsize: a client that exceeds
-- it would otherwise cause an error, and pass.
local most_lines, most_bytes = 80, 12288

-- Headers that describe the request to Headgate. Only this script may set them.
local described = {
    "host", "x-original-url", "x-original-uri", "x-original-method", "x-forwarded-uri", "x-forwarded-host",
    "x-forwarded-method", "x-forwarded-for", "forwarded", "x-real-ip",
}

-- Headers that belong to the connection or to the body, which is not sent.
local own = { "connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer", "keep-alive" }

-- The header lines of the request, or nil if there are too many. HAProxy's tables begin at 0.
local function headers_of(txn)
    local headers, lines, bytes = {}, 0, #txn.f:pathq() + #(txn.f:req_hdr("host") or "")
    for name, values in pairs(txn.http:req_get_headers()) do
        headers[name] = {}
        for i = 0, #values do
            table.insert(headers[name], values[i])
            lines, bytes = lines + 1, bytes + #name + #values[i] + 8
        end
    end
    if lines > most_lines or bytes > most_bytes then
        return nil
    end
    return headers
end

-- Asks Headgate. Returns 200, the status of the refusal, or 503, and the answer.
local function ask(txn)
    local headers = headers_of(txn)
    if not headers then
        return 431
    end
    local host = headers["host"]
    for _, names in ipairs({ described, own }) do
        for _, name in ipairs(names) do
            headers[name] = nil
        end
    end
    headers["x-forwarded-method"] = { txn.f:method() }
    headers["x-forwarded-uri"] = { txn.f:pathq() }
    headers["x-forwarded-host"] = host
    headers["x-forwarded-for"] = { txn.f:src() }
    local answer = core.httpclient():get({ url = authorize, headers = headers, timeout = 1000 })
    local status = answer.status or 0
    if status < 200 or status >= 500 then
        return 503, answer
    end
    return status, answer
end

core.register_action("headgate", { "http-req" }, function(txn)
    -- After an error in an action HAProxy continues with the request, so ask may fail only here.
    local ran, status, answer = pcall(ask, txn)
    if not ran then
        core.Alert("headgate.lua: " .. tostring(status))
        txn:done(txn:reply({ status = 400, headers = { ["cache-control"] = { "no-store" } }, body = "the request cannot be decided\n" }))
    end
    if status == 200 then
        for _, name in ipairs({ "ratelimit", "ratelimit-policy" }) do
            if answer.headers[name] then
                txn:set_var("txn." .. name:gsub("-", "_"), answer.headers[name][0])
            end
        end
        return
    end
    if status == 503 then
        if undecided == "open" then
            return
        end
        txn:done(txn:reply({ status = 503, headers = { ["cache-control"] = { "no-store" } }, body = "it is not known whether the request is within its limits\n" }))
    end
    local reply = txn:reply({ status = status, body = answer and answer.body })
    for _, name in ipairs(passed) do
        if answer and answer.headers and answer.headers[name] then
            reply:add_header(name, answer.headers[name][0])
        end
    end
    txn:done(reply)
end)
