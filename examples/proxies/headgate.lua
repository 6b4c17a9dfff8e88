-- Asks Headgate about each request, and answers a denied one in its place.
local authorize = "http://127.0.0.1:8003/v1/authorize" -- the section "listen headgate"

-- What to do if there is no decision, because Headgate is unreachable or does not trust this proxy:
-- "open" lets the request pass, "closed" answers 503.
local undecided = "open"

-- Headers of Headgate's answer that are passed on to clients.
local passed = { "ratelimit", "ratelimit-policy", "retry-after", "cache-control", "content-type", "x-request-id" }

-- Headers that describe the request to Headgate. Only this script may set them.
local described = {
    "x-original-url", "x-original-uri", "x-original-method", "x-forwarded-uri", "x-forwarded-host",
    "x-forwarded-method", "x-forwarded-for", "forwarded", "x-real-ip",
}

-- Headers that belong to the connection or to the body, which is not sent.
local own = { "connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer", "keep-alive" }

core.register_action("headgate", { "http-req" }, function(txn)
    local headers = {}
    for name, values in pairs(txn.http:req_get_headers()) do
        headers[name] = {}
        for _, value in pairs(values) do
            table.insert(headers[name], value)
        end
    end
    for _, names in ipairs({ described, own }) do
        for _, name in ipairs(names) do
            headers[name] = nil
        end
    end
    headers["x-forwarded-method"] = { txn.f:method() }
    headers["x-forwarded-uri"] = { txn.f:pathq() }
    headers["x-forwarded-host"] = headers["host"]
    headers["x-forwarded-for"] = { txn.f:src() }

    local answer = core.httpclient():get({ url = authorize, headers = headers, timeout = 1000 })
    -- Every response from Headgate has an X-Request-Id. A 403 is not a decision: it means that Headgate does not trust
    -- this proxy.
    local decided = answer.headers and answer.headers["x-request-id"] and answer.status < 500 and answer.status ~= 403
    if not decided and undecided == "open" then
        return
    end
    if decided and answer.status == 200 then
        for _, name in ipairs({ "ratelimit", "ratelimit-policy" }) do
            if answer.headers[name] then
                txn:set_var("txn." .. name:gsub("-", "_"), answer.headers[name][0])
            end
        end
        return
    end
    if not decided then
        txn:done(txn:reply({ status = 503, headers = { ["cache-control"] = { "no-store" } }, body = "it is not known whether the request is within its limits\n" }))
    end
    local reply = txn:reply({ status = answer.status, body = answer.body })
    for _, name in ipairs(passed) do
        if answer.headers and answer.headers[name] then
            reply:add_header(name, answer.headers[name][0])
        end
    end
    txn:done(reply)
end)
