package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/resp/wire"
)

// clientFlags are the flags of the commands that ask a server.
type clientFlags struct {
	server  string
	timeout time.Duration
	n       int64
}

// askCommand returns a command VERB POLICY KEY that asks by HEADGATE.<verb>.
func askCommand(verb, short string, units bool, show func(io.Writer, wire.Value) error) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use: verb + " POLICY KEY", Short: short, Args: exactly("POLICY", "KEY"),
		Long: short + ".\n\nExit status: 0 allowed or done, 1 refused, 2 error.",
		RunE: func(c *cobra.Command, args []string) error {
			words := []string{"HEADGATE." + verb, args[0], args[1]}
			if c.Flags().Changed("n") {
				words = append(words, strconv.FormatInt(f.n, 10))
			}
			v, err := f.ask(words)
			if err != nil {
				return err
			}
			return show(c.OutOrStdout(), v)
		},
	}
	c.Flags().StringVar(&f.server, "server", "127.0.0.1:6380", "`address` of the server's RESP port")
	c.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	if units {
		c.Flags().Int64VarP(&f.n, "n", "n", 1, "units; the policy's own cost where not given")
	}
	return c
}

func newTake() *cobra.Command {
	return askCommand("take", "Take units of a policy", true, showDecision)
}

func newPeek() *cobra.Command {
	return askCommand("peek", "Ask what take would answer, and take nothing", true, showDecision)
}

func newGive() *cobra.Command {
	return askCommand("give", "Give units back", true, func(w io.Writer, v wire.Value) error {
		_, err := fmt.Fprintf(w, "remaining %s\n", orUnlimited(v.Int))
		return err
	})
}

func newReset() *cobra.Command {
	return askCommand("reset", "Forget what a key has spent", false, func(w io.Writer, v wire.Value) error {
		text := "nothing was stored"
		if v.Int == 1 {
			text = "forgotten"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}

// ask sends one command on a connection of its own.
func (f *clientFlags) ask(words []string) (wire.Value, error) {
	conn, err := net.DialTimeout("tcp", f.server, f.timeout)
	if err != nil {
		return wire.Value{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(f.timeout)); err != nil {
		return wire.Value{}, err
	}
	if _, err := conn.Write(wire.AppendCommand(nil, words...)); err != nil {
		return wire.Value{}, err
	}
	v, err := wire.ReadValue(wire.NewReplyReader(conn))
	if err == nil && v.Kind == wire.Error {
		err = errors.New(v.Text)
	}
	return v, err
}

// showDecision prints HEADGATE.TAKE's six integers as words.
func showDecision(w io.Writer, v wire.Value) error {
	if len(v.Items) != 6 {
		return fmt.Errorf("the server answered %d values instead of 6", len(v.Items))
	}
	n := func(i int) int64 { return v.Items[i].Int }
	verdict, retry := "allowed", ""
	if n(0) == 1 {
		verdict, retry = "refused", fmt.Sprintf(" retry_after=%ds", n(3))
		if n(3) < 0 {
			retry = " retry_after=never"
		}
	}
	delay := ""
	if n(5) > 0 {
		delay = fmt.Sprintf(" delay=%dms", n(5))
	}
	fmt.Fprintf(w, "%s limit=%s remaining=%s%s reset_after=%ds%s\n", verdict, orUnlimited(n(1)), orUnlimited(n(2)), retry, n(4), delay)
	if n(0) == 1 {
		return exitRefused
	}
	return nil
}

func orUnlimited(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}
