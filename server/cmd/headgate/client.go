package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/server/internal/respclient"
)

// clientFlags holds the flags of the commands that call a server.
type clientFlags struct {
	server       string
	certificates certificateFlags
	timeout      time.Duration
	n            int64
}

// clientAnswer is a server's answer: the value for --output json, and the line for text output.
type clientAnswer struct {
	value  any
	text   string
	denied bool
}

// clientCommand returns the command VERB POLICY KEY, which sends HEADGATE.<verb> and parses the reply with read. If
// units is true, the command has the flags --cost and --class.
func clientCommand(verb, short string, units bool, read func(rueidis.RedisMessage) (clientAnswer, error)) *cobra.Command {
	var f clientFlags
	var output outputFlag
	var class classFlag
	c := &cobra.Command{
		Use: verb + " POLICY KEY", Short: short, Args: exactly("POLICY", "KEY"),
		Long: short + ".\n\nExit status: 0 allowed or done, 1 denied, 2 error.",
		RunE: func(c *cobra.Command, args []string) error {
			words := []string{"HEADGATE." + verb, args[0], args[1]}
			if c.Flags().Changed("cost") {
				words = append(words, strconv.FormatInt(f.n, 10))
			}
			v, err := f.call(class.add(words))
			if err != nil {
				return err
			}
			answer, err := read(v)
			if err != nil {
				return err
			}
			return answer.print(c.OutOrStdout(), output)
		},
	}
	f.addServer(c.Flags())
	f.certificates.addTo(c.Flags())
	output.addTo(c.Flags())
	if units {
		addCost(c, &f.n)
		class.addTo(c.Flags())
	}
	return c
}

func (f *clientFlags) addServer(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "server", "127.0.0.1:6380", "`address` of the server's RESP port; rediss://host:port if it speaks TLS")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "timeout of a call")
}

// addCost adds the flag for the number of units.
func addCost(c *cobra.Command, units *int64) {
	c.Flags().Int64VarP(units, "cost", "n", 1, "units; by default the policy's own cost")
}

// classFlag is the class of a command's requests. If it is "", the policy's last class applies.
type classFlag string

func (f *classFlag) addTo(flags *pflag.FlagSet) {
	flags.StringVar((*string)(f), "class", "", "the `class` of the request; by default the policy's last class")
}

// add appends the class to the words of a command, if it is set.
func (f classFlag) add(words []string) []string {
	if f == "" {
		return words
	}
	return append(words, "CLASS", string(f))
}

// print prints the answer. It returns exitDenied if the request was denied.
func (a *clientAnswer) print(w io.Writer, output outputFlag) error {
	var err error
	if output.json() {
		err = writeJSON(w, a.value)
	} else {
		_, err = fmt.Fprintln(w, a.text)
	}
	if err == nil && a.denied {
		return exitDenied
	}
	return err
}

func newAllow() *cobra.Command {
	return clientCommand("allow", "Charge units of a policy if they pass", true, readDecision)
}

func newPeek() *cobra.Command {
	return clientCommand("peek", "Print what allow would answer, and charge nothing", true, readDecision)
}

func newGive() *cobra.Command {
	return clientCommand("give", "Give units back", true, func(v rueidis.RedisMessage) (clientAnswer, error) {
		remaining, err := v.AsInt64()
		value := struct {
			Remaining *int64 `json:"remaining,omitempty"`
			Unlimited bool   `json:"unlimited,omitempty"`
		}{unlessUnlimited(remaining), remaining < 0}
		return clientAnswer{value: value, text: "remaining " + orUnlimited(remaining)}, err
	})
}

func newReset() *cobra.Command {
	return clientCommand("reset", "Forget what a key has spent", false, func(v rueidis.RedisMessage) (clientAnswer, error) {
		found, err := v.AsInt64()
		text := "nothing was stored"
		if found == 1 {
			text = "forgotten"
		}
		return clientAnswer{value: struct {
			Found bool `json:"found"`
		}{found == 1}, text: text}, err
	})
}

// open connects to the server.
func (f *clientFlags) open() (*respclient.Client, error) {
	o := respclient.Options{Timeout: f.timeout}
	if o.User = os.Getenv(userVariable); o.User != "" {
		o.Secret = os.Getenv(secretVariable)
	}
	address, secure := strings.CutPrefix(f.server, "rediss://")
	if secure {
		var err error
		if o.TLS, err = f.certificates.config(); err != nil {
			return nil, err
		}
	}
	return respclient.Open(strings.TrimPrefix(address, "redis://"), o)
}

// call sends one command on a new connection and returns the reply.
func (f *clientFlags) call(words []string) (rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	client, err := f.open()
	if err == nil {
		defer client.Close()
		var reply rueidis.RedisMessage
		if reply, err = client.Do(ctx, words...); err == nil {
			return reply, nil
		}
	}
	switch refused, ok := errors.AsType[*rueidis.RedisError](err); {
	case ok && strings.HasPrefix(refused.Error(), "NOAUTH "):
		err = &coded{errors.New("NOAUTH: the server has users; set " + userVariable + " and " + secretVariable), errcode.NoUser}
	case !ok:
		err = &coded{fmt.Errorf("--server %s: no answer from RESP, which headgate serve opens at 127.0.0.1:6380 by default: %w%s",
			strconv.Quote(f.server), err, tlsHint(err, strings.HasPrefix(f.server, "rediss://"), "rediss://")), errcode.NoAnswer}
	}
	return rueidis.RedisMessage{}, err
}

// Credentials come from environment variables, because other users of the machine can see a command's arguments.
const (
	userVariable   = "HEADGATE_USER"
	secretVariable = "HEADGATE_SECRET"
)
