// Package headgate decides, for any key, whether a request may pass now.
//
// A [Limit] sets how many units are allowed: [TokenBucket] (also known as GCRA, leaky bucket and funnel),
// [AdaptiveRate], [Pacer], [WarmUp], [FairShare], [FairPacer], [FixedWindow], [SlidingWindow], [SlidingLog] or
// [Penalty]. A [Policy] has a name and one or more limits. A [Semaphore] bounds the units held at the same time. A
// [Limiter] decides, in memory or in a store shared by several processes, and returns a [Decision]:
//
//	limiter := headgate.New()
//	api := limiter.Policy("api", headgate.TokenBucket{Rate: headgate.PerSecond(100), Burst: 200})
//	decision, err := api.Allow(ctx, "laoqian")
//	if err != nil { … }        // the decision is not known
//	if !decision.Allowed { … } // retry after decision.RetryAfter
//
// # The packages
//
// For web programs:
//
//	headgate                  limits, policies, semaphores, the limiter
//	headgate/httplimit        middleware for net/http; gin, echo, fiber, Connect and gRPC are in headgate/adapter
//	headgate/httpclient       a client that stays within the limits of other servers
//	headgate/policy           limits and routes in a file
//	headgate/headgatetest     a clock, assertions and a recording limiter for tests
//
// For several processes that share limits through Redis:
//
//	headgate/open             opens a store by its URL or on a Redis client, with the same layers as in the server
//	headgate/adapter/rueidis  adapts a Redis client, as does headgate/adapter/goredis
//	headgate/redisstore       the store on Redis
//	headgate/layer/stack      layers around a store: group commit (layer/batch), prefetched units of hot
//	                          keys (layer/prefetch), and shares during an outage (layer/fallback)
//
// For other stores:
//
//	headgate/engine           the interface of stores; headgate/engine/algo has the arithmetic
//	headgate/memstore         the store in the memory of one process
//	headgate/storetest        the tests that every store must pass
//
// httpclient, policy, open and the adapters are separate modules. The others import only the standard library.
//
// # Guarantees
//
// All arithmetic is in whole microseconds and whole units, without floats. Each decision has a [Decision].Promise,
// which states how it was made, and by how many units at most it can exceed the limit. The store's clock decides.
// Setting that clock back gives no caller extra units. A denial is a decision; an error means that the decision is not
// known. [Decision.Err] turns a denial into an error for callers that prefer one.
//
// # Deadlines
//
// Every method respects the deadline of its context. A call without a deadline also returns: in memory immediately, and
// on Redis when the client gives up on its connection (headgate/adapter/rueidis does so after 5 s without an answer). Calls that give units back or
// settle them (Release, Cancel, Commit) are made even if the context has ended: they then take at most a second.
package headgate
