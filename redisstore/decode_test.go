package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// Decoding a truncated reply returns an error, never a decision.
func FuzzReply(f *testing.F) {
	f.Add("\x00\x06\x60\xc2\x25\x9e\x81\xa1\x01"+strings.Repeat("\x00", 40), uint8(0))
	f.Add("\x00\x06\x60\xc2\x25\x9e\x81\xa1\x02\x03OOM", uint8(0))
	f.Add("", uint8(5))
	limit := rule.TokenBucket(rule.PerSecond(10))
	read := func(text string, kind uint8) *reader {
		op := engine.Op{Kind: engine.Kind(kind % 9), Key: "k", Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
		r := &reader{text: text}
		at := r.integer(8)
		var result engine.Answer
		if errorText, _ := r.answer(&op, &result, make([]algo.Step, 1), at); r.bad && errorText != "" {
			panic(fmt.Sprintf("%q: cut short, and with an error text", text))
		}
		return r
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		r := read(text, kind)
		if r.bad {
			return
		}
		if used := len(text) - len(r.text); !read(text[:used-1], kind).bad {
			t.Errorf("%q is read without its last byte", text[:used])
		}
	})
}

// Decoding a truncated state returns an error.
func FuzzFound(f *testing.F) {
	f.Add("\x00", false)
	f.Add("\x01"+strings.Repeat("\x01", 35), false)
	f.Add("\x01"+strings.Repeat("\x01", 14), true)
	f.Add("\xff\x03OOM\x01"+strings.Repeat("\x01", 35), false)
	f.Add("\xfe\x09RECOMPUTE", true)
	limits := map[bool]engine.Limit{
		false: rule.TokenBucket(rule.PerSecond(10)), true: rule.FixedWindow(rule.PerSecond(10)),
	}
	f.Fuzz(func(t *testing.T, text string, window bool) {
		limit := limits[window].Numbers()
		r := &reader{text: text}
		if r.found(limit); r.bad {
			return
		}
		short := &reader{text: text[:len(text)-len(r.text)-1]}
		if got := short.found(limit); !short.bad {
			t.Errorf("%q is read without its last byte: %+v", text[:len(text)-len(r.text)], got)
		}
	})
}
