// This program is a proxy for a language model. Each user has a budget of tokens per hour. The number of tokens that a
// call uses is known only after the call. The proxy therefore reserves the maximum before the call, so that concurrent
// calls cannot spend the same tokens twice. After the call, it commits the number of tokens used, and the rest is given
// back.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/open"
)

func main() {
	url := flag.String("store", open.Memory, "where counters are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

const (
	budget    = 10_000 // a user's tokens per hour
	maxAnswer = 4000   // the longest answer that a call may request
)

// prompt describes a call to the model.
type prompt struct {
	tokens, maxAnswer int64
}

// model answers a prompt, and returns the number of tokens used for the prompt and the answer.
type model func(ctx context.Context, p prompt) (used int64, err error)

// errBudget is the error for a call that exceeds the remaining budget.
var errBudget = errors.New("not enough tokens left")

// proxy calls the model on behalf of users.
type proxy struct {
	tokens *headgate.Policy
	model  model
}

// complete reserves the maximum number of tokens that the call can use, calls the model, and commits the tokens used.
// A failed call costs nothing.
func (p *proxy) complete(ctx context.Context, user string, call prompt) (used int64, err error) {
	most := call.tokens + min(cmp.Or(call.maxAnswer, maxAnswer), maxAnswer)
	reservation, d, err := p.tokens.Reserve(ctx, user, most)
	if err != nil {
		return 0, err
	}
	if reservation == nil {
		return 0, fmt.Errorf("%w: %d needed, %d left", errBudget, most, d.Remaining)
	}
	used, err = p.model(ctx, call)
	// The reservation must be settled even if the user has disconnected.
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err != nil {
		return 0, errors.Join(err, reservation.Cancel(settle))
	}
	_, err = reservation.Commit(settle, used)
	return used, err
}

func run(ctx context.Context, w io.Writer, url string) error {
	store, err := open.URL(ctx, url, open.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	// Each run has its own counters, which expire afterwards.
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-llm:"+rand.Text()))
	defer limiter.Close()
	tokens := limiter.Policy("tokens", headgate.FixedWindow{Rate: headgate.PerHour(budget)})
	s := &session{ctx: ctx, w: w, proxy: &proxy{tokens: tokens}}

	s.call("a short answer", "alice", prompt{tokens: 200, maxAnswer: 1000}, uses(450))
	s.call("a long one", "alice", prompt{tokens: 3000}, uses(6500)) // the model counts more tokens
	s.call("the model fails", "alice", prompt{tokens: 500, maxAnswer: 500}, fails)
	s.call("too much", "alice", prompt{tokens: 100}, uses(100))
	s.call("less", "alice", prompt{tokens: 100, maxAnswer: 2900}, uses(1100))
	s.atOnce("bob", 5, prompt{tokens: 1000, maxAnswer: 2000}, 1500)
	return s.err
}

func uses(tokens int64) model {
	return func(context.Context, prompt) (int64, error) { return tokens, nil }
}

func fails(context.Context, prompt) (int64, error) { return 0, errors.New("overloaded") }

// session makes calls to the proxy, and prints each result with the user's remaining tokens.
type session struct {
	ctx   context.Context //nolint:containedctx // of one run
	w     io.Writer
	proxy *proxy
	err   error
}

func (s *session) call(what, user string, call prompt, m model) {
	s.proxy.model = m
	used, err := s.proxy.complete(s.ctx, user, call)
	s.fail(err)
	fmt.Fprintf(s.w, "%s, %s: %d used, %d left", user, what, used, s.left(user))
	if err != nil {
		fmt.Fprintf(s.w, " (%v)", err)
	}
	fmt.Fprintln(s.w)
}

// atOnce starts overlapping calls. The model does not answer until each call has reserved its tokens or was denied.
func (s *session) atOnce(user string, calls int, call prompt, used int64) {
	var decided, ended sync.WaitGroup
	decided.Add(calls)
	errs := make([]error, calls)
	for i := range calls {
		ended.Go(func() {
			done := sync.OnceFunc(decided.Done)
			defer done()
			p := proxy{tokens: s.proxy.tokens, model: func(context.Context, prompt) (int64, error) {
				done()
				decided.Wait()
				return used, nil
			}}
			_, errs[i] = p.complete(s.ctx, user, call)
		})
	}
	ended.Wait()
	denied := 0
	for _, err := range errs {
		s.fail(err)
		if errors.Is(err, errBudget) {
			denied++
		}
	}
	fmt.Fprintf(s.w, "%s, %d calls at once: %d denied, %d left\n", user, calls, denied, s.left(user))
}

// left returns the number of tokens that a user has left.
func (s *session) left(user string) int64 {
	d, err := s.proxy.tokens.Peek(s.ctx, user, 0)
	s.fail(err)
	return d.Remaining
}

// fail records the first error from the store. The error ends the program.
func (s *session) fail(err error) {
	if errors.Is(err, headgate.ErrStoreUnavailable) {
		s.err = cmp.Or(s.err, err)
	}
}
