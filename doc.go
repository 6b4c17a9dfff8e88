// Package headgate decides, for any key, whether a request may go in now.
//
// A [Limit] says how much: [TokenBucket] (also [GCRA], [LeakyBucket], [Funnel]), [Pacer],
// [FixedWindow], [SlidingWindow], [SlidingLog], [Concurrency]. A [Policy] is one or
// several limits under a name. A [Limiter] decides, in memory or in a store that
// processes share, and answers with a [Decision]:
//
//	limiter := headgate.New()
//	api := limiter.Policy("api", headgate.TokenBucket(headgate.PerSecond(100), headgate.Burst(200)))
//	decision, err := api.Allow(ctx, "laoqian")
//	if err != nil { … }        // the decision is not known
//	if !decision.Allowed { … } // come back after decision.RetryAfter
//
// Limits of the same algorithm and grid without a name share a counter on a key, unless
// they are in different policies: see [Limit].
//
// # What is promised
//
// Everything is computed in whole microseconds and whole units, without floats. Each
// decision carries its [Promise]: how it was found, and by how many units at most it can
// have exceeded the limit. The store's clock decides, and a clock that is set back gives
// nobody more. A denial is a decision; an error means that the decision is not known.
// [Decision.Err] turns a denial into an error for those who like that.
//
// # Deadlines
//
// Every verb keeps its context's deadline. A call without one ends too: in memory at
// once, and on Redis when the client gives its connection up, which
// headgate/adapter/rueidis does after 5 s without an answer.
//
// # The packages
//
//	headgate                  what programs import: limits, policies, the limiter
//	headgate/engine           the contract with stores; headgate/engine/algo, the arithmetic
//	headgate/memstore         a store in the memory of one process
//	headgate/redisstore       a store on Redis, shared by any number of processes
//	headgate/layer/batch      group commit in front of a store
//	headgate/layer/denycache  denials repeated in this process, for a stated time
//	headgate/layer/prefetch   units of hot keys taken ahead, within a stated bound
//	headgate/layer/stack      these layers in their order
//	headgate/headgatetest     a clock that tests turn by hand
//	headgate/storetest        the cases that every store passes
//
// All of them import the standard library only. Modules of their own bring a Redis
// client: headgate/open opens a store by URL with the layers that servers have, and
// headgate/adapter/rueidis and headgate/adapter/goredis adapt a client.
package headgate
