package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/internal/respapi"
	"github.com/headgate/headgate/server/internal/respclient"
)

// Exit statuses of run itself, as in timeout(1) and env(1). Any other status is the command's.
const (
	exitNotAdmitted exit = 124 // denied, or not admitted within --wait
	exitNotRun      exit = 125 // the server cannot be reached, or the permit was lost
	exitNotStarted  exit = 126 // the command cannot be started
	exitNotFound    exit = 127 // the command does not exist
)

// runner runs a command after a policy has admitted it.
type runner struct {
	clientFlags

	policy, key string
	class       classFlag
	wait        time.Duration
	until       time.Time // when --wait ends
	stderr      io.Writer
}

func newRun() *cobra.Command {
	r := &runner{}
	c := &cobra.Command{
		Use: "run --policy POLICY --key KEY -- COMMAND [ARGUMENT...]", Short: "Run a command when a policy admits it",
		Long: "Run a command when a policy admits it: wait for units of the policy, or for units of a\n" +
			"concurrency limit, which it holds while the command runs.\n\n" +
			"Exit status: the command's, or 128 and the number of the signal that ended it;\n" +
			"124 not admitted, 125 error, 126 the command cannot be started, 127 not found.",
		Args: atLeastOne("COMMAND"),
		RunE: func(c *cobra.Command, args []string) error {
			r.stderr = c.ErrOrStderr()
			if !c.Flags().Changed("cost") {
				r.n = -1
			}
			return r.run(c.Context(), args)
		},
	}
	c.Flags().StringVar(&r.policy, "policy", "", "`name` of the policy (required)")
	c.Flags().StringVar(&r.key, "key", "", "the `key` that the command is counted under (required)")
	addCost(c, &r.n)
	r.class.addTo(c.Flags())
	c.Flags().DurationVar(&r.wait, "wait", 24*time.Hour, "the longest time to wait")
	r.addServer(c.Flags())
	r.certificates.addCA(c.Flags())                                // --key is the policy's key here
	_, _ = c.MarkFlagRequired("policy"), c.MarkFlagRequired("key") // both flags exist
	return c
}

func (r *runner) run(ctx context.Context, args []string) error {
	if ctx == nil {
		ctx = context.Background()
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	r.until = time.Now().Add(r.wait)
	held, err := r.admit(signals)
	if err == nil {
		err = r.execute(ctx, args, signals, held)
	}
	var code exit
	if err == nil || errors.As(err, &code) {
		return err
	}
	r.say(err.Error())
	return exitNotRun
}

func (r *runner) say(text string) {
	fmt.Fprintln(r.stderr, "headgate: run: "+strings.TrimPrefix(text, "headgate: "))
}

// admit waits until the command may run. It returns the permit, or nil if the policy's units are spent and not held.
func (r *runner) admit(signals <-chan os.Signal) (*heldPermit, error) {
	held := &heldPermit{runner: r, id: rand.Text()}
	admitted, err := held.acquire(signals)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), respapi.WrongVerb+" "):
		return nil, r.reserve(signals) // the policy's units are spent, not held
	case err != nil:
		if r.n >= 0 { // the permit may be held although the answer is an error
			held.release()
		}
		return nil, err
	case !admitted:
		return nil, r.late()
	default:
		return held, nil
	}
}

// words returns the words of a command to the server for the policy and key.
func (r *runner) words(verb string, more ...string) []string {
	return append([]string{"HEADGATE." + verb, r.policy, r.key}, more...)
}

// units returns the number of units as a word. It returns no word if the policy's own cost applies.
func (r *runner) units() []string {
	if r.n < 0 {
		return nil
	}
	return []string{strconv.FormatInt(r.n, 10)}
}

// reserve reserves units and waits until they may be used. If --wait ends first, it returns exitNotAdmitted.
func (r *runner) reserve(signals <-chan os.Signal) error {
	for {
		words := r.words("RESERVE", r.units()...)
		if r.n >= 0 {
			words = append(words, strconv.FormatInt(max(0, time.Until(r.until)).Milliseconds(), 10))
		}
		v, err := r.call(r.class.add(words))
		if err != nil {
			return err
		}
		n, rest, err := respclient.Integers(v, 6)
		if err != nil {
			return err
		}
		id, retry, err := idAndTime(rest)
		if err != nil {
			return err
		}
		denied, delay := n[0] == 1, n[5]
		pause := time.Duration(delay) * time.Millisecond
		if denied {
			pause = time.Duration(retry) * time.Millisecond
		}
		if denied && retry < 0 || time.Now().Add(pause).After(r.until) {
			r.cancel(id)
			return r.late()
		}
		if err := sleep(pause, signals); err != nil {
			r.cancel(id)
			return err
		}
		if !denied {
			return nil
		}
	}
}

// cancel cancels a reservation, and ignores errors.
func (r *runner) cancel(reservation string) {
	if reservation != "" {
		_, _ = r.call([]string{"HEADGATE.CANCEL", reservation})
	}
}

// idAndTime reads the last two items of a reply to HEADGATE.RESERVE and HEADGATE.ACQUIRE: an id, which may be empty,
// and a time in ms.
func idAndTime(items []rueidis.RedisMessage) (id string, ms int64, err error) {
	if len(items) != 2 {
		return "", 0, fmt.Errorf("the server answered %d values instead of 8", 6+len(items))
	}
	if id, err = items[0].ToString(); err != nil && !rueidis.IsRedisNil(err) {
		return "", 0, err
	}
	ms, err = items[1].AsInt64()
	return id, ms, err
}

// late prints that the command was not admitted, and returns exitNotAdmitted.
func (r *runner) late() error {
	r.say(fmt.Sprintf("denied by policy %q, or not within %s", r.policy, r.wait))
	return exitNotAdmitted
}

// sleep waits. If a signal arrives, it returns the exit status for it.
func sleep(wait time.Duration, signals <-chan os.Signal) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case s := <-signals:
		return exitOf(s)
	}
}

// exitOf returns the exit status of a process that was ended by a signal.
func exitOf(s os.Signal) exit {
	number, _ := s.(syscall.Signal) // signals are syscall.Signal on Unix
	return exit(128 + int(number))
}
