package servicetest

import (
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/service"
)

func take(policy, key string, cost int64) Request {
	return Request{Kind: engine.OpAllow, Policy: policy, Key: key, Cost: cost}
}

func with(kind engine.Kind, r Request) Request {
	r.Kind = kind
	return r
}

func in(class string, r Request) Request {
	r.Class = class
	return r
}

func throttle(key string, capacity, count, period, quantity int64) Request {
	return Request{Kind: engine.OpAllow, Throttle: [3]int64{capacity, count, period}, Key: key, Cost: quantity}
}

func reserve(policy, key string, cost, maxDelay int64) Request {
	return Request{Kind: engine.OpReserve, Policy: policy, Key: key, Cost: cost, MaxDelay: maxDelay}
}

func commit(of int, actual int64) Request {
	return Request{Kind: engine.OpSettle, Of: of, Cost: actual, Commits: true}
}

func cancel(of int) Request { return Request{Kind: engine.OpSettle, Of: of} }

func acquire(policy, key string, units int64) Request {
	return Request{Kind: engine.OpAcquire, Policy: policy, Key: key, Cost: units}
}

func holder(kind engine.Kind, policy, key string, of int) Request {
	return Request{Kind: kind, Policy: policy, Key: key, Of: of, Cost: -1}
}

func failed(code service.Code) Answer { return Answer{Failed: true, Code: code} }

