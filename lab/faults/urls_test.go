package faults

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// decides opens the store at a URL, and checks that it can charge a unit.
func decides(t *testing.T, url string) {
	t.Helper()
	store := testbed.OpenRueidis(t, testbed.Deployment{URL: url}, redisstore.Config{})
	if r := testbed.Take(store, testbed.Prefix(), testbed.Hourly); r.Err != nil || r.Binds().Remaining != 99 {
		t.Errorf("%s: %+v, %v", url, r, r.Err)
	}
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Every kind of URL opens a working store.
func TestURLs(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis, "requirepass pass:w@rd")
	s.MustDo("acl", "setuser", "app", "on", ">other/word", "~*", "&*", "+@all")
	for _, url := range []string{
		"redis://:pass%3Aw%40rd@" + s.Addr(),
		"redis://default:pass%3Aw%40rd@" + s.Addr() + "/3",
		"valkey://app:other%2Fword@" + s.Addr() + "?db=2&max_in_flight=5",
		"redis://app@" + s.Addr() + "?password_file=" + file(t, "other/word\n"),
		"unix://:pass%3Aw%40rd@" + s.Unix + "?db=1",
		"unix://" + s.Unix + "?password_file=" + file(t, "pass:w@rd"),
	} {
		decides(t, url)
	}
	// Each database contains one state and the note.
	if n := s.Text("info", "keyspace"); !strings.Contains(n, "db3:keys=2") || !strings.Contains(n, "db2:keys=2") || !strings.Contains(n, "db1:keys=2") {
		t.Errorf("databases: %s", n)
	}
	own := testbed.OpenRueidis(t, testbed.Deployment{URL: "redis://:pass%3Aw%40rd@" + s.Addr() + "?prefix=acme"}, redisstore.Config{})
	testbed.Take(own, "k", testbed.Hourly)
	if s.MustDo("exists", "acme/:s/tb/{k}") != int64(1) {
		t.Error("the URL's prefix does not begin the key")
	}
}

// The client sends its certificate to servers that require client certificates.
func TestTLS(t *testing.T) {
	t.Parallel()
	s, files := redistest.TLS(t, redistest.Redis)
	with := "?ca_file=" + files.CA + "&cert_file=" + files.Cert + "&key_file=" + files.Key
	decides(t, "rediss://"+s.Addr()+with)
	for _, url := range []string{
		"rediss://" + s.Addr(),                          // an unknown certificate authority
		"rediss://" + s.Addr() + "?ca_file=" + files.CA, // no client certificate
		"rediss://" + s.Addr() + with + "&server_name=somebody.else",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		store, err := rueidisadapter.Open(ctx, url, redisstore.Config{})
		cancel()
		if err == nil {
			_ = store.Close()
			t.Errorf("%s: opened", url)
		}
	}
}

// Each error names the mistake and the accepted values, but no password.
func TestBadURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"localhost:6379":                               "accepted: redis://",
		"http://secret@h":                              "accepted: redis://",
		"redis://a,b":                                  "accepted: one host",
		"redis://":                                     "accepted: a host",
		"redis://h:99999":                              "the port 1 to 65535",
		"redis://h/x":                                  "database \"x\"",
		"redis://h/-1":                                 "database \"-1\"",
		"redis://h?ttl=3":                              "?ttl=",
		"redis://h?db=1&db=2":                          "once each",
		"redis://h?max_in_flight=many":                 "1 to 65536",
		"redis://h?ca_file=x":                          "rediss://",
		"rediss://h?cert_file=x":                       "both or none",
		"rediss://h?ca_file=/nowhere":                  "ca_file",
		"redis://h?password_file=/nowhere":             "password_file",
		"redis+sentinel://h":                           "redis+sentinel://host,host/master",
		"redis+cluster://h,i/3":                        "a Cluster has only one",
		"redis://%zz:x@h":                              "%XX",
		"unix://":                                      "unix:///path",
		"redis://:x/secret@h:x":                        "the port 1 to 65535",
		"redis://:x?secret@h":                          "%3F",
		"redis://h?prefix={x}":                         "without braces",
		"redis://127.0.0.1:1":                          "connection refused",
		"redis+sentinel://s:secret@127.0.0.1:1/master": "connection refused",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		store, err := rueidisadapter.Open(ctx, url, redisstore.Config{})
		cancel()
		if err == nil {
			_ = store.Close()
			t.Errorf("%s: opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want it to say %q and no password", url, err, want)
		}
	}
}

