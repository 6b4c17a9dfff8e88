package redisstore

import (
	"os"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/storetest"
)

// keyOf returns the key of a limit's state.
func keyOf(space string, limit engine.Limit, subject string) string {
	s := &Store{prefix: DefaultPrefix}
	op := engine.Op{Space: space, Key: subject, Charges: []engine.Charge{{Limit: limit}}}
	return s.Keys(&op)[0]
}

// The keys match the examples in docs/design/keys.md.
func TestKeys(t *testing.T) {
	bucket, log := rule.TokenBucket(rule.PerSecond(1)), rule.SlidingLog(rule.PerSecond(1))
	minute := rule.FixedWindow(rule.PerMinute(5))
	for _, c := range []struct {
		space   string
		limit   engine.Limit
		subject string
		want    string
	}{
		{"inline", bucket, "alice", "hg/:inline/tb/{alice}"},
		{"policy:api", minute, "laoqian:reply", "hg/api/fw60s/{laoqian:reply}"},
		{"inline", minute, "cart:{42}", "hg/:inline/fw60s//cart:{42}"},
		{"inline", log, "a}b", "hg/:inline/sl/%{a%7Db}"},
		{"inline", log, "{}", "hg/:inline/sl/%{{%7D}"},
		{"inline", rule.SlidingWindow(rule.Per(5, time.Millisecond), rule.Segments(1000)), "k", "hg/:inline/sw1us/{k}"},
		{"a/b{c}%", rule.Pacer(rule.PerSecond(20), rule.MaxQueue(1), rule.Named("x/y")), "k", "hg/:a%2Fb%7Bc%7D%25/pc1:50ms/x%2Fy/{k}"},
		{"policy:api", rule.FairShare(rule.PerSecond(20)), "ann", "hg/api/fs1:50ms/{*policy:api}"},
	} {
		if got := keyOf(c.space, c.limit, c.subject); got != c.want {
			t.Errorf("%q: key %q, want %q", c.subject, got, c.want)
		}
	}
}

// Each row of the table of grids in docs/design/keys.md has a limit and the beginning of its keys, and every algorithm
// with a grid has a row.
func TestGridsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/design/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| limit | algorithm and grid |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("keys.md has no table of grids")
	}
	listed := map[algo.Algorithm]bool{}
	for row := range strings.Lines(table) {
		codes := strings.Split(row, "`")
		limit, err := engine.ParseLimit(codes[1])
		if want := "hg/:inline/" + codes[3] + "/{"; err != nil || !strings.HasPrefix(keyOf("inline", limit, "k"), want) {
			t.Errorf("%s: key %q, %v; keys.md has %q", codes[1], keyOf("inline", limit, "k"), err, want)
		}
		listed[limit.Algorithm()] = true
	}
	for _, a := range algo.Algorithms() {
		if letters := "`" + a.Code() + "` " + a.String(); a.Code() != "" && !strings.Contains(strings.Join(strings.Fields(string(page)), " "), letters) {
			t.Errorf("keys.md does not have %s", letters)
		}
	}
	for a, limit := range storetest.Examples() {
		if limit.Numbers().Grid() != (algo.Grid{}) && !listed[a] {
			t.Errorf("keys.md has no row for the grid of %s", a)
		}
	}
}

// Regression: bug 28. Different namespaces, names or subjects have different keys. Rule 12: all keys of a subject are
// in one slot, determined by its own hash tag or by the subject.
func TestKeysDoNotCollide(t *testing.T) {
	alphabet := []byte("a{}/%:")
	word := func(raw []byte) string {
		b := make([]byte, 0, 6)
		for _, c := range raw[:min(len(raw), 6)] {
			b = append(b, alphabet[int(c)%len(alphabet)])
		}
		return string(b)
	}
	named := func(space, name, subject string) string {
		head := appendHead(nil, "hg", space, "pc", &algo.Grid{Count: 1, Period: 1}, name)
		return string(appendSubject(head, subject))
	}
	type parts struct{ space, name, subject string }
	seen := map[string]parts{}
	check := func(a, b, c []byte) bool {
		p := parts{word(a), word(b), word(c)}
		k := named(p.space, p.name, p.subject)
		if other, ok := seen[k]; ok && other != p {
			t.Errorf("%+v and %+v share %q", p, other, k)
		}
		seen[k] = p
		again := named(p.subject, p.space, p.subject)
		if p.subject != "" && (slotOfKey(k) != slotOfKey(again) || slotOfKey(k) != slotOfSubject(p.subject)) {
			t.Errorf("%q is in several slots: %d, %d, %d", p.subject, slotOfKey(k), slotOfKey(again), slotOfSubject(p.subject))
		}
		return !t.Failed()
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 50_000}); err != nil {
		t.Error(err)
	}
}

// Each shard's tag is in its range of the slots. All keys of a subject are in one slot, in the range that contains
// its own slot. Different subjects and namespaces have different keys.
func TestShards(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 64, MaxShards} {
		tags := newShards(n)
		for part, tag := range tags {
			if at := int(slotOfKey(tag)); at < part*Slots/n || at > (part+1)*Slots/n {
				t.Errorf("tag %q of %d is in slot %d, not in part %d", tag, n, at, part)
			}
		}
		seen := map[string]string{}
		for _, subject := range []string{"alice", "bob", "cart:{42}", "cart:{42}x", "a}b", "{}", "{0}", "{0}alice", "}", "x{y}z"} {
			for _, space := range []string{"inline", "policy:{a}"} {
				k := string(tags.appendSubject(appendHead(nil, "hg", space, "pc", new(algo.Grid), "p"), subject))
				if slotOfKey(k) != tags.slot(subject) || int(slotOfKey(k))*n/Slots != int(slotOfKey(subject))*n/Slots {
					t.Errorf("%d shards: %q is in slot %d, its subject's shard in %d, itself in %d", n, k, slotOfKey(k), tags.slot(subject), slotOfKey(subject))
				}
				if other, twice := seen[k]; twice {
					t.Errorf("%q is of %q and %q", k, subject, other)
				}
				seen[k] = subject
			}
		}
		if tags.slot("cart:{42}") != tags.slot("{42}") {
			t.Errorf("%d shards: a tag of its own does not keep subjects together", n)
		}
	}
	if got := string(newShards(4).appendSubject(appendHead(nil, "hg", "inline", "tb", new(algo.Grid), "default"), "alice")); got != "hg/:inline/tb/{3}alice" {
		t.Errorf("docs/design/keys.md says otherwise: %s", got)
	}
}

// The slots match the Cluster specification and the replies to CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 12739, "foo": 12182, "{user1000}.following": 3443, "{user1000}.followers": 3443, "foo{}{bar}": 8363, "foo{bar}{zap}": 5061,
	} {
		if got := slotOfKey(key); got != want {
			t.Errorf("slot of %q: %d, want %d", key, got, want)
		}
	}
}
