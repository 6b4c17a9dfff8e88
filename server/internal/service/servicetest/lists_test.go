package servicetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// Charge is one of several charges of a request.
type Charge struct {
	Policy, Key string
	Cost        int64 // −1 if the request states none
}

// LimitText formats the answer for one limit of several charges: its policy, the index of its first charge and the
// remaining units.
func LimitText(policy string, place int, remaining int64) string {
	return fmt.Sprintf("%s.%d: %d left", policy, place, remaining)
}

// LimitsText joins the texts of all limits, with the binding limit first.
func LimitsText(binding int, texts []string) string {
	for i := binding; i > 0; i-- {
		texts[i-1], texts[i] = texts[i], texts[i-1]
	}
	return strings.Join(texts, ", ")
}

// limitsOf returns the LimitsText of a response.
func limitsOf(r *decide.Response) string {
	if !r.Listed || r.Count() == 0 {
		return ""
	}
	var texts []string
	for i := range r.Count() {
		c := r.Charge(i)
		texts = append(texts, LimitText(c.Policy, c.FirstItem(), r.Of(i).Remaining))
	}
	return LimitsText(r.Binding, texts)
}

func list(kind engine.Kind, charges ...Charge) Request {
	return Request{Kind: kind, Charges: charges, Cost: -1, MaxDelay: -1}
}

func commitEach(of int, used ...int64) Request {
	return Request{Kind: engine.OpSettle, Of: of, Used: used, Commits: true}
}

// report returns a request that reports the units used so far. The argument of is the number of the step that reserved
// them.
func report(of int, used ...int64) Request {
	return Request{Kind: engine.OpSettle, Of: of, Used: used, Reports: true}
}

// allOrNothing returns a request with two charges.
func allOrNothing(kind engine.Kind, reply, bucket int64) Request {
	return list(kind, Charge{"reply", "ann", reply}, Charge{"bucket", "org", bucket})
}

// call returns a reserve request for one call. It charges one unit of "day", one of the two permits of "jobs", and the
// estimated tokens on "bucket".
func call(tokens int64) Request {
	return list(engine.OpReserve, Charge{"day", "ann", 1}, Charge{"jobs", "org", 1}, Charge{"bucket", "ann", tokens})
}