var cases = []testCase{
	{
		name: "inline bucket", why: "the worked example of CL.THROTTLE",
		steps: []step{
			{request: throttle("k", 5, 1, 1, 6), want: Answer{Limit: 5, Remaining: 5, Never: true}},
			{request: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 1}},
			{request: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Limit: 5, Remaining: 3, ResetSeconds: 2}},
			{request: throttle("k", 5, 1, 1, 3), want: Answer{Allowed: true, Limit: 5, Remaining: 0, ResetSeconds: 5}},
			{request: throttle("k", 5, 1, 1, 1), want: Answer{Limit: 5, RetrySeconds: 1, ResetSeconds: 5}},
			{request: throttle("k", 5, 1, 1, 0), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 5}},
			{after: 3 * time.Second, request: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Limit: 5, Remaining: 2, ResetSeconds: 3}},
		},
	},
	{
		name: "waits are ceilings", why: "a retry after exactly the wait passes (rule 3)",
		steps: []step{
			{request: throttle("k", 1, 3, 1, 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1}},
			{request: throttle("k", 1, 3, 1, 1), want: Answer{Limit: 1, RetrySeconds: 1, ResetSeconds: 1}},
			{after: time.Second, request: throttle("k", 1, 3, 1, 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1}},
		},
	},
	{
		name: "policy", why: "the key laoqian of the article: 5 in 60 s, exactly",
		steps: []step{
			{request: take("reply", "laoqian", 4), want: Answer{Allowed: true, Limit: 5, Remaining: 1, ResetSeconds: 60}},
			{request: take("reply", "laoqian", 2), want: Answer{Limit: 5, Remaining: 1, RetrySeconds: 60, ResetSeconds: 60}},
			{request: with(engine.OpPeek, take("reply", "laoqian", 1)), want: Answer{Allowed: true, Limit: 5, Remaining: 1, ResetSeconds: 60}},
			{request: take("reply", "laoqian", -1), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
			{request: take("reply", "other", -1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
	{
		name: "default cost and overrides", why: "a policy's cost applies where a request names none; an exact key beats a pattern",
		steps: []step{
			{request: take("bucket", "joe", -1), want: Answer{Allowed: true, Limit: 20, Remaining: 18, ResetSeconds: 1}},
			{request: take("bucket", "partner-x", 1), want: Answer{Allowed: true, Limit: 200, Remaining: 199, ResetSeconds: 1}},
			{request: take("bucket", "partner-bad", 1), want: Answer{Never: true}},
		},
	},
	{
		name: "pacer", why: "an allowed request has its delay",
		steps: []step{
			{request: take("pace", "k", 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1}},
			{request: take("pace", "k", 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1, DelayMillis: 500}},
			{request: take("pace", "k", 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 2, DelayMillis: 1000}},
			{request: take("pace", "k", 1), want: Answer{Limit: 1, RetrySeconds: 1, ResetSeconds: 2}},
		},
	},
	{
		name: "calendar", why: "the day in Shanghai ends at 16:00 UTC",
		steps: []step{
			{after: 15 * time.Hour, request: take("day", "k", 3), want: Answer{Allowed: true, Limit: 3, ResetSeconds: 3600}},
			{request: take("day", "k", 1), want: Answer{Limit: 3, RetrySeconds: 3600, ResetSeconds: 3600}},
			{after: time.Hour, request: take("day", "k", 1), want: Answer{Allowed: true, Limit: 3, Remaining: 2, ResetSeconds: 86400}},
		},
	},
	{
		name: "all", why: "all or nothing; a policy inside all has the same counter as alone",
		steps: []step{
			{request: take("both", "k", 3), want: Answer{Allowed: true, Limit: 5, Remaining: 2, ResetSeconds: 60}},
			{request: take("reply", "k", 2), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
			{request: take("both", "k", 1), want: Answer{Limit: 5, RetrySeconds: 60, ResetSeconds: 60}},
		},
	},
	{
		name: "first", why: "the first limit with room pays, whole; a denial waits for the one that has room first",
		steps: []step{
			{request: take("calls", "k", 2), want: Answer{Allowed: true, Limit: 3, Remaining: 1, ResetSeconds: 2592000, Paid: "month"}},
			{request: take("calls", "k", 2), want: Answer{Allowed: true, Limit: 5, Remaining: 3, ResetSeconds: 3155760000, Paid: "credit"}},
			{request: with(engine.OpPeek, take("calls", "k", 1)), want: Answer{Allowed: true, Limit: 3, Remaining: 1, ResetSeconds: 2592000, Paid: "month"}},
			{request: take("month", "k", 1), want: Answer{Allowed: true, Limit: 3, ResetSeconds: 2592000}},
			{request: take("calls", "k", 4), want: Answer{Limit: 5, Remaining: 3, RetrySeconds: 3155760000, ResetSeconds: 3155760000}},
			{request: take("calls", "k", 3), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 3155760000, Paid: "credit"}},
			{request: take("calls", "k", 3), want: Answer{Limit: 3, RetrySeconds: 2592000, ResetSeconds: 2592000}},
		},
	},
	{
		name: "classes", why: "a class leaves units to those before it; one that is not known is the last; a key can have its own",
		steps: []step{
			{request: in("batch", take("lanes", "k", 7)), want: Answer{Allowed: true, Limit: 7, ResetSeconds: 3600}},
			{request: in("batch", take("lanes", "k", 1)), want: Answer{Limit: 7, RetrySeconds: 3600, ResetSeconds: 3600}},
			{request: in("live", with(engine.OpPeek, take("lanes", "k", 1))), want: Answer{Allowed: true, Limit: 10, Remaining: 3, ResetSeconds: 3600}},
			{request: in("live", take("lanes", "k", 3)), want: Answer{Allowed: true, Limit: 10, ResetSeconds: 3600}},
			{request: take("lanes", "other", 5), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 3600}},
			{request: in("unheard-of", take("lanes", "other", 1)), want: Answer{Limit: 5, RetrySeconds: 3600, ResetSeconds: 3600}},
			{request: in("idle", take("lanes", "live-1", 10)), want: Answer{Allowed: true, Limit: 10, ResetSeconds: 3600}},
			{request: in("idle", take("reply", "k", 5)), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
		},
	},
	{
		name: "classes of permits and reservations", why: "they are held and settled as without classes",
		steps: []step{
			{request: in("batch", acquire("slots", "k", 2)), want: Answer{Allowed: true, Limit: 2, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: in("batch", acquire("slots", "k", 1)), want: Answer{Limit: 2, RetrySeconds: 30, ResetSeconds: 30}},
			{request: in("live", acquire("slots", "k", 2)), want: Answer{Allowed: true, Limit: 4, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: in("batch", reserve("lanes", "k", 7, -1)), want: Answer{Allowed: true, Limit: 7, ResetSeconds: 3600, Handle: some}},
			{request: in("batch", reserve("lanes", "k", 1, -1)), want: Answer{Limit: 7, RetrySeconds: 3600, ResetSeconds: 3600}},
			{request: commit(4, 2), want: Answer{Found: true}},
			{request: in("batch", list(engine.OpAllow, Charge{"lanes", "k", 5}, Charge{"reply", "k", 1})), want: Answer{Allowed: true, Limit: 7, ResetSeconds: 3600, Limits: "lanes.0: 0 left, reply.1: 4 left"}},
		},
	},
	{
		name: "no limit and deny all", why: "deny, unlimited, shadows and disabled policies charge no request",
		steps: []step{
			{request: take("nobody", "k", 1), want: Answer{Never: true}},
			{request: take("anyone", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{request: take("off", "k", 5), want: Answer{Allowed: true, Unlimited: true}},
			{request: take("quiet", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{request: take("quiet", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
		},
	},
	{
		name: "give and reset", why: "units come back, and never more than were spent",
		steps: []step{
			{request: take("reply", "k", 5), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
			{request: with(engine.OpGive, take("reply", "k", 2)), want: Answer{Remaining: 2}},
			{request: with(engine.OpReset, take("reply", "k", -1)), want: Answer{Found: true}},
			{request: with(engine.OpReset, take("reply", "k", -1)), want: Answer{}},
		},
	},
	{
		name: "read only", why: "without --allow-writes a client cannot reset its own key", readOnly: true,
		steps: []step{
			{request: with(engine.OpGive, take("reply", "k", 1)), want: failed(service.Forbidden)},
			{request: with(engine.OpReset, take("reply", "k", -1)), want: failed(service.Forbidden)},
			{request: take("reply", "k", 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
	{
		name: "store away", why: "known bug 44: a failure mode answers takes and peeks only", away: true,
		steps: []step{
			{request: take("open", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{request: with(engine.OpPeek, take("open", "k", 1)), want: Answer{Allowed: true, Unlimited: true}},
			{request: with(engine.OpGive, take("open", "k", 1)), want: failed(service.Unavailable)},
			{request: with(engine.OpReset, take("open", "k", -1)), want: failed(service.Unavailable)},
			{request: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Unlimited: true}},
			{request: with(engine.OpReset, throttle("k", 5, 1, 1, -1)), want: failed(service.Unavailable)},
			{request: take("reply", "k", 1), want: failed(service.Unavailable)},
			{request: with(engine.OpReset, take("reply", "k", -1)), want: failed(service.Unavailable)},
			{request: take("quiet", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{request: with(engine.OpGive, take("quiet", "k", 1)), want: failed(service.Unavailable)},
			{request: with(engine.OpReset, take("quiet", "k", -1)), want: failed(service.Unavailable)},
		},
	},
	{
		name: "reserve, then commit", why: "what was not used comes back, what was used beyond it is charged, and a second settlement changes nothing",
		steps: []step{
			{request: reserve("bucket", "k", 12, -1), want: Answer{Allowed: true, Limit: 20, Remaining: 8, ResetSeconds: 2, Handle: some}},
			{request: commit(1, 5), want: Answer{Found: true}},
			{request: commit(1, 0), want: Answer{}},
			{request: cancel(1), want: Answer{}},
			{request: with(engine.OpPeek, take("bucket", "k", 1)), want: Answer{Allowed: true, Limit: 20, Remaining: 15, ResetSeconds: 1}},
			{request: reserve("bucket", "k", 5, 0), want: Answer{Allowed: true, Limit: 20, Remaining: 10, ResetSeconds: 1, Handle: some}},
			{request: commit(6, 9), want: Answer{Found: true}},
			{request: with(engine.OpPeek, take("bucket", "k", 1)), want: Answer{Allowed: true, Limit: 20, Remaining: 6, ResetSeconds: 2}},
		},
	},
	{
		name: "reserve ahead, then cancel", why: "a bucket and a pacer tell when the units come; a cancelled slot is the next caller's",
		steps: []step{
			{request: reserve("bucket", "k", 20, 0), want: Answer{Allowed: true, Limit: 20, ResetSeconds: 2, Handle: some}},
			{request: reserve("bucket", "k", 5, 60_000), want: Answer{Allowed: true, Limit: 20, ResetSeconds: 3, DelayMillis: 500, Handle: some}},
			{request: reserve("bucket", "k", 5, 400), want: Answer{Limit: 20, RetrySeconds: 1, ResetSeconds: 3, DelayMillis: 1000}},
			{request: cancel(2), want: Answer{Found: true}},
			{request: reserve("bucket", "k", 5, 60_000), want: Answer{Allowed: true, Limit: 20, ResetSeconds: 3, DelayMillis: 500, Handle: some}},
			{request: reserve("bucket", "k", 21, -1), want: Answer{Limit: 20, Never: true, ResetSeconds: 3}},
			{request: reserve("pace", "p", 1, -1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1, Handle: some}},
			{request: reserve("pace", "p", 1, 60_000), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1, DelayMillis: 500, Handle: some}},
			{request: cancel(8), want: Answer{Found: true}},
			{request: reserve("both", "k", 3, -1), want: Answer{Allowed: true, Limit: 5, Remaining: 2, ResetSeconds: 60, Handle: some}},
			{request: cancel(10), want: Answer{Found: true}},
			{request: reserve("both", "k", 5, -1), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60, Handle: some}},
			{request: reserve("quiet", "k", 1, -1), want: Answer{Allowed: true, Unlimited: true, Handle: some}},
			{request: commit(13, 1), want: Answer{Found: true}},
			{request: reserve("nobody", "k", 1, -1), want: Answer{Never: true}},
			{request: reserve("bucket", "k", 5, -1), want: Answer{Limit: 20, RetrySeconds: 1, ResetSeconds: 3, DelayMillis: 1000}},
		},
	},
	{
		name: "permits", why: "units are held until they are released or expire, whoever may write", readOnly: true,
		steps: []step{
			{request: acquire("jobs", "k", 1), want: Answer{Allowed: true, Limit: 2, Remaining: 1, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: acquire("jobs", "k", -1), want: Answer{Allowed: true, Limit: 2, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: acquire("jobs", "k", 1), want: Answer{Limit: 2, RetrySeconds: 30, ResetSeconds: 30}},
			{after: 20 * time.Second, request: holder(engine.OpRenew, "jobs", "k", 1), want: Answer{Allowed: true}},
			{after: 15 * time.Second, request: holder(engine.OpRenew, "jobs", "k", 2), want: Answer{}},
			{request: acquire("jobs", "k", 1), want: Answer{Allowed: true, Limit: 2, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: holder(engine.OpRelease, "jobs", "k", 1), want: Answer{Found: true}},
			{request: holder(engine.OpRelease, "jobs", "k", 1), want: Answer{}},
			{request: acquire("jobs", "k", 3), want: Answer{Limit: 2, Remaining: 1, Never: true, ResetSeconds: 30}},
			{request: acquire("jobs", "banned", 1), want: Answer{Never: true}},
			{request: acquire("jobs", "vip", 1), want: Answer{Allowed: true, Unlimited: true, Handle: some}},
			{request: holder(engine.OpRenew, "jobs", "vip", 11), want: Answer{Allowed: true}},
			{request: acquire("pool", "k", 1), want: Answer{Allowed: true, Unlimited: true, Handle: some, LeaseMillis: 30000}},
			{request: acquire("pool", "k", 1), want: Answer{Allowed: true, Unlimited: true, Handle: some, LeaseMillis: 30000}},
			{request: holder(engine.OpRelease, "pool", "k", 13), want: Answer{Found: true}},
		},
	},
	{
		name: "fair permits", why: "keys divide the permits: each leaves some free, by its weight, and a new key gets one",
		steps: []step{
			{request: acquire("shared", "ann", 18), want: Answer{Allowed: true, Limit: 18, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: acquire("shared", "ann", 1), want: Answer{Limit: 18, RetrySeconds: 30, ResetSeconds: 30}},
			{request: acquire("shared", "bob", 1), want: Answer{Allowed: true, Limit: 18, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
			{request: acquire("shared", "bob", 1), want: Answer{Limit: 18, RetrySeconds: 30, ResetSeconds: 30}},
			{request: acquire("shared", "ann", 19), want: Answer{Limit: 18, Never: true, ResetSeconds: 30}},
			{request: holder(engine.OpRelease, "shared", "ann", 3), want: Answer{}},
			{request: holder(engine.OpRelease, "shared", "ann", 1), want: Answer{Found: true}},
			{request: acquire("shared", "vip", 16), want: Answer{Allowed: true, Limit: 19, Remaining: 2, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
		},
	},
	{
		name: "holds without a store", why: "reservations and permits are refused in every failure mode", away: true,
		steps: []step{
			{request: reserve("open", "k", 1, -1), want: failed(service.Unavailable)},
			{request: acquire("jobs", "k", 1), want: failed(service.Unavailable)},
		},
	},
	{
		name: "wrong verbs", why: "units of a concurrency limit are held, those of others are taken; a reservation is what the server has signed",
		steps: []step{
			{request: take("jobs", "k", 1), want: failed(service.WrongVerb)},
			{request: reserve("jobs", "k", 1, -1), want: failed(service.WrongVerb)},
			{request: acquire("bucket", "k", 1), want: failed(service.WrongVerb)},
			{request: acquire("jobs", "k", 0), want: failed(service.Invalid)},
			{request: reserve("bucket", "k", 0, -1), want: failed(service.Invalid)},
			{request: Request{Kind: engine.OpSettle, Handle: "AA.AQ"}, want: failed(service.Invalid)},
			{request: holder(engine.OpRenew, "jobs", "k", 1), want: failed(service.Invalid)},
		},
	},
	{
		name: "errors", why: "an invalid request is an error and changes nothing",
		steps: []step{
			{request: take("missing", "k", 1), want: failed(service.NotFound)},
			{request: take("reply", "", 1), want: failed(service.Invalid)},
			{request: take("quiet", "", 1), want: failed(service.Invalid)},
			{request: take("reply", strings.Repeat("x", 1025), 1), want: failed(service.Invalid)},
			{request: throttle("k", 1, 0, 1, 1), want: failed(service.WrongVerb)},
			{request: take("reply", strings.Repeat("x", 1024), 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
}
