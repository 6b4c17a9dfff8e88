package lua

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/scenarios"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// counting is a connection that measures the branch coverage of the scripts. It makes the client send every script as
// text, and replaces the script with a version that counts every condition.
type counting struct {
	redisstore.Conn

	mu   sync.Mutex
	ways map[string][2]bool // condition → was false, was true
	// names maps each script's text to the name that the server gave the version with counters. Sending that version's
	// text with each call would take longer than the call itself.
	names map[string]string
}

// returned lists the results that scripts return: the answers to several operations, and the answer of alone.lua.
var returned = []string{"table.concat(out)", "reservations", `pack('>i8', now) .. (prior or '\0')`}

var condition = regexp.MustCompile(`\b(if|elseif|while) (.+?) (then|do)\b`)

func (c *counting) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	for i := range commands {
		args := slices.Clone(commands[i].Args)
		switch args[0] {
		case "EVALSHA":
			replies[i].Err = &redisstore.ServerError{Text: "NOSCRIPT to see the text"}
			continue
		case "EVAL":
			args[0], args[1] = "EVALSHA", c.load(ctx, args[1])
		}
		c.Conn.Do(ctx, []redisstore.Command{{Key: commands[i].Key, Args: args}}, replies[i:i+1])
		if args[0] == "EVALSHA" {
			c.read(&replies[i])
		}
	}
}

// load loads a script with counters into the server, and returns its name there.
func (c *counting) load(ctx context.Context, body string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, done := c.names[body]; !done {
		reply := make([]redisstore.Reply, 1)
		c.Conn.Do(ctx, []redisstore.Command{{Args: []string{"SCRIPT", "LOAD", c.instrument(body)}}}, reply)
		c.names[body] = reply[0].Text
	}
	return c.names[body]
}

// instrument adds the counters to a script. A condition is identified by its text and the line before it, so that a
// part shared by several scripts is counted only once.
func (c *counting) instrument(body string) string {
	var out strings.Builder
	out.WriteString("local _hits = {}\nlocal function _hit(id, v) _hits[#_hits + 1] = id .. (v and '1' or '0') return v end\n")
	previous := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		counted := condition.ReplaceAllStringFunc(line, func(found string) string {
			m := condition.FindStringSubmatch(found)
			if strings.HasPrefix(m[2], "algorithm == ") {
				return found // in code that assembles scripts, not in an algorithm
			}
			id := previous + " → " + found
			if _, known := c.ways[id]; !known {
				c.ways[id] = [2]bool{}
			}
			return fmt.Sprintf("%s _hit(%q, %s) %s", m[1], id, m[2], m[3])
		})
		if answer, ok := strings.CutPrefix(line, "return "); ok && slices.Contains(returned, answer) {
			counted = "return { " + answer + ", _hits }"
		}
		out.WriteString(counted + "\n")
		previous = line
	}
	return out.String()
}

// read removes the counters from a reply.
func (c *counting) read(r *redisstore.Reply) {
	if len(r.List) != 2 || r.List[1].List == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hit := range r.List[1].List {
		id, way := hit.Text[:len(hit.Text)-1], hit.Text[len(hit.Text)-1]-'0'
		ways := c.ways[id]
		ways[way] = true
		c.ways[id] = ways
	}
	*r = r.List[0]
}

// TestLuaCoverage reports how many branches of the scripts' conditions the suites take. There are two branches per
// condition.
func TestLuaCoverage(t *testing.T) {
	if raced.On {
		t.Skip("the race detector does not see the scripts; make test runs this without it")
	}
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	counted := &counting{Conn: testbed.ConnOf(t, testbed.At(s.Addr(), "").Goredis()), ways: map[string][2]bool{}, names: map[string]string{}}
	open := func(now func() time.Time) *redisstore.Store {
		store, err := redisstore.New(staysOpen{counted}, redisstore.Config{Prefix: testbed.Prefix(), Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	scenarios.Run(t, storetest.Options{Once: true, New: func(_ *testing.T, now func() time.Time) engine.Store { return open(now) }})
	clock := headgatetest.NewClock()
	store := open(clock.Now)
	for _, algorithm := range script.Algorithms {
		for name, options := range differential.Kinds {
			for i := range uint64(2) {
				differential.Run(t, store, clock, algorithm, name, options, *differential.Seed+i)
			}
		}
	}
	for i := range uint64(4) {
		differential.RunLeases(t, store, clock, *differential.Seed+i)
	}
	long(t, store, clock)
	for range 2 { // two keys in one call, with and without a state
		ops := []engine.Op{{Key: "a"}, {Key: "b"}}
		for i := range ops {
			ops[i].Space, ops[i].Charges = "several", []engine.Charge{{Limit: rule.FixedWindow(rule.PerHour(10)), Cost: 1}}
		}
		store.Do(t.Context(), ops, make([]engine.Answer, len(ops)))
	}
	testbed.Strange(t, s, open(nil))
	gone, missed := 0, []string{}
	for _, id := range slices.Sorted(maps.Keys(counted.ways)) {
		for way, taken := range counted.ways[id] {
			if taken {
				gone++
			} else {
				missed = append(missed, fmt.Sprintf("%s: never %t", id, way == 1))
			}
		}
	}
	all := 2 * len(counted.ways)
	t.Logf("%d of %d ways (%.1f %%); not gone:\n%s", gone, all, 100*float64(gone)/float64(all), strings.Join(missed, "\n"))
	if gone*100 < all*95 {
		t.Errorf("the suites take %d of %d branches of the scripts' conditions, want 95 %%: add scenarios to lab/scenarios or limits to script that take those above", gone, all)
	}
}

// staysOpen is a connection that several stores share. Closing a store does not close it.
type staysOpen struct{ redisstore.Conn }

func (staysOpen) Close() error { return nil }
