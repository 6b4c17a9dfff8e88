// Package headgate decides, for any key, whether a request may pass now.
//
// A [Limit] sets how many units are allowed: [TokenBucket] (also known as GCRA, leaky bucket and funnel), [Pacer],
// [WarmUp], [FairShare], [FixedWindow], [SlidingWindow], [SlidingLog] or [Penalty]. A [Policy] is one or several limits under a
// name, and a [Semaphore] bounds the units held at the same time. A [Limiter] decides, in memory or in a store shared by
// several processes, and returns a [Decision]:
//
//	limiter := headgate.New()
//	api := limiter.Policy("api", headgate.TokenBucket{Rate: headgate.PerSecond(100), Burst: 200})
//	decision, err := api.Allow(ctx, "laoqian")
//	if err != nil { … }        // the decision is not known
//	if !decision.Allowed { … } // retry after decision.RetryAfter
//
// # The packages
//
// Where a web program begins:
//
//	headgate                  limits, policies, semaphores, the limiter
//	headgate/httplimit        middleware for net/http; gin, echo, fiber, Connect and gRPC are in headgate/adapter
//	headgate/httpclient       a client that keeps the limits of other servers
//	headgate/policy           limits and routes in a file
//	headgate/dashboard        a page for operators: which keys are limited, and why
//	headgate/headgatetest     a clock, assertions and a recording limiter for tests
//
// Several processes share limits through Redis:
//
//	headgate/open             opens a store by its URL, with the layers that the server has
//	headgate/adapter/rueidis  adapts a client of Redis, like headgate/adapter/goredis
//	headgate/redisstore       the store on Redis
//	headgate/layer/stack      layers in front of a store: group commit (layer/batch), denials repeated in this process
//	                          (layer/denycache), units of hot keys taken ahead (layer/prefetch), shares in an outage
//	                          (layer/fallback)
//
// For other stores:
//
//	headgate/engine           the contract with stores; headgate/engine/algo, the arithmetic
//	headgate/memstore         the store in the memory of one process
//	headgate/storetest        the cases that every store passes
//
// httpclient, policy, dashboard, open and the adapters are separate modules. The others import only the standard
// library.
//
// # Guarantees
//
// All arithmetic is in whole microseconds and whole units, without floats. Each decision carries its
// [Decision].Promise: how it was made, and how far it can exceed the limit at most, in units. The store's
// clock decides. Setting that clock back gives no caller extra units. A denial is a decision; an error means that the
// decision is not known. [Decision.Err] turns a denial into an error for callers that prefer one.
//
// # Deadlines
//
// Every verb respects the deadline of its context. A call without a deadline still returns: immediately in memory,
// and on Redis when the client gives up its connection (headgate/adapter/rueidis does after 5 s without an answer).
package headgate
