package resp

import (
	"context"
	"slices"
)

// maxName is the maximum length of a command's name, in bytes.
const maxName = 64

// Spec describes a command. The server checks Arity. Clients receive the other fields from COMMAND.
type Spec struct {
	// Name is the name in lower case, of up to 64 bytes. Clients may use any case.
	Name string

	// Arity is the number of words, including the name: 3 means exactly three, -3 three or more.
	Arity int

	// Flags lists Redis's flags, such as "readonly", "write" and "fast". COMMAND returns them; they have no effect
	// here.
	Flags []string

	// FirstKey and LastKey are the positions of the first and the last key among the words, and KeyStep is the
	// distance between keys. A negative LastKey counts from the end. All three are 0 if the command has no keys.
	FirstKey, LastKey, KeyStep int
}

type command struct {
	Spec

	// do executes the command and appends one reply to c.out. words[0] is the name. do is nil for a decision command,
	// and for a command that only has subcommands.
	do       func(ctx context.Context, c *conn, words [][]byte)
	decision *DecisionCommand // nil for other commands

	immediate bool  // executed immediately, even between MULTI and EXEC
	open      bool  // needs no user
	subs      table // subcommands by their last word, although Spec.Name is "client|id"
}

// table holds commands by their lower-case names.
type table map[string]*command

func newTable(decisions []DecisionCommand) table {
	t := make(table)
	for _, cmd := range slices.Concat(connectionCommands(), []*command{clientCommand()}, introspectionCommands(), transactionCommands()) {
		t[cmd.Name] = cmd
	}
	for i := range decisions {
		t[decisions[i].Name] = &command{Spec: decisions[i].Spec, decision: &decisions[i]}
	}
	return t
}
