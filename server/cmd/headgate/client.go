package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/server/internal/respclient"
)

// clientFlags holds the flags of the commands that ask a server.
type clientFlags struct {
	server       string
	certificates certificateFlags
	timeout      time.Duration
	n            int64
	class        string
	output       outputFlag
}

func newAllow() *cobra.Command { return newAsk("allow", "Charge units of a policy if they pass") }

func newPeek() *cobra.Command {
	return newAsk("peek", "Print what allow would answer, and charge nothing")
}

// newAsk returns the command VERB POLICY KEY, which sends HEADGATE.<verb> and prints the decision.
func newAsk(verb, short string) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use: verb + " POLICY KEY", Short: short, Args: exactly("POLICY", "KEY"),
		Long: short + ".\n\nExit status: 0 allowed, 1 denied, 2 error.",
		RunE: func(c *cobra.Command, args []string) error {
			words := []string{"HEADGATE." + verb, args[0], args[1]}
			if c.Flags().Changed("cost") {
				words = append(words, strconv.FormatInt(f.n, 10))
			}
			if f.class != "" {
				words = append(words, "CLASS", f.class)
			}
			v, err := f.call(words)
			if err != nil {
				return err
			}
			d, err := readDecision(v)
			if err != nil {
				return err
			}
			return d.print(c.OutOrStdout(), f.output)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.server, "server", "127.0.0.1:6380", "`address` of the server's RESP port; rediss://host:port if it speaks TLS")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "timeout of a call")
	f.certificates.addTo(flags)
	f.output.addTo(flags)
	addCost(c, &f.n)
	flags.StringVar(&f.class, "class", "", "the `class` of the request; by default the policy's last class")
	return c
}

// addCost adds the flag for the number of units.
func addCost(c *cobra.Command, units *int64) {
	c.Flags().Int64VarP(units, "cost", "n", 1, "units; by default the policy's own cost")
}

// open connects to the server.
func (f *clientFlags) open(config *tls.Config) (*respclient.Client, error) {
	o := respclient.Options{Timeout: f.timeout}
	if o.User = os.Getenv(userVariable); o.User != "" {
		o.Secret = os.Getenv(secretVariable)
	}
	address, secure := strings.CutPrefix(f.server, "rediss://")
	if secure {
		o.TLS = config
	}
	return respclient.Open(strings.TrimPrefix(address, "redis://"), o)
}

// call sends one command on a new connection and returns the reply.
func (f *clientFlags) call(words []string) (rueidis.RedisMessage, error) {
	config, err := f.certificates.config(f.server, "rediss://")
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	client, err := f.open(config)
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