var listCases = []testCase{
	{
		name: "report on a reservation, then commit", why: "what was used so far is charged, and the time to settle begins again",
		steps: []step{
			{request: reserve("run", "k", 40, -1), want: Answer{Allowed: true, Limit: 100, Remaining: 60, ResetSeconds: 3600, Handle: some}},
			{after: 9 * time.Second, request: report(1, 50), want: Answer{Found: true}},
			{request: take("run", "k", 0), want: Answer{Allowed: true, Limit: 100, Remaining: 50, ResetSeconds: 3591}},
			{after: 9 * time.Second, request: report(1, 45), want: Answer{Found: true}},
			{after: 9 * time.Second, request: commitEach(1, 45), want: Answer{Found: true}},
			{request: take("run", "k", 0), want: Answer{Allowed: true, Limit: 100, Remaining: 50, ResetSeconds: 3573}},
			{request: report(1, 45), want: Answer{}},
			{request: reserve("run", "k", 40, -1), want: Answer{Allowed: true, Limit: 100, Remaining: 10, ResetSeconds: 3573, Handle: some}},
			{after: 10 * time.Second, request: report(8, 1), want: Answer{}},
			{request: commitEach(8, 1), want: Answer{}},
			{request: reserve("day", "k", 1, -1), want: Answer{Allowed: true, Limit: 3, Remaining: 2, ResetSeconds: 57563, Handle: some}},
			{request: report(11, 1), want: failed(service.Invalid)},
		},
	},
	{
		name: "several charges", why: "each charge has its key and its cost, and a policy's own where the request names none",
		steps: []step{
			{request: allOrNothing(engine.OpAllow, 2, -1), want: Answer{Allowed: true, Limit: 5, Remaining: 3, ResetSeconds: 60, Limits: "reply.0: 3 left, bucket.1: 18 left"}},
			{request: allOrNothing(engine.OpPeek, 3, 18), want: Answer{Allowed: true, Limit: 5, Remaining: 3, ResetSeconds: 60, Limits: "reply.0: 3 left, bucket.1: 18 left"}},
			{request: take("reply", "ann", 0), want: Answer{Allowed: true, Limit: 5, Remaining: 3, ResetSeconds: 60}},
			{request: take("bucket", "ann", 0), want: Answer{Allowed: true, Limit: 20, Remaining: 20}},
		},
	},
	{
		name: "denied by the second charge", why: "nothing is spent; the answer names the policy that denied, and what remains of each",
		steps: []step{
			{request: allOrNothing(engine.OpAllow, 1, 15), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60, Limits: "reply.0: 4 left, bucket.1: 5 left"}},
			{request: allOrNothing(engine.OpAllow, 1, 6), want: Answer{Limit: 20, Remaining: 5, RetrySeconds: 1, ResetSeconds: 2, Limits: "bucket.1: 5 left, reply.0: 4 left"}},
			{request: allOrNothing(engine.OpPeek, 1, 6), want: Answer{Limit: 20, Remaining: 5, RetrySeconds: 1, ResetSeconds: 2, Limits: "bucket.1: 5 left, reply.0: 4 left"}},
			{request: allOrNothing(engine.OpAllow, 1, 21), want: Answer{Limit: 20, Remaining: 5, Never: true, ResetSeconds: 2, Limits: "bucket.1: 5 left, reply.0: 4 left"}},
			{request: allOrNothing(engine.OpAllow, 4, 5), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60, Limits: "reply.0: 0 left, bucket.1: 0 left"}},
		},
	},
	{
		name: "one counter twice", why: "the costs are summed, also where each alone would pass",
		steps: []step{
			{request: list(engine.OpAllow, Charge{"reply", "ann", 2}, Charge{"reply", "ann", 1}), want: Answer{Allowed: true, Limit: 5, Remaining: 2, ResetSeconds: 60, Limits: "reply.0: 2 left"}},
			{request: list(engine.OpAllow, Charge{"reply", "ann", 2}, Charge{"both", "ann", 1}), want: Answer{Limit: 5, Remaining: 2, RetrySeconds: 60, ResetSeconds: 60, Limits: "reply.0: 2 left, both.1: 100 left"}},
			{request: list(engine.OpAllow, Charge{"reply", "ann", 2}, Charge{"reply", "bob", 2}), want: Answer{Allowed: true, Limit: 5, ResetSeconds: 60, Limits: "reply.0: 0 left, reply.1: 3 left"}},
		},
	},
	{
		name: "errors of several charges", why: "one charge that cannot be is an error, and nothing is spent",
		steps: []step{
			{request: list(engine.OpAllow, Charge{"reply", "ann", 1}, Charge{"missing", "org", 1}), want: failed(service.NotFound)},
			{request: list(engine.OpAllow, Charge{"reply", "ann", 1}, Charge{"bucket", "", 1}), want: failed(service.Invalid)},
			{request: list(engine.OpAllow, Charge{"reply", "ann", 1}, Charge{"jobs", "org", 1}), want: failed(service.WrongVerb)},
			{request: list(engine.OpReserve, Charge{"reply", "ann", 0}, Charge{"bucket", "org", 0}), want: failed(service.Invalid)},
			{request: take("reply", "ann", 1), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60}},
		},
	},
	{
		name: "several charges need no writes", why: "a client that may take may reserve, and settle what it has reserved", readOnly: true,
		steps: []step{
			{request: allOrNothing(engine.OpAllow, 1, 15), want: Answer{Allowed: true, Limit: 5, Remaining: 4, ResetSeconds: 60, Limits: "reply.0: 4 left, bucket.1: 5 left"}},
			{request: allOrNothing(engine.OpReserve, 1, 5), want: Answer{Allowed: true, Limit: 20, ResetSeconds: 2, Limits: "bucket.1: 0 left, reply.0: 3 left", Handle: some}},
			{request: cancel(2), want: Answer{Found: true}},
		},
	},
	{
		name: "several charges without a store", why: "the strictest failure mode of the policies answers", away: true,
		steps: []step{
			{request: list(engine.OpAllow, Charge{"open", "ann", 1}, Charge{"open", "org", 1}), want: Answer{Allowed: true, Unlimited: true}},
			{request: list(engine.OpAllow, Charge{"open", "ann", 1}, Charge{"reply", "org", 1}), want: failed(service.Unavailable)},
		},
	},
	{
		name: "reserve a list, then commit", why: "each charge has an actual of its own, more than was reserved too; the permit is released",
		steps: []step{
			{after: 15 * time.Hour, request: call(12), want: Answer{Allowed: true, Limit: 2, Remaining: 1, ResetSeconds: 30, Limits: "jobs.1: 1 left, day.0: 2 left, bucket.2: 8 left", Handle: some}},
			{request: call(5), want: Answer{Allowed: true, Limit: 2, ResetSeconds: 30, Limits: "jobs.1: 0 left, day.0: 1 left, bucket.2: 3 left", Handle: some}},
			{request: call(1), want: Answer{Limit: 2, RetrySeconds: 30, ResetSeconds: 30, Limits: "jobs.1: 0 left, day.0: 1 left, bucket.2: 3 left"}},
			{request: commitEach(1, 1, 0, 2), want: Answer{Found: true}},
			{request: commitEach(1, 0, 0, 0), want: Answer{}},
			{request: commitEach(2, 0, 1, 35), want: Answer{Found: true}},
			{request: list(engine.OpPeek, Charge{"day", "ann", 1}, Charge{"bucket", "ann", 1}), want: Answer{Limit: 20, RetrySeconds: 2, ResetSeconds: 4, Limits: "bucket.1: 0 left, day.0: 2 left"}},
			{after: 2 * time.Second, request: call(2), want: Answer{Allowed: true, Limit: 3, Remaining: 1, ResetSeconds: 3598, Limits: "day.0: 1 left, jobs.1: 1 left, bucket.2: 1 left", Handle: some}},
			{request: cancel(8), want: Answer{Found: true}},
			{request: acquire("jobs", "org", 2), want: Answer{Allowed: true, Limit: 2, ResetSeconds: 30, Handle: some, LeaseMillis: 30000}},
		},
	},
}
