// This program is a web service that limits log-ins by address and by account, searches by their cost, and downloads by
// their bytes.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

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

func run(ctx context.Context, w io.Writer, url string) error {
	store, err := open.URL(ctx, url, open.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	// Each run has its own counters, which expire afterwards.
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-service:"+rand.Text()))
	defer limiter.Close()
	s := &service{passwords: map[string]string{"alice": "rose", "bob": "lily", "carol": "iris"}}
	server := httptest.NewServer(s.handler(limiter))
	defer server.Close()
	c := &caller{ctx: ctx, url: server.URL}
	for _, part := range []func(io.Writer, *caller, *service){guessOneAccount, guessManyAccounts, searchAndDownload} {
		part(w, c, s)
	}
	return c.err
}

// guessOneAccount guesses one account's password from a hundred addresses.
func guessOneAccount(w io.Writer, c *caller, s *service) {
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() { c.logIn(fmt.Sprintf("203.0.113.%d", i), "Alice", fmt.Sprint("guess ", i)) })
	}
	group.Wait()
	fmt.Fprintf(w, "100 guesses for alice's account from 100 addresses: %d were checked\n", s.checked.Load())
	fmt.Fprintf(w, "bob, behind one of these addresses: %d\n", c.logIn("203.0.113.7", "bob", "lily"))
	welcome := 0
	for range 20 {
		if c.logIn("198.51.100.1", "carol", "iris") == http.StatusOK {
			welcome++
		}
	}
	fmt.Fprintf(w, "carol logs in 20 times with the right password: %d times welcome\n", welcome)
}

// guessManyAccounts guesses the passwords of many accounts from a single address.
func guessManyAccounts(w io.Writer, c *caller, s *service) {
	before := s.checked.Load()
	for i := range 300 {
		c.logIn("192.0.2.66", fmt.Sprint("user", i), "password")
	}
	fmt.Fprintf(w, "300 guesses for 300 accounts from one address: %d were checked\n", s.checked.Load()-before)
}

func searchAndDownload(w io.Writer, c *caller, _ *service) {
	for _, rows := range []string{"1000", "100", "-1", "99999999", "1"} {
		fmt.Fprintf(w, "alice searches for %s rows: %d\n", rows, c.get("/search?rows="+rows, "alice"))
	}
	for range 3 {
		fmt.Fprintf(w, "bob downloads 700 kB: %d\n", c.get("/download", "bob"))
	}
	fmt.Fprintf(w, "carol downloads 700 kB: %d\n", c.get("/download", "carol"))
}

// caller sends requests as the proxy would.
type caller struct {
	ctx    context.Context //nolint:containedctx // of one run
	url    string
	failed atomic.Bool
	err    error // the first one
}

func (c *caller) logIn(address, account, password string) (status int) {
	form := url.Values{"account": {account}, "password": {password}}
	return c.send(http.MethodPost, "/log-in", strings.NewReader(form.Encode()), map[string]string{"X-Forwarded-For": address, "Content-Type": "application/x-www-form-urlencoded"})
}

func (c *caller) get(path, user string) (status int) {
	return c.send(http.MethodGet, path, http.NoBody, map[string]string{"X-User": user})
}

func (c *caller) send(method, path string, body io.Reader, header map[string]string) (status int) {
	r, err := http.NewRequestWithContext(c.ctx, method, c.url+path, body)
	if err == nil {
		for name, value := range header {
			r.Header.Set(name, value)
		}
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(r); err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			status = answer.StatusCode
		}
	}
	if err != nil && !c.failed.Swap(true) {
		c.err = err
	}
	return status
}
