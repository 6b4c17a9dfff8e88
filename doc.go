// Package headgate decides, for any key, whether a request may pass now.
//
// A [Limit] sets how many units are allowed: [TokenBucket] (also [GCRA], [LeakyBucket], [Funnel]), [Pacer],
// [FixedWindow], [SlidingWindow], [SlidingLog], [Concurrency]. A [Policy] is one or several limits under a name. A
// [Limiter] decides, in memory or in a store shared by several processes, and returns a [Decision]:
//
//	limiter := headgate.New()
//	api := limiter.Policy("api", headgate.TokenBucket{Rate: headgate.PerSecond(100), Burst: 200})
//	decision, err := api.Allow(ctx, "laoqian")
//	if err != nil { … }        // the decision is not known
//	if !decision.Allowed { … } // retry after decision.RetryAfter
//
// Unnamed limits of the same algorithm and grid share a counter on a key, unless they
// belong to different policies: see [Limit].
//
// # Guarantees
//
// All arithmetic is in whole microseconds and whole units, without floats. Each decision carries its [Promise]: how
// it was made, and by how many units it can exceed the limit at most. The store's clock decides. Setting that clock
// back gives no caller extra units. A denial is a decision; an error means that the decision is not known.
// [Decision.Err] turns a denial into an error for callers that prefer one.
//
// # Deadlines
//
// Every verb respects the deadline of its context. A call without a deadline still returns: immediately in memory,
// and on Redis when the client gives up its connection (headgate/adapter/rueidis does after 5 s without an answer).
//
// # The packages
//
//	headgate                  what programs import: limits, policies, the limiter
//	headgate/engine           the contract with stores; headgate/engine/algo, the arithmetic
//	headgate/memstore         a store in the memory of one process
//	headgate/redisstore       a store on Redis, shared by any number of processes
//	headgate/layer/batch      group commit in front of a store
//	headgate/layer/denycache  denials repeated in this process, for a stated time
//	headgate/layer/prefetch   units of hot keys taken ahead, with a stated bound
//	headgate/layer/stack      these layers in their order
//	headgate/headgatetest     a clock that tests set by hand
//	headgate/storetest        the cases that every store passes
//
// All of them import only the standard library. Separate modules bring a Redis client:
// headgate/open opens a store by its URL with the layers that the server has, and
// headgate/adapter/rueidis and headgate/adapter/goredis adapt a client.
package headgate
