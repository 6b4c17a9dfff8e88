package redisurl

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
)

// An accepted address can be dialled and has every field that its kind needs. Any other URL is an input error, and no
// error contains a password.
func FuzzParse(f *testing.F) {
	// This word cannot occur by chance, unlike "0000", which is part of the quoted text "\x80000".
	const secret = "swordfish"
	for _, seed := range []string{
		"redis://user:swordfish@host:6379/3?prefix=p", "rediss://h", "redis+sentinel://a:1,b,[::1]:3/m?db=2", "redis+cluster://a,b",
		"unix://:swordfish@/run/s.sock?db=1", "redis://%41:%2F@h", "redis://u:swordfish@@h/x", "valkey://h?db=1&db=2",
		"redis://:swordfish@h:x", "redis+sentinel://:swordfish@h/", "redis+cluster://:swordfish@h/9",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "_file") {
			return // Parse does not read them
		}
		a, err := Parse(text)
		if err != nil {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%q: %v", text, err)
			}
			if strings.Contains(a.Password, secret) && strings.Count(text, secret) == 1 && strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error shows the password: %v", text, err)
			}
			return
		}
		if len(a.Hosts) == 0 || a.Kind == "sentinel" && a.Master == "" || a.Kind == "" && len(a.Hosts) != 1 || a.DB < 0 || a.Kind == "cluster" && a.DB != 0 {
			t.Errorf("%q: %+v", text, a)
		}
		for _, host := range a.Hosts {
			if a.Kind == "unix" {
				continue
			}
			name, port, err := net.SplitHostPort(host)
			if n, bad := strconv.Atoi(port); err != nil || bad != nil || name == "" || n < 1 || n > 65535 {
				t.Errorf("%q: the host %q cannot be dialled: %v", text, host, err)
			}
		}
	})
}

// A deadline is a duration or the word none. If it is neither, the error does not repeat the text.
func TestDeadline(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "?deadline=50ms": 50 * time.Millisecond, "?prefix=a&deadline=1m": time.Minute, "?deadline=1ms": time.Millisecond, "?deadline=none": -1,
	} {
		if a, err := Parse("redis://h" + text); err != nil || a.Deadline != want {
			t.Errorf("%s: %s, %v; want %s", text, a.Deadline, err, want)
		}
	}
	for _, text := range []string{"50", "0s", "-50ms", "999us", "61s", "soon"} {
		_, err := Parse("redis://h?deadline=" + text)
		if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), text+"\"") || !strings.Contains(err.Error(), "accepted: ?deadline=50ms: 1ms to 1m, or none") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An option must have a value. The database may be given once, or twice with the same number.
func TestContradictoryOptions(t *testing.T) {
	for text, want := range map[string]string{
		"redis://h/2?db=1":                          `store is database "2" and ?db=1; accepted: one of them, or both the same`,
		"redis://h?prefix=":                         "store is ?prefix= without a value; accepted: a value, or no prefix",
		"redis://h?deadline":                        "store is ?deadline= without a value; accepted: a value, or no deadline",
		"redis://h/0?shards=":                       "store is ?shards= without a value",
		"redis+cluster://h?max_in_flight=&shards=6": "store is ?max_in_flight= without a value",
		"unix:///run/s.sock?db=":                    "store is ?db= without a value",
		"redis://u:p@h?password_file=f":             "store is a URL with a password beside a password file; accepted: one of them",
		"redis://h?password_file=":                  "store is ?password_file= without a value",
		"redis://h/2?db=2":                          "",
		"redis://h/?db=2":                           "",
		"redis+sentinel://h/main?db=2":              "",
		"redis://h/2?prefix=a&":                     "",
	} {
		a, err := Parse(text)
		switch {
		case want == "":
			if err != nil || a.DB != 2 {
				t.Errorf("%s: database %d, %v", text, a.DB, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
