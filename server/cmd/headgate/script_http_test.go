package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// startGateway runs `headgate gateway` with the arguments, as start does with serve, and sets HTTP to its address.
func startGateway(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("gateway cannot be negated")
	}
	startServer(ts, []string{"HTTP"}, append([]string{"gateway", "--http", "127.0.0.1:0", "--drain", "0s"}, args...))
}

// startUpstream starts a server that answers with its name and the request that it received: upstream NAME. It sets
// NAME to its URL.
func startUpstream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: upstream NAME")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s got %s %s%s for %s\n", args[0], r.Method, r.Host, r.RequestURI, r.Header.Get("X-Forwarded-For"))
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// fetch sends a request and prints the answer: fetch METHOD URL [NAME:VALUE]… [BODY], with a body in JSON
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fetch METHOD URL [NAME:VALUE]... [BODY]")
	}
	fields, body := args[2:], ""
	if last := len(fields) - 1; last >= 0 && strings.HasPrefix(fields[last], "{") {
		fields, body = fields[:last], fields[last]
	}
	r, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	for _, header := range fields {
		name, value, _ := strings.Cut(header, ":")
		r.Header.Add(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	var header strings.Builder
	ts.Check(answer.Header.Write(&header))
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s\n%s%s", answer.Status, strings.ReplaceAll(header.String(), "\r", ""), text)
}

// exampleFile copies a file from the examples, and replaces its upstream URLs with the script's: example FILE OLD NEW
// [OLD NEW]…
func exampleFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args)%2 != 1 {
		ts.Fatalf("usage: example FILE [OLD NEW]...")
	}
	text, err := os.ReadFile(filepath.Join(examples, args[0]))
	ts.Check(err)
	for i := 1; i < len(args); i += 2 {
		if !strings.Contains(string(text), args[i]) {
			ts.Fatalf("%s has no %s", args[0], args[i])
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(filepath.Base(args[0])), []byte(strings.NewReplacer(args[1:]...).Replace(string(text))), 0o600))
}

// examples is the absolute path of the directory with the examples.
var examples = func() string {
	path, err := filepath.Abs("../../../examples")
	if err != nil {
		panic(err) // no test can run if there is no working directory
	}
	return path
}()
