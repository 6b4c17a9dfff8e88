package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/resp/wire"
)

// clientFlags are the flags of the commands that call a server.
type clientFlags struct {
	server       string
	certificates certificateFlags
	timeout      time.Duration
	n            int64
}

// clientCommand returns the command VERB POLICY KEY, which calls HEADGATE.<verb>.
func clientCommand(verb, short string, units bool, show func(io.Writer, wire.Value) error) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use: verb + " POLICY KEY", Short: short, Args: exactly("POLICY", "KEY"),
		Long: short + ".\n\nExit status: 0 allowed or done, 1 denied, 2 error.",
		RunE: func(c *cobra.Command, args []string) error {
			words := []string{"HEADGATE." + verb, args[0], args[1]}
			if c.Flags().Changed("n") {
				words = append(words, strconv.FormatInt(f.n, 10))
			}
			v, err := f.call(words)
			if err != nil {
				return err
			}
			return show(c.OutOrStdout(), v)
		},
	}
	c.Flags().StringVar(&f.server, "server", "127.0.0.1:6380", "`address` of the server's RESP port; rediss://host:port if it speaks TLS")
	f.certificates.addTo(c.Flags())
	c.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "timeout of the call")
	if units {
		c.Flags().Int64VarP(&f.n, "n", "n", 1, "units; by default the policy's own cost")
	}
	return c
}

func newTake() *cobra.Command {
	return clientCommand("take", "Take units of a policy if they pass", true, showDecision)
}

func newPeek() *cobra.Command {
	return clientCommand("peek", "Print what take would answer, and take nothing", true, showDecision)
}

func newGive() *cobra.Command {
	return clientCommand("give", "Give units back", true, func(w io.Writer, v wire.Value) error {
		_, err := fmt.Fprintf(w, "remaining %s\n", orUnlimited(v.Int))
		return err
	})
}

func newReset() *cobra.Command {
	return clientCommand("reset", "Forget what a key has spent", false, func(w io.Writer, v wire.Value) error {
		text := "nothing was stored"
		if v.Int == 1 {
			text = "forgotten"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}

// dial connects to the server.
func (f *clientFlags) dial() (net.Conn, error) {
	dialer := &net.Dialer{Timeout: f.timeout}
	address, secure := strings.CutPrefix(f.server, "rediss://")
	if !secure {
		return dialer.Dial("tcp", strings.TrimPrefix(address, "redis://"))
	}
	config, err := f.certificates.config()
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(dialer, "tcp", address, config)
}

// call sends one command on a new connection and returns the reply.
func (f *clientFlags) call(words []string) (wire.Value, error) {
	conn, err := f.dial()
	if err != nil {
		return wire.Value{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(f.timeout)); err != nil {
		return wire.Value{}, err
	}
	replies := wire.NewReplyReader(conn)
	if user := os.Getenv(userVariable); user != "" {
		if _, err := ask(conn, replies, []string{"AUTH", user, os.Getenv(secretVariable)}); err != nil {
			return wire.Value{}, err
		}
	}
	return ask(conn, replies, words)
}

// The environment variables of a server with users: arguments are seen by other users of
// the machine.
const (
	userVariable   = "HEADGATE_USER"
	secretVariable = "HEADGATE_SECRET"
)

// ask sends a command and returns the reply; an error reply is an error.
func ask(conn net.Conn, replies *bufio.Reader, words []string) (wire.Value, error) {
	if _, err := conn.Write(wire.AppendCommand(nil, words...)); err != nil {
		return wire.Value{}, err
	}
	v, err := wire.ReadValue(replies)
	if err == nil && v.Kind == wire.Error {
		err = errors.New(v.Text)
	}
	return v, err
}

// showDecision prints the six integers of HEADGATE.TAKE as words. A denial is the error
// exitDenied.
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
		return exitDenied
	}
	return nil
}

// orUnlimited prints a number; a negative one means that nothing limits.
func orUnlimited(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}
