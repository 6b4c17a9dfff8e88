package resp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// maxName is the maximum length of a command's name, in bytes.
const maxName = 64

// Spec describes a command. The server checks Arity. Clients receive the other fields from COMMAND.
type Spec struct {
	// Name is the name in lower case. Clients may use any case.
	Name string

	// Arity is the number of words, including the name: 3 means exactly three, -3 three or more.
	Arity int

	// Flags lists Redis's flags, such as "readonly", "write" and "fast". COMMAND returns them; they have no effect
	// here.
	Flags []string

	// FirstKey and LastKey are the positions of the first and the last key among the words, and KeyStep is the
	// distance between keys. A negative LastKey counts from the end. All three are 0 if the command has no keys.
	FirstKey, LastKey, KeyStep int

	// Syntax lists the arguments as clients show them, with optional arguments in brackets: "key max_burst count period
	// [quantity]".
	Syntax string

	// Summary describes the command in one sentence.
	Summary string

	// Group is the heading for the command in lists that clients show.
	Group string
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

	about [wire.RESP3 + 1]about // by protocol version
}

// table holds commands by their lower-case names.
type table map[string]*command

func inGroup(group string, commands ...*command) []*command {
	for _, cmd := range commands {
		cmd.Group = group
	}
	return commands
}

func newTable(decisions []DecisionCommand) (table, error) {
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
	var errs []error
	for i := range decisions {
		switch spec := decisions[i].Spec; {
		case spec.Name == "" || len(spec.Name) > maxName || spec.Name != strings.ToLower(spec.Name) || strings.Contains(spec.Name, "|"):
			errs = append(errs, fmt.Errorf("resp: %q cannot be the name of a command", spec.Name))
		case t[spec.Name] != nil:
			errs = append(errs, fmt.Errorf("resp: command %q is registered twice", spec.Name))
		default:
			t[spec.Name] = &command{Spec: spec, decision: &decisions[i]}
		}
	}
	return t, errors.Join(errs...)
}

// sorted returns the commands sorted by name.
func (t table) sorted() []*command {
	all := make([]*command, 0, len(t))
	for _, cmd := range t {
		all = append(all, cmd)
	}
	slices.SortFunc(all, func(a, b *command) int { return strings.Compare(a.Name, b.Name) })
	return all
}
