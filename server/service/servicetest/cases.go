package servicetest

import (
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/service"
)

func take(policy, key string, cost int64) Request {
	return Request{Kind: engine.OpAllow, Policy: policy, Key: key, Cost: cost}
}

func with(kind engine.Kind, r Request) Request {
	r.Kind = kind
	return r
}

func throttle(key string, capacity, count, period, quantity int64) Request {
	return Request{Kind: engine.OpAllow, Throttle: [3]int64{capacity, count, period}, Key: key, Cost: quantity}
}

func failed(code service.Code) Answer { return Answer{Failed: true, Code: code} }

var cases = []testCase{
	{
		name: "inline bucket", why: "the worked example of CL.THROTTLE",
		steps: []step{
			{ask: throttle("k", 5, 1, 1, 6), want: Answer{Limit: 5, Remaining: 5, Never: true}},
			{ask: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 1}},
			{ask: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Limit: 5, Remaining: 3, ResetSeconds: 2}},
			{ask: throttle("k", 5, 1, 1, 3), want: Answer{Allowed: true, Limit: 5, Remaining: 0, ResetSeconds: 5}},
			{ask: throttle("k", 5, 1, 1, 1), want: Answer{Limit: 5, RetrySeconds: 1, ResetSeconds: 5}},
			{ask: throttle("k", 5, 1, 1, 0), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 5}},
			{after: 3 * time.Second, ask: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Limit: 5, Remaining: 2, ResetSeconds: 3}},
		},
	},
	{
		name: "waits are ceilings", why: "a client that comes back when told must pass (rule 3)",
		steps: []step{
			{ask: throttle("k", 1, 3, 1, 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1}},
			{ask: throttle("k", 1, 3, 1, 1), want: Answer{Limit: 1, RetrySeconds: 1, ResetSeconds: 1}},
			{after: time.Second, ask: throttle("k", 1, 3, 1, 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1}},
		},
	},
	{
		name: "policy", why: "the article's laoqian: 5 in 60 s, exactly",
		steps: []step{
			{ask: take("reply", "laoqian", 4), want: Answer{Allowed: true, Limit: 5, Remaining: 1, ResetSeconds: 60}},
			{ask: take("reply", "laoqian", 2), want: Answer{Limit: 5, Remaining: 1, RetrySeconds: 60, ResetSeconds: 60}},
			{ask: with(engine.OpPeek, take("reply", "laoqian", 1)), want: Answer{Allowed: true, Limit: 5, Remaining: 1, ResetSeconds: 60}},
			{ask: take("reply", "laoqian", -1), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
			{ask: take("reply", "other", -1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
	{
		name: "default cost and overrides", why: "a policy's cost applies where a request names none; an exact key beats a pattern",
		steps: []step{
			{ask: take("bucket", "joe", -1), want: Answer{Allowed: true, Limit: 20, Remaining: 18, ResetSeconds: 1}},
			{ask: take("bucket", "partner-x", 1), want: Answer{Allowed: true, Limit: 200, Remaining: 199, ResetSeconds: 1}},
			{ask: take("bucket", "partner-bad", 1), want: Answer{Never: true}},
		},
	},
	{
		name: "pacer", why: "an admitted caller is told his delay",
		steps: []step{
			{ask: take("pace", "k", 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1}},
			{ask: take("pace", "k", 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 1, DelayMillis: 500}},
			{ask: take("pace", "k", 1), want: Answer{Allowed: true, Limit: 1, ResetSeconds: 2, DelayMillis: 1000}},
			{ask: take("pace", "k", 1), want: Answer{Limit: 1, RetrySeconds: 1, ResetSeconds: 2}},
		},
	},
	{
		name: "calendar", why: "the day in Shanghai ends at 16:00 UTC",
		steps: []step{
			{after: 15 * time.Hour, ask: take("day", "k", 3), want: Answer{Allowed: true, Limit: 3, ResetSeconds: 3600}},
			{ask: take("day", "k", 1), want: Answer{Limit: 3, RetrySeconds: 3600, ResetSeconds: 3600}},
			{after: time.Hour, ask: take("day", "k", 1), want: Answer{Allowed: true, Limit: 3, Remaining: 2, ResetSeconds: 86400}},
		},
	},
	{
		name: "all", why: "all or nothing; a policy named in all is the same counter as alone",
		steps: []step{
			{ask: take("both", "k", 3), want: Answer{Allowed: true, Limit: 5, Remaining: 2, ResetSeconds: 60}},
			{ask: take("reply", "k", 2), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
			{ask: take("both", "k", 1), want: Answer{Limit: 5, RetrySeconds: 60, ResetSeconds: 60}},
		},
	},
	{
		name: "no limit and deny all", why: "constants, shadows and disabled policies decide without counting against anybody",
		steps: []step{
			{ask: take("nobody", "k", 1), want: Answer{Never: true}},
			{ask: take("anyone", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{ask: take("off", "k", 5), want: Answer{Allowed: true, Unlimited: true}},
			{ask: take("quiet", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{ask: take("quiet", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
		},
	},
	{
		name: "give and reset", why: "units come back, and never more than were spent",
		steps: []step{
			{ask: take("reply", "k", 5), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60}},
			{ask: with(engine.OpGive, take("reply", "k", 2)), want: Answer{Remaining: 2}},
			{ask: with(engine.OpReset, take("reply", "k", -1)), want: Answer{Found: true}},
			{ask: with(engine.OpReset, take("reply", "k", -1)), want: Answer{}},
		},
	},
	{
		name: "read only", why: "whoever may ask could reset himself", readOnly: true,
		steps: []step{
			{ask: with(engine.OpGive, take("reply", "k", 1)), want: failed(service.Forbidden)},
			{ask: with(engine.OpReset, take("reply", "k", -1)), want: failed(service.Forbidden)},
			{ask: take("reply", "k", 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
	{
		name: "store away", why: "known bug 44: a failure mode answers takes and peeks only", away: true,
		steps: []step{
			{ask: take("open", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{ask: with(engine.OpPeek, take("open", "k", 1)), want: Answer{Allowed: true, Unlimited: true}},
			{ask: with(engine.OpGive, take("open", "k", 1)), want: failed(service.Unavailable)},
			{ask: with(engine.OpReset, take("open", "k", -1)), want: failed(service.Unavailable)},
			{ask: throttle("k", 5, 1, 1, 1), want: Answer{Allowed: true, Unlimited: true}},
			{ask: with(engine.OpReset, throttle("k", 5, 1, 1, -1)), want: failed(service.Unavailable)},
			{ask: take("reply", "k", 1), want: failed(service.Unavailable)},
			{ask: with(engine.OpReset, take("reply", "k", -1)), want: failed(service.Unavailable)},
			{ask: take("quiet", "k", 1), want: Answer{Allowed: true, Unlimited: true}},
			{ask: with(engine.OpGive, take("quiet", "k", 1)), want: failed(service.Unavailable)},
			{ask: with(engine.OpReset, take("quiet", "k", -1)), want: failed(service.Unavailable)},
		},
	},
	{
		name: "errors", why: "a request at fault is told so and changes nothing",
		steps: []step{
			{ask: take("missing", "k", 1), want: failed(service.NotFound)},
			{ask: take("reply", "", 1), want: failed(service.Invalid)},
			{ask: take("quiet", "", 1), want: failed(service.Invalid)},
			{ask: take("reply", strings.Repeat("x", 1025), 1), want: failed(service.Invalid)},
			{ask: throttle("k", 1, 0, 1, 1), want: failed(service.WrongVerb)},
			{ask: take("reply", strings.Repeat("x", 1024), 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
}
