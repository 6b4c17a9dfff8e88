package respapi_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

var update = flag.Bool("update", false, "write the replies in testdata/recorded.txt")

const recordedPolicies = `
policies:
  api:    {algorithm: token-bucket, rate: 100/60s, burst: 50, classes: [{name: user, leaves: 0%}, {name: batch, leaves: 10%}], settle_within: 10m}
  win:    {algorithm: fixed-window, limit: 40, window: 90s}
  two:    {all: [api, win]}
  jobs:   {algorithm: concurrency, limit: 3}
  pace:   {algorithm: pacer, rate: 10/s, max_wait: 100s}
  vendor: {algorithm: adaptive-rate, rate: 100/s, min: 10, max: 1000}
  never:  {deny: true}
  free:   {unlimited: true}
  trial:  {algorithm: fixed-window, limit: 1, window: 90s, shadow: true}
  choice: {first: [{name: a, algorithm: fixed-window, limit: 3, window: 90s}, {name: b, algorithm: fixed-window, limit: 100, window: 90s}]}
overrides: [{policy: win, key: vip, unlimited: true}]
`

// TestRecordedReplies sends the commands in testdata/recorded.txt to a server on one clock, and compares the replies
// with those recorded below each command. $R is the reservation and $I the id of the latest reply that has one. With
// -update, the test records the replies.
func TestRecordedReplies(t *testing.T) {
	const path = "testdata/recorded.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("test.yaml", []byte(recordedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	clock := headgatetest.NewClock()
	c := open(t, newService(t, clock, config.Policies))
	var reservation, id string
	var got strings.Builder
	for line := range strings.Lines(string(file)) {
		if line[0] == '\t' {
			continue
		}
		reply := c.call(t, strings.Fields(strings.NewReplacer("$R", reservation, "$I", id).Replace(line))...)
		for i := range reply.Items {
			switch text := &reply.Items[i].Text; {
			case len(*text) > 40:
				reservation, *text = *text, "$R"
			case len(*text) > 20:
				id, *text = *text, "$I"
			}
		}
		fmt.Fprintf(&got, "%s\t%s\n", line, textOf(reply))
		clock.Advance(1234567 * time.Microsecond)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(file), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("line %d of %s:\n got %s\nwant %s", i+1, path, line, want[min(i, len(want)-1)])
		}
	}
}

// textOf returns a reply as text.
func textOf(v resptest.Value) string {
	switch {
	case v.Items != nil:
		texts := make([]string, len(v.Items))
		for i, item := range v.Items {
			texts[i] = textOf(item)
		}
		return "[" + strings.Join(texts, " ") + "]"
	case v.Kind == resptest.Integer:
		return fmt.Sprint(v.Int)
	default:
		return fmt.Sprintf("%q", v.Text)
	}
}
