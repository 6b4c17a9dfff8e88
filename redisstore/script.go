package redisstore

import (
	"crypto/sha1" //nolint:gosec // the name by which Redis knows a script
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/headgate/headgate/engine/algo"
)

// The scripts are put together from fragments: what all begin with (common), an
// algorithm's parts, and the sequence that calls for them. A line "--@name" in
// the sequence is replaced by the algorithm's part of that name; where a call
// has several algorithms, by a choice among theirs. So a call for one algorithm
// defines nothing that it does not use, which is worth half of its time: every
// function costs its making at each call.
//
//go:embed lua/*.lua
var fragments embed.FS

// script is a Lua script as Redis knows it.
type script struct {
	body string
	sha  string
}

func newScript(body string) *script {
	sum := sha1.Sum([]byte(body)) //nolint:gosec // not a matter of security
	return &script{body: body, sha: hex.EncodeToString(sum[:])}
}

// sequence is what a script does with its operations.
type sequence string

const (
	runs    sequence = "runs"    // takes, peeks and gives, put together by key
	one     sequence = "one"     // operations on one limit each
	several sequence = "several" // operations on several limits
	hold    sequence = "hold"    // leases taken, renewed, released
	lookup  sequence = "lookup"  // expiry and reset
)

// mixed stands for all algorithms.
const mixed family = "mixed"

// family is the fragment of an algorithm.
type family string

var families = [...]family{
	algo.TokenBucket: "bucket", algo.Pacer: "bucket", algo.FixedWindow: "fixed", algo.SlidingWindow: "window",
	algo.SlidingLog: "log", algo.Concurrency: "lease", algo.DenyAll: "none", algo.Unlimited: "none",
}

// codes are the families as a script sees them, in the order in which it asks.
var codes = [...]family{1: "bucket", 2: "fixed", 3: "window", 4: "log", 5: "lease", 6: "none"}

func (f family) code() byte {
	for i := range codes {
		if codes[i] == f {
			return byte(i)
		}
	}
	return 0
}

// library holds the scripts that were asked for, under one prelude.
type library struct {
	prelude string
	mu      sync.Mutex
	scripts map[[2]string]*script
}

func newLibrary(prelude string) *library {
	return &library{prelude: text(prelude), scripts: map[[2]string]*script{}}
}

func (l *library) get(s sequence, f family) *script {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := [2]string{string(s), string(f)}
	found := l.scripts[name]
	if found == nil {
		found = newScript(l.prelude + body(s, f))
		l.scripts[name] = found
	}
	return found
}

// alone returns a script that is one fragment.
func (l *library) alone(name string) *script {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.scripts[[2]string{name}]
	if found == nil {
		found = newScript(l.prelude + strip(text(name)))
		l.scripts[[2]string{name}] = found
	}
	return found
}

// text returns a fragment.
func text(name string) string {
	data, err := fragments.ReadFile("lua/" + name + ".lua")
	if err != nil {
		return "" // every name is a constant; a test assembles them all
	}
	return string(data)
}

// parts cuts a fragment at its "--- name" lines.
func parts(fragment string) map[string]string {
	found, name := map[string]string{}, ""
	for line := range strings.Lines(fragment) {
		if after, ok := strings.CutPrefix(line, "--- "); ok {
			name = strings.TrimSpace(after)
			continue
		}
		found[name] += line
	}
	return found
}

// body puts a script together, but for its prelude.
func body(s sequence, f family) string {
	used := []family{f}
	switch {
	case f == mixed && s == runs:
		used = codes[1:3]
	case f == mixed:
		used = codes[1:]
	}
	common := parts(text("common"))
	b := builder{common: common, algorithms: map[family]map[string]string{}, used: used}
	functions, locals, history := "", common["locals"], false
	for _, name := range used {
		p := parts(text(string(name)))
		if name == "window" || name == "log" {
			h := parts(text("history"))
			p["load"], p["joins"], p["save"] = h["load"], h["joins"], h["save"]
			if !history {
				locals, functions = locals+h["locals"], functions+h["functions"]
			}
			history = true
		}
		b.algorithms[name] = p
		locals, functions = locals+p["locals"], functions+p["functions"]
	}
	return strip(common["functions"] + locals + functions + b.expand(text(string(s)), ""))
}

// builder puts the parts in place.
type builder struct {
	common     map[string]string
	algorithms map[family]map[string]string
	used       []family
}

// expand replaces the "--@name" lines of a text that belongs to an algorithm,
// or to the sequence.
func (b *builder) expand(source string, owner family) string {
	var out strings.Builder
	for line := range strings.Lines(source) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "--@")
		if !ok {
			out.WriteString(line)
			continue
		}
		out.WriteString(b.part(name, owner))
	}
	return out.String()
}

func (b *builder) part(name string, owner family) string {
	if owner == "" && len(b.used) == 1 {
		owner = b.used[0]
	}
	if owner != "" {
		source, ok := b.algorithms[owner][name]
		if !ok {
			source = b.common[name]
		}
		return "do\n" + b.expand(source, owner) + "end\n"
	}
	var out strings.Builder
	keyword := "if"
	for _, f := range b.used {
		fmt.Fprintf(&out, "%s algorithm == %d then\n%s", keyword, f.code(), b.expand(b.algorithms[f][name], f))
		keyword = "elseif"
	}
	return out.String() + "end\n"
}

// strip leaves out comments and indentation: what is sent is what runs.
func strip(source string) string {
	var out strings.Builder
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if comment := strings.Index(line, "--"); comment >= 0 {
			line = strings.TrimSpace(line[:comment])
		}
		if line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
