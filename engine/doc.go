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
package engine
