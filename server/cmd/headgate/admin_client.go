package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// adminVariable is the environment variable that contains the admin listener's address.
const adminVariable = "HEADGATE_ADMIN"

// tokenVariable is the environment variable that contains the token for the admin listener.
const tokenVariable = "HEADGATE_ADMIN_TOKEN"

// maxTokenFile is the maximum size of a token file.
const maxTokenFile = 4 << 10

// adminClient calls a server's admin listener.
type adminClient struct {
	admin, tokenFile string
	output           outputFlag
	certificates     certificateFlags
	timeout          time.Duration
	flags            *pflag.FlagSet
}

// addTo adds the client's flags to a command and its subcommands.
func (a *adminClient) addTo(c *cobra.Command) {
	flags := c.PersistentFlags()
	flags.StringVar(&a.admin, "admin", "127.0.0.1:6070", "`address` of the server's admin listener, https://host:port with TLS; without the flag "+adminVariable+" names it")
	a.flags = flags
	a.certificates.addTo(flags)
	flags.StringVar(&a.tokenFile, "token-file", "", "`file` with the token in its first line; by default the environment variable "+tokenVariable)
	flags.DurationVar(&a.timeout, "timeout", 5*time.Second, "timeout of a call")
	a.output.addTo(flags)
}

func (a *adminClient) token() (string, error) {
	if a.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	data, err := files.Read(a.tokenFile, maxTokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		// The server's own file is accepted too. Read-only tokens have a prefix there.
		if token := strings.TrimPrefix(strings.TrimSpace(line), "read "); token != "" {
			return token, nil
		}
	}
	return "", fmt.Errorf("--token-file %s: empty; accepted: a token in its first line", strconv.Quote(a.tokenFile))
}

// client returns a client configured by the flags.
func (a *adminClient) client() (*adminapi.Client, error) {
	if env := os.Getenv(adminVariable); env != "" && !a.flags.Changed("admin") {
		a.admin = env
	}
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	config, err := a.certificates.config(a.admin, "https://")
	if err != nil {
		return nil, err
	}
	return &adminapi.Client{URL: urlOf(a.admin), Token: token, HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}}, nil
}

// urlOf returns the URL for a listener's address, which may already be a URL.
func urlOf(address string) string {
	address = strings.TrimSuffix(address, "/")
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		return address
	}
	return "http://" + address
}

// explain rewords a call's error in terms of the flags.
func (a *adminClient) explain(err error) error {
	if problem, ok := errors.AsType[*adminapi.Error](err); ok {
		switch {
		case problem.Status == http.StatusUnauthorized:
			return &coded{fmt.Errorf("there is no valid token; accepted: one of the server's --admin-token-file, in the file of --token-file or in %s", tokenVariable), errcode.NoUser}
		case problem.Detail == "" && problem.Status == http.StatusBadRequest && !strings.HasPrefix(a.admin, "https://"):
			return fmt.Errorf("--admin %s: %d %s; a listener with TLS is https://HOST:PORT", strconv.Quote(a.admin), problem.Status, http.StatusText(problem.Status))
		case problem.Detail == "":
			return fmt.Errorf("%s: %d %s", a.admin, problem.Status, http.StatusText(problem.Status))
		}
		return err
	}
	sent, ok := errors.AsType[*url.Error](err)
	switch {
	case !ok:
		return err
	case sent.Op == "parse":
		return fmt.Errorf("--admin %s: %w", strconv.Quote(a.admin), err)
	default:
		return &coded{fmt.Errorf("--admin %s: no answer from the admin listener, which headgate serve --admin opens: %w%s",
			strconv.Quote(a.admin), sent.Err, tlsHint(sent.Err, true, "")), errcode.NoAnswer}
	}
}

// send makes a call. It returns the answer both decoded and as the server wrote it.
func send[Body, Answer any](ctx context.Context, a *adminClient, call adminapi.Call[Body, Answer], body *Body) (*Answer, json.RawMessage, error) {
	client, err := a.client()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	answer, text, err := call.Send(ctx, client, body)
	if err != nil {
		return nil, nil, a.explain(err)
	}
	return answer, text, nil
}

// request makes a call and prints the answer, either as JSON or with show.
func request[Body, Answer any](c *cobra.Command, a *adminClient, call adminapi.Call[Body, Answer], body *Body, show func(w io.Writer, answer *Answer)) error {
	answer, text, err := send(c.Context(), a, call, body)
	if err != nil {
		return err
	}
	if a.output.json() {
		return printIndented(c.OutOrStdout(), text)
	}
	show(c.OutOrStdout(), answer)
	return nil
}

func printIndented(w io.Writer, data []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return err
	}
	_, err := text.WriteTo(w)
	return err
}

// keyText returns a key in a form that is safe to print on a terminal. A key that the API sent as base64 stays
// base64. A key with unprintable characters is quoted.
func keyText(k adminapi.KeyFields) string {
	if k.KeyBase64 != "" {
		return "base64:" + k.KeyBase64
	}
	return printable(k.Key)
}

func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// by holds the flags for the author of a change and the reason for it.
type by struct{ author, reason string }

func (b *by) addTo(c *cobra.Command) {
	c.Flags().StringVar(&b.author, "author", cmp.Or(os.Getenv("USER"), "unknown"), "`name` of the operator, for the log")
	c.Flags().StringVar(&b.reason, "reason", "", "why, for the log")
}
