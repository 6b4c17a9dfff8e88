// Package model defines every decision as plainly as possible: one subject's state and
// the rules of docs/design/rules.md over it, without stores, clocks, locks or tricks.
// Production code is tested against it, so it shares nothing with production code, not
// even the types of a limit.
//
// It prefers the literal reading of the specification. Where that page leaves a choice,
// the comment at that place names the choice.
package model
