// Package engine is the contract between callers and stores. A store takes an [Op] and
// returns an [Answer].
//
//	Op, Charge, Limit   an operation, its charges, and how much is allowed
//	Answer, Promise     the decision, and how exact it is
//	Store               decides operations: memstore, redisstore, and the layers
//	Coordinator         lets the processes that share a store find one another
//	algo                the arithmetic: every store runs the same steps
//
// Stores and layers import this package and algo, but never package headgate. Programs import package headgate, which
// turns an Answer into its Decision.
//
//	op.go, kind.go, charge.go   an operation; decide.go how every store handles one
//	answer.go, promise.go       what was decided
//	limit.go, rate.go           a limit; build*.go make it of its options and check it
//	field*.go                   the table of a limit's fields; text*.go its text form
//	reservation*.go, open.go    reservations, and those that the store keeps open
//	share.go, class.go, pool.go parts of a limit: of a process, below a class, of a key
//	store.go, coordinator.go    the interfaces; bind.go the optional one of stores in memory
//	errors.go, check.go         what is refused
package engine
