// Package model defines every decision as plainly as possible: it applies the rules of docs/design/rules.md to the
// state of one subject, without stores, clocks, locks or optimizations. Production code is tested against it, so it
// shares nothing with production code, not even the types of a limit.
//
// It follows the literal reading of the specification. Where that page leaves a choice, a comment in the code states
// the choice.
package model
