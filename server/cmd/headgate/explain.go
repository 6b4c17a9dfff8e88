package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/policytest"
)

// explainFlags holds the flags that describe the request to explain.
type explainFlags struct {
	request, host, client string
	output                outputFlag
	headers               []string
	bodySize              int64
}

func newExplain() *cobra.Command {
	flags := explainFlags{}
	c := &cobra.Command{
		Use:   "explain FILE --request 'POST /api/x'",
		Short: "Print the route, key, cost and limits of an HTTP request, and why",
		Long: `Print what happens to an HTTP request under a configuration file: its route, key, cost and
limits with their overrides, and for each route before it the first condition that does
not hold. Nothing is sent and nothing is charged.

Exit status: 0 explained, with or without a route; 2 invalid.`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return flags.run(c, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&flags.request, "request", "", "method and target, such as 'POST /api/x?v=2'; GET if only a target is given")
	f.StringArrayVar(&flags.headers, "header", nil, "a header, such as 'X-User: 7'; can be repeated")
	f.StringVar(&flags.host, "host", "", "the host; by default that of the target or of a header Host")
	f.StringVar(&flags.client, "client", "127.0.0.1", "the address that the connection comes from")
	f.Int64Var(&flags.bodySize, "body-size", 0, "the length of the body in bytes; -1 for a length that is not known")
	flags.output.addTo(f)
	return c
}

func (f *explainFlags) run(c *cobra.Command, path string) error {
	r, err := f.read()
	if err != nil {
		return err
	}
	config, err := policy.Reader{Gateway: true}.Reload(path, nil)
	if err != nil {
		return printErrors(c.ErrOrStderr(), err)
	}
	e := config.Explain(&r)
	if f.output.json() {
		return writeJSON(c.OutOrStdout(), e)
	}
	printExplanation(c.OutOrStdout(), path, &e)
	return nil
}

// read returns the request described by the flags.
func (f *explainFlags) read() (route.Request, error) {
	h := policytest.HTTPRequest{Text: f.request, Host: f.host, Client: f.client, BodySize: f.bodySize, Header: http.Header{}}
	for _, header := range f.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok || !route.IsToken(name) {
			return route.Request{}, fmt.Errorf("--header %q: accepted: a name, a colon and a value, such as 'X-User: 7'", header)
		}
		h.Header.Add(name, strings.TrimSpace(value))
	}
	r, err := h.Read()
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		return r, fmt.Errorf("--%s %s: accepted: %s", strings.ReplaceAll(input.Field, "_", "-"), input.Value, input.Accepted)
	}
	return r, err
}

// printExplanation prints the request as routes match it, its route and limits, and then the routes that did not
// match.
func printExplanation(w io.Writer, path string, e *policy.Explanation) {
	line := func(name, format string, values ...any) {
		fmt.Fprintf(w, "%-8s %s\n", name, printable(fmt.Sprintf(format, values...))) // the path is decoded
	}
	line("host", "%s", cmp.Or(e.Host, "none"))
	line("path", "%s", e.Path)
	line("client", "%s", e.Client)
	switch {
	case e.Route == nil && e.Denied:
		line("denied", "with %d: %s", e.Status, e.Reason)
	case e.Route == nil:
		line("route", "none: the request is not limited")
	default:
		line("route", "%d (%s:%d): %s", e.Route.Index, path, e.Route.Line, e.Route.Match)
		if e.Route.Class != "" {
			line("class", "%s", e.Route.Class)
		}
		printCharges(line, e)
		if e.Route.Upstream != "" {
			line("upstream", "%s", e.Route.Upstream)
		}
	}
	for _, tried := range e.Tried {
		line("no match", "%d (%s:%d): %s: wanted %s, got %s", tried.Index, path, tried.Line, tried.Condition, tried.Wanted, tried.Got)
	}
	if e.More > 0 {
		line("no match", "%d more", e.More)
	}
}

// printCharges prints each of the request's keys with its parts and limits.
func printCharges(line func(name, format string, values ...any), e *policy.Explanation) {
	parts := make([]string, len(e.Charges))
	for i := range e.Charges {
		parts[i] = partsOf(&e.Charges[i])
	}
	if e.Denied {
		line("key", "denied with %d: %s (%s)", e.Status, e.Reason, strings.Join(parts, "; "))
		return
	}
	for i := range e.Charges {
		line("key", "%s (%s)", e.Charges[i].Key, parts[i])
		for _, limit := range e.Charges[i].Limits {
			more := ""
			if limit.Class != "" {
				more += ", class " + limit.Class
			}
			if limit.Override {
				more += ", override"
			}
			if limit.Shadow {
				more += ", shadow"
			}
			line("limit", "%s: %s (cost %d%s)", limit.Policy, limit.Limit, limit.Cost, more)
		}
	}
}

// partsOf describes the parts of a key.
func partsOf(c *policy.ChargeSummary) string {
	parts := make([]string, len(c.Parts))
	for i, part := range c.Parts {
		parts[i] = part.Source + " = " + strconv.Quote(part.Value)
	}
	return strings.Join(parts, ", ")
}