// Invalid settings cause an error when the store is opened.
func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []redisstore.Config{{Prefix: "a{b"}, {Prefix: strings.Repeat("p", 65)}, {MaxInFlight: -1}, {MaxInFlight: 1 << 17}} {
		if _, err := redisstore.New(nil, c); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Check returns warnings about a server that evicts keys, and about missing permissions.
func TestCheck(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		for _, flavor := range []redistest.Flavor{redistest.Redis, redistest.Valkey} {
			s := redistest.Standalone(t, flavor)
			store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
			check := func() string {
				warnings, err := store.Check(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				return strings.Join(warnings, "\n")
			}
			if said := check(); said != "" {
				t.Errorf("%s, with nothing wrong: %s", flavor, said)
			}
			s.MustDo("config", "set", "maxmemory-policy", "allkeys-lru")
			if said := check(); !strings.HasPrefix(said, "maxmemory-policy is allkeys-lru: ") {
				t.Errorf("a policy that evicts: %q", said)
			}
			if keys := s.MustDo("keys", "*"); fmt.Sprint(keys) != "[hg/shards]" {
				t.Errorf("left by the check: %v", keys)
			}
		}
		s := redistest.Standalone(t, redistest.Redis)
		s.MustDo("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all", "-zadd", "-info")
		store := open(t, testbed.At(s.Addr(), "app:pw@"), redisstore.Config{})
		warnings, err := store.Check(context.Background())
		said := strings.Join(warnings, "\n")
		if err != nil || !strings.Contains(said, "no permission for zadd; the user needs: ACL SETUSER <name> on ~hg/*") ||
			!strings.Contains(said, "does not tell its version") {
			t.Errorf("without ZADD and INFO: %v, %s", err, said)
		}
		s.MustDo("acl", "setuser", "app", "-eval")
		if _, err := store.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "ACL SETUSER") {
			t.Errorf("without EVAL: %v", err)
		}
		s.MustDo("acl", "setuser", "app", "resetkeys", "~other/*")
		if err := store.EnsureFormat(context.Background()); err == nil || strings.Count(err.Error(), "ACL SETUSER <name> on ~hg/*") != 1 {
			t.Errorf("without the keys: %v", err)
		}
	})
}

// skewed rewrites the client's first two calls as if its clock were an hour slow, so that they contain the calendar
// window for that time.
type skewed struct {
	redisstore.Conn

	calls int
}

func (s *skewed) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	if key := commands[0].Key; key == "hg/shards" || strings.HasPrefix(key, "hg/probe/") {
		s.Conn.Do(ctx, commands, replies) // these read the marker, and ask for a command
		return
	}
	if s.calls++; s.calls <= 2 {
		args := commands[0].Args
		first := 3 + (len(args)-3)/2 // one key and one argument per operation
		packed := []byte(args[first])
		windows := len(packed) - 24 - 2 // the number of keys follows
		for at := windows; at < windows+24; at += 8 {
			us := binary.BigEndian.Uint64(packed[at:])
			binary.BigEndian.PutUint64(packed[at:], us-uint64(time.Hour.Microseconds()))
		}
		args[first] = string(packed)
	}
	s.Conn.Do(ctx, commands, replies)
}

