// Package headgate decides, for any key, whether a request may go in now.
//
// A [Limit] says how much: [TokenBucket] (also [GCRA], [LeakyBucket],
// [Funnel]), [Pacer], [FixedWindow], [SlidingWindow], [SlidingLog],
// [Concurrency]. A [Limiter] asks a [Store] and answers with a [Decision]:
//
//	store, err := memstore.New(memstore.Config{})
//	…
//	limiter := headgate.New(headgate.WithStore(store))
//	limit, err := headgate.TokenBucket(headgate.PerSecond(100), headgate.Burst(200))
//	…
//	decision, err := limiter.Allow(ctx, headgate.Key("laoqian", "reply"), limit)
//	if err != nil { … }      // the decision is not known
//	if !decision.Allowed { … } // come back after decision.RetryAfter
//
// # What is promised
//
// Everything is computed in whole microseconds and whole units; no float takes
// part. Each decision carries its [Promise]: how it was found, and by how many
// units at most it can have exceeded the limit. The store's clock decides, and
// nobody gains by a clock that is set back. A refusal is a decision, an error
// means that the decision is not known; [Decision.Err] turns a refusal into an
// error for those who like that.
//
// # The packages
//
//	headgate                what programs import: limits, decisions, the limiter
//	headgate/memstore       a store in the memory of one process
//	headgate/redisstore     a store on Redis, shared by any number of processes
//	headgate/batch          group commit in front of a store
//	headgate/near           refusals repeated nearby, for a stated time
//	headgate/lease          units of hot keys taken in advance, within a stated bound
//	headgate/headgatetest   a clock that tests turn by hand
//	headgate/storetest      the cases that every store passes
//	headgate/algo           the arithmetic, for those who write a store
//
// All of them import the standard library only. The modules
// headgate/adapter/rueidis, which opens a store by URL, and
// headgate/adapter/goredis bring a Redis client each.
package headgate
