package resp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxName is the longest name of a command, in bytes.
const maxName = 64

// Spec describes a command: to the server, which checks Arity, and to clients,
// which ask by COMMAND.
type Spec struct {
	// Name is in lower case; clients may write it in any.
	Name string

	// Arity is the number of words, the name included; a negative one is the
	// least number of them. 3: exactly three. -3: three or more.
	Arity int

	// Flags are Redis's words for what a command does, such as "readonly",
	// "write" and "fast". They are told to clients and have no effect here.
	Flags []string

	// FirstKey and LastKey are the positions of the first and last word that
	// is a key, and KeyStep the distance between keys. A negative LastKey
	// counts from the end. All are 0 for a command without keys.
	FirstKey, LastKey, KeyStep int

	// Syntax is the words after the name, as a client shows them: optional
	// ones in brackets, as in "key max_burst count period [quantity]".
	Syntax string

	// Summary is one sentence on what the command does.
	Summary string

	// Group is the heading under which clients list the command.
	Group string
}

// command is a command that the server knows.
type command struct {
	Spec

	// do answers the command: it appends one reply to c.out. words[0] is the
	// name. It is nil for a decision command, and for one that only has
	// subcommands.
	do       func(ctx context.Context, c *conn, words [][]byte)
	decision *Decision // of a decision command

	immediate bool  // answered at once even between MULTI and EXEC
	subs      table // subcommands by their own name; their Spec.Name is "client|id"
}

// table holds commands by their lower-case names.
type table map[string]*command

// inGroup puts commands under a heading.
func inGroup(group string, commands ...*command) []*command {
	for _, cmd := range commands {
		cmd.Group = group
	}
	return commands
}

// newTable returns the connection commands and the decision commands.
func newTable(decisions []Decision) (table, error) {
	t := make(table)
	for _, cmd := range slices.Concat(connectionCommands(), clientCommands(), introspectionCommands(), transactionCommands()) {
		parent, sub, isSub := strings.Cut(cmd.Name, "|")
		if !isSub {
			t[cmd.Name] = cmd
			continue
		}
		if t[parent].subs == nil {
			t[parent].subs = make(table)
		}
		t[parent].subs[sub] = cmd
	}
	var wrong []error
	for i := range decisions {
		switch spec := decisions[i].Spec; {
		case spec.Name == "" || len(spec.Name) > maxName || spec.Name != strings.ToLower(spec.Name) || strings.Contains(spec.Name, "|"):
			wrong = append(wrong, fmt.Errorf("resp: %q cannot be the name of a command", spec.Name))
		case t[spec.Name] != nil:
			wrong = append(wrong, fmt.Errorf("resp: command %q is registered twice", spec.Name))
		default:
			t[spec.Name] = &command{Spec: spec, decision: &decisions[i]}
		}
	}
	return t, errors.Join(wrong...)
}

// sorted returns the commands in the order of their names.
func (t table) sorted() []*command {
	all := make([]*command, 0, len(t))
	for _, cmd := range t {
		all = append(all, cmd)
	}
	slices.SortFunc(all, func(a, b *command) int { return strings.Compare(a.Name, b.Name) })
	return all
}
