// Package engine is the contract between what asks for decisions and what makes
// them. An [Op] goes in, an [Outcome] comes out.
//
//	Op, Charge, Limit   what is asked, on which keys, and how much is allowed
//	Outcome, Promise    what was decided, and what can be relied on
//	Store               decides operations: memstore, redisstore, and the layers
//	Coordinator         lets the processes that share a store know of one another
//	algo                the arithmetic: every store runs the same steps
//
// Stores and layers import this package and nothing else of Headgate. Programs
// import package headgate, which makes its Decision from an Outcome.
package engine
