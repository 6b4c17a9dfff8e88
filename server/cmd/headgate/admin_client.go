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
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/internal/files"
)

// tokenVariable is the environment variable with the token of the admin listener.
const tokenVariable = "HEADGATE_ADMIN_TOKEN"

// maxTokenFile is the size of the largest file with a token.
const maxTokenFile = 4 << 10

// maxAdminAnswer bounds the answers that are read.
const maxAdminAnswer = 64 << 20

// adminClient calls the admin listener of a server.
type adminClient struct {
	address, tokenFile, output string
	certificates               certificateFlags
	timeout                    time.Duration
}

// addTo adds the flags of the client to a command and to those below it.
func (a *adminClient) addTo(c *cobra.Command) {
	flags := c.PersistentFlags()
	flags.StringVar(&a.address, "admin", "127.0.0.1:6070", "`address` of the server's admin listener; https://host:port if it speaks TLS")
	a.certificates.addTo(flags)
	flags.StringVar(&a.tokenFile, "token-file", "", "`file` with the token, in its first line; by default the environment variable "+tokenVariable)
	flags.DurationVar(&a.timeout, "timeout", 5*time.Second, "timeout of a call")
	flags.StringVar(&a.output, "output", "text", "text or json")
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
		// The server's own file can be given too, and says before a token that it only reads.
		if token := strings.TrimPrefix(strings.TrimSpace(line), "read "); token != "" {
			return token, nil
		}
	}
	return "", fmt.Errorf("--token-file %s: empty; accepted: a token in its first line", strconv.Quote(a.tokenFile))
}

// client returns a client that believes and shows the certificates of the flags.
func (a *adminClient) client() (*http.Client, error) {
	config, err := a.certificates.config()
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}, nil
}

// url returns the address with its scheme.
func (a *adminClient) url() string {
	if strings.HasPrefix(a.address, "https://") || strings.HasPrefix(a.address, "http://") {
		return strings.TrimSuffix(a.address, "/")
	}
	return "http://" + a.address
}

// call sends a body, or none if it is nil, and returns the answer.
func (a *adminClient) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	if a.output != "text" && a.output != "json" {
		return nil, fmt.Errorf("--output %s: accepted: text, json", strconv.Quote(a.output))
	}
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, a.url()+path, sent)
	if err != nil {
		return nil, fmt.Errorf("--admin %s: %w", strconv.Quote(a.address), err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return nil, fmt.Errorf("--admin %s: no answer from the admin listener, which headgate serve --admin opens: %w", strconv.Quote(a.address), err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAdminAnswer))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return data, nil
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("there is no valid token; accepted: one of the server's --admin-token-file, in the file of --token-file or in %s", tokenVariable)
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(data, &problem); err != nil || problem.Detail == "" {
		return nil, fmt.Errorf("%s: %s", a.address, answer.Status)
	}
	return nil, errors.New(problem.Detail)
}

// request calls and prints the answer: as JSON, or as show prints it. A is the type of the
// answer.
func request[A any](c *cobra.Command, a *adminClient, method, path string, body any, show func(w io.Writer, answer *A)) error {
	data, err := a.call(c.Context(), method, path, body)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return printIndented(c.OutOrStdout(), data)
	}
	var answer A
	if err := a.read(data, &answer); err != nil {
		return err
	}
	show(c.OutOrStdout(), &answer)
	return nil
}

// read decodes an answer.
func (a *adminClient) read(data []byte, answer any) error {
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("the answer of %s: %w", a.address, err)
	}
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

// key is a key in answers.
type key struct {
	Key       string `json:"key,omitempty"`
	KeyBase64 string `json:"key_base64,omitempty"`
}

// String returns the key so that it cannot control a terminal.
func (k key) String() string {
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

// keyOf returns the fields of a key in a request.
func keyOf(text string) key {
	if utf8.ValidString(text) {
		return key{Key: text}
	}
	return key{KeyBase64: toBase64(text)}
}

// by are the flags that give the author of a change, and the reason.
type by struct{ author, reason string }

func (b *by) addTo(c *cobra.Command) {
	c.Flags().StringVar(&b.author, "author", cmp.Or(os.Getenv("USER"), "unknown"), "`name` of the operator, for the log")
	c.Flags().StringVar(&b.reason, "reason", "", "why, for the log")
}
