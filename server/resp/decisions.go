package resp

import (
	"context"
	"sync"

	"github.com/headgate/headgate/server/resp/wire"
)

// Decision is a command whose reply is made from decisions: it asks requests
// of type Q and gets an answer of type A to each.
type Decision[Q, A any] struct {
	Spec

	// Parse appends the requests that the command makes to dst: mostly one, or
	// one for each key of a command like DEL. The words were counted against
	// Arity; words[0] is the name. They may be kept until Decide returns, not
	// longer. An error becomes the reply, after the code "ERR"; the requests
	// are then dropped.
	Parse func(dst []Q, words [][]byte) ([]Q, error)

	// Reply appends exactly one reply to dst, made from the answers to the
	// requests that Parse appended, in their order. It must not keep answers.
	Reply func(dst []byte, p wire.Proto, answers []A) []byte
}

// Decisions is a set of decision commands and what decides them.
type Decisions interface {
	specs() []Spec
	begin() run
}

// NewDecisions returns the commands given, decided by decide.
//
// Decide sets answers[i] to the answer to requests[i], as if the requests were
// decided in their order; both have the same length, which is not 0, and
// answers begins as zero values. Consecutive commands that arrived together
// come in one call. Connections call it at the same time. It has to return
// soon after ctx ends, which happens only when Shutdown gives up waiting.
func NewDecisions[Q, A any](decide func(ctx context.Context, requests []Q, answers []A), commands ...Decision[Q, A]) Decisions {
	d := &decisions[Q, A]{decide: decide, commands: commands}
	d.runs.New = func() any { return &decisionRun[Q, A]{of: d} }
	return d
}

type decisions[Q, A any] struct {
	decide   func(ctx context.Context, requests []Q, answers []A)
	commands []Decision[Q, A]
	runs     sync.Pool // of *decisionRun[Q, A]; idle connections hold none
}

func (d *decisions[Q, A]) specs() []Spec {
	specs := make([]Spec, len(d.commands))
	for i, cmd := range d.commands {
		specs[i] = cmd.Spec
	}
	return specs
}

func (d *decisions[Q, A]) begin() run { return d.runs.Get().(*decisionRun[Q, A]) }

// run collects consecutive decision commands of one connection.
type run interface {
	// add adds a command by its number among the specs.
	add(decision int, words [][]byte)

	// finish decides what was added and appends a reply to each, in order. The
	// run must not be used afterwards.
	finish(ctx context.Context, dst []byte, p wire.Proto) []byte
}

type decisionRun[Q, A any] struct {
	of       *decisions[Q, A]
	calls    []call
	requests []Q
	answers  []A
}

// call is one command of a run: its requests are requests[from:to], unless err
// is its reply.
type call struct {
	decision int
	from, to int
	err      error
}

func (r *decisionRun[Q, A]) add(decision int, words [][]byte) {
	from := len(r.requests)
	requests, err := r.of.commands[decision].Parse(r.requests, words)
	if err == nil {
		r.requests = requests
	}
	r.calls = append(r.calls, call{decision: decision, from: from, to: len(r.requests), err: err})
}

func (r *decisionRun[Q, A]) finish(ctx context.Context, dst []byte, p wire.Proto) []byte {
	n := len(r.requests)
	if cap(r.answers) < n {
		r.answers = make([]A, n, cap(r.requests))
	}
	answers := r.answers[:n]
	if n > 0 {
		r.of.decide(ctx, r.requests, answers)
	}
	for _, c := range r.calls {
		if c.err != nil {
			dst = wire.AppendError(dst, "ERR "+c.err.Error())
			continue
		}
		dst = r.of.commands[c.decision].Reply(dst, p, answers[c.from:c.to:c.to])
	}
	clear(r.calls) // the pool keeps the memory, not what it refers to
	clear(r.requests)
	clear(answers)
	r.calls, r.requests = r.calls[:0], r.requests[:0]
	r.of.runs.Put(r)
	return dst
}
