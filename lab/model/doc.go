// Package model defines every decision as plainly as possible: it applies the rules of docs/design/rules.md to the
// state of one subject, without stores, clocks, locks or optimizations. Production code is tested against it, so it
// shares nothing with production code, not even the types of limits.
//
// It follows the specification literally. Where the specification leaves a choice, a comment states which choice the
// model makes.
package model