// If a process is configured with a different number of shards than the stored states, opening the store returns an
// error that says so.
func TestShardsAgree(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	url := "redis://" + s.Addr() + "?prefix=p"
	open := func(more string) error {
		store, err := rueidisadapter.Open(context.Background(), url+more, redisstore.Config{})
		if err == nil {
			_, err = store.Check(context.Background())
			_ = store.Close()
		}
		return err
	}
	for _, step := range []struct {
		more    string
		accepts string // text that the error must contain
	}{
		{"&shards=8", ""}, {"&shards=8", ""}, {"&shards=4", "8"}, {"", "8"}, {"&db=1", ""}, {"&db=1&shards=8", "0"}, {"&shards=0", "1 to 1024"}, {"&shards=1025", "0 to 1024"}, {"&shards=x", "1 to 1024"},
	} {
		err := open(step.more)
		bad, refused := errors.AsType[*engine.InputError](err)
		if refused != (step.accepts != "") || err != nil && !refused || refused && (bad.Field != "shards" || !strings.HasPrefix(bad.Accepted, step.accepts)) {
			t.Errorf("%q: %v", step.more, err)
		}
	}
	other, err := rueidisadapter.Open(context.Background(), "redis://"+s.Addr()+"?shards=2", redisstore.Config{})
	if err != nil {
		t.Fatal("another prefix is other data:", err)
	}
	_ = other.Close()
	s.MustDo("config", "set", "maxmemory", "1")
	if err := func() error { url = "redis://" + s.Addr() + "?prefix=full"; return open("&shards=3") }(); err == nil {
		t.Error("opened, although the number of shards is not known")
	}
}

// A client's clock has no effect (regression: bugs 18 and 20). The client uses it only to choose the calendar window in
// its request. If the server's time is in another window, the server returns its time, and the client sends the
// operation again.
func TestSkew(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	wrong := &skewed{Conn: testbed.ConnOf(t, testbed.At(s.Addr(), "").Goredis())}
	store, err := redisstore.New(wrong, redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	right := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	hour := rule.FixedWindow(rule.PerHour(5), rule.Align("Asia/Shanghai"))
	for i, each := range []*redisstore.Store{store, right, store, right} {
		if r := testbed.Take(each, "k", hour); r.Err != nil || r.Binds().Remaining != 4-int64(i) {
			t.Errorf("call %d: %+v, %v", i, r, r.Err)
		}
	}
	wrong.calls = 0
	ops, results := make([]engine.Op, 3), make([]engine.Answer, 3)
	for i := range ops {
		ops[i] = engine.Op{Space: "s", Key: "batch", Charges: []engine.Charge{{Limit: hour, Cost: 1}}}
	}
	store.Do(context.Background(), ops, results)
	for i, r := range results { // in order, although the operations were sent again
		if r.Err != nil || r.Binds().Remaining != 4-int64(i) {
			t.Errorf("operation %d: %+v, %v", i, r, r.Err)
		}
	}
}

// TestSkewIsLearnt checks that the client records the clock difference from the first reply.
func TestSkewIsLearnt(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	wrong := &skewed{Conn: testbed.ConnOf(t, testbed.At(s.Addr(), "").Goredis())}
	store, err := redisstore.New(wrong, redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	hour := rule.FixedWindow(rule.PerHour(5), rule.Align("Asia/Shanghai"))
	testbed.Take(store, "k", hour)
	testbed.Take(store, "k", hour)
	// The script and the server's time each needed an extra call. From then on the clock difference is known.
	if wrong.calls != 4 {
		t.Errorf("%d calls for 2 decisions, want 4", wrong.calls)
	}
}

// TestTLSMistakes checks that a URL with TLS for a server without it, and one without TLS for a server that wants it,
// cause an error that says so, also where the server may be away at the start (regression: bug 167).
func TestTLSMistakes(t *testing.T) {
	t.Parallel()
	plain := redistest.Standalone(t, redistest.Redis, "requirepass pw")
	secure, files := redistest.TLS(t, redistest.Redis)
	for url, want := range map[string]string{
		"rediss://:pw@" + plain.Addr(): "accepted: redis://: this server answers without TLS",
		"redis://" + secure.Addr():     "accepted: rediss://: this server speaks TLS",
		"redis://:no@" + plain.Addr():  "WRONGPASS",
		"rediss://" + secure.Addr() + "?ca_file=" + files.CA + "&cert_file=" + files.Cert + "&key_file=" + files.Key + "&server_name=nobody": "certificate",
	} {
		for _, late := range []bool{false, true} {
			store, err := open.URL(t.Context(), url, open.Options{StartAway: late})
			if err == nil {
				err = store.Away
				_ = store.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s (late %t): %v, want %s", open.Redacted(url), late, err, want)
			}
		}
	}
}
