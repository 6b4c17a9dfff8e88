package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// pageOf returns the text of a documentation page, or of one of its sections.
func pageOf(ts *testscript.TestScript, args []string) string {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: page PAGE [SECTION], requests PAGE [SECTION]")
	}
	data, err := os.ReadFile(filepath.Join(examples, "../docs", args[0]))
	ts.Check(err)
	text := string(data)
	if len(args) == 2 {
		_, rest, found := strings.Cut(text, "\n## "+args[1]+"\n")
		if !found {
			ts.Fatalf("%s has no section %q", args[0], args[1])
		}
		text, _, _ = strings.Cut(rest, "\n## ")
	}
	return text
}

// blocksOf returns the blocks in a language on a page.
func blocksOf(page, language string) (all []string) {
	for i, block := range strings.Split(page, "```") {
		if text, ok := strings.CutPrefix(block, language+"\n"); ok && i%2 == 1 {
			all = append(all, text)
		}
	}
	return all
}

// writePage writes a page's blocks to files: policies to policies.yaml, test cases to policies_test.yaml, rules of
// Envoy's rate limit service to rules.yaml, Envoy configuration to envoy.yaml, and lines for a shell, except those
// that start the server, to page.sh: page PAGE [SECTION].
func writePage(ts *testscript.TestScript, _ bool, args []string) {
	files := map[string]string{}
	for _, block := range blocksOf(pageOf(ts, args), "yaml") {
		name := "policies.yaml"
		switch {
		case strings.HasPrefix(block, "policies: "):
			name = "policies_test.yaml"
		case strings.HasPrefix(block, "domain:"):
			name = "rules.yaml"
		case strings.HasPrefix(block, "rate_limits:"), strings.HasPrefix(block, "typed_per_filter_config:"):
			name = "envoy.yaml"
		}
		files[name] += block
	}
	for _, block := range blocksOf(pageOf(ts, args), "sh") {
		if !strings.HasPrefix(block, "headgate serve") {
			files["page.sh"] += block
		}
	}
	for name, text := range files {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// seconds matches the times in an answer, which vary.
var seconds = regexp.MustCompile(`(t=|Retry-After: )\d+`)

// has reports whether an answer contains a line from a page. An ellipsis (…) in the line matches any text.
func has(answer, line string) bool {
	for part := range strings.SplitSeq(seconds.ReplaceAllString(line, "${1}…"), "…") {
		_, rest, ok := strings.Cut(answer, part)
		if !ok {
			return false
		}
		answer = rest
	}
	return true
}

// sendRequests sends a page's requests to the server in order, and runs its commands: requests PAGE [SECTION]. Each line that the
// page shows below a request or command must appear in the answer.
func sendRequests(ts *testscript.TestScript, _ bool, args []string) {
	sent := 0
	for _, block := range blocksOf(pageOf(ts, args), "console") {
		answer := ""
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if words, ok := strings.CutPrefix(line, "$ headgate "); ok {
				answer = command(ts, words)
				sent++
			} else if request, ok := strings.CutPrefix(line, "$ curl -i localhost:8080"); ok {
				answer = curl(ts, request)
				sent++
			} else if !has(answer, line) {
				ts.Fatalf("%s is not in the answer:\n%s", line, answer)
			}
		}
	}
	if sent == 0 {
		ts.Fatalf("the page has no requests")
	}
}

// word matches a word of a command, or a quoted text.
var word = regexp.MustCompile(`'([^']*)'|(\S+)`)

// command runs a headgate command from a page, and returns its output. The commands allow and health get the
// server's address.
func command(ts *testscript.TestScript, line string) string {
	var words []string
	for _, w := range word.FindAllStringSubmatch(line, -1) {
		words = append(words, w[1]+w[2])
	}
	switch words[0] {
	case "allow":
		words = slices.Insert(words, 1, "--server", ts.Getenv("RESP"))
	case "health":
		words = slices.Insert(words, 1, "--http", ts.Getenv("HTTP"))
	}
	ts.Check(ts.Exec("headgate", words...))
	return ts.ReadFile("stdout")
}

// headerOfCurl matches curl's options for a header and for the body.
var headerOfCurl = regexp.MustCompile(`-(H|d) '([^']*)'`)

// curl sends a request like curl -i does, and returns the same output.
func curl(ts *testscript.TestScript, words string) string {
	path, options, _ := strings.Cut(strings.TrimSpace(words), " ")
	r, err := http.NewRequest(http.MethodGet, "http://"+ts.Getenv("HTTP")+path, http.NoBody)
	ts.Check(err)
	for _, option := range headerOfCurl.FindAllStringSubmatch(options, -1) {
		if option[1] == "d" {
			r.Method, r.Body = http.MethodPost, io.NopCloser(strings.NewReader(option[2]))
			continue
		}
		name, value, _ := strings.Cut(option[2], ": ")
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	ts.Check(err)
	defer answer.Body.Close()
	var header strings.Builder
	ts.Check(answer.Header.Write(&header))
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	return fmt.Sprintf("%s %s\n%s\n%s", answer.Proto, answer.Status, strings.ReplaceAll(header.String(), "\r", ""), body)
}
