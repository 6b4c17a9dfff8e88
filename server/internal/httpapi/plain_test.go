package httpapi

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	policies "github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/server/internal/verbs"
)

// TestPlain covers bodies that are parsed without encoding/json, and some that are not.
func TestPlain(t *testing.T) {
	for text, isPlain := range map[string]bool{
		`{"policy":"api","key":"k"}`:                 true,
		" {\n\t\"key\" : \"k\" , \"cost\" :\r 17 } ": true,
		`{"policy":"","key":"","cost":0}`:            true,
		`{"key":"~ !"}`:                              true,
		`{"cost":999999999999999999}`:                true,
		`{}`:                                         false,
		`{"cost":9999999999999999999}`:               false,
		`{"cost":-1}`:                                false,
		`{"cost":01}`:                                false,
		`{"cost":1.0}`:                               false,
		`{"cost":1e3}`:                               false,
		`{"cost":"1"}`:                               true,
		`{"Key":"k"}`:                                false,
		`{"key":"k","key":"l"}`:                      false,
		`{"key":"k",}`:                               false,
		`{"key":"k"} x`:                              false,
		`{"key":"k"}{}`:                              false,
		`{"key":"\u006b"}`:                           false,
		`{"key":"é"}`:                                false,
		`{"key":null}`:                               false,
		`{"key":"k","id":"i","max_delay_ms":5}`:      true,
		`{"key":"k","nope":1}`:                       false,
		`{"key":"k","limit":"5/1m"}`:                 false,
		`{"key":"k`:                                  false,
		`{"key":"k" "cost":1}`:                       false,
		`[{"key":"k"}]`:                              false,
		``:                                           false,
		`}`:                                          false,
		`{"requests":[{"policy":"api","key":"k"}]}`:                  false,
		`{"policy":"api","key":"` + strings.Repeat("k", 2000) + `"}`: true,
	} {
		if _, ok := plain([]byte(text)); ok != isPlain {
			t.Errorf("%.60s: %t, want %t", text, ok, isPlain)
		}
		samePlain(t, []byte(text))
	}
}

// samePlain compares the parsed values with those from package jsontext.
func samePlain(t *testing.T, data []byte) {
	t.Helper()
	fields, ok := plain(data)
	if !ok {
		return
	}
	if err := jsontext.NewScanner(&shape).Write(data); err != nil {
		t.Errorf("%q: %v", data, err)
	}
	var value json.RawMessage
	var o object
	if err := errors.Join(jsontext.Decode("body", data, &value), o.read("body", value, members, nil)); err != nil || !reflect.DeepEqual(o, fields) {
		t.Errorf("%q: %q, but jsontext has %q %v", data, fields, o, err)
	}
}

// FuzzPlain checks that values parsed without encoding/json are the same as values parsed with it.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"policy":"api","key":"k","cost":5}`))
	f.Add([]byte(" {\n\"key\" : \"k\" }\n"))
	f.Fuzz(samePlain)
}

// TestAppendDecision checks that answers written without encoding/json are the same as answers written with it.
func TestAppendDecision(t *testing.T) {
	seen := 0
	for _, retry := range []time.Duration{0, 1, 1500 * time.Microsecond, headgate.Never} {
		for _, promise := range []engine.Promise{{}, {Mode: engine.Leased, OvershootMax: 7}, {Mode: engine.Fallback, OvershootMax: engine.Unbounded}} {
			for _, policy := range []string{"", "api-1.x_Y"} {
				for _, unlimited := range []bool{false, true} {
					for limits := range 3 {
						r := decide.Response{Policy: policy, Answer: engine.Answer{Allowed: retry == 0, Delay: retry / 2, Promise: promise}}
						r.Resize(max(1, limits))
						r.SetCharges(slices.Repeat([]policies.Charge{policies.Inline(engine.Charge{})}, limits)...)
						*r.Binds() = engine.Standing{Unlimited: unlimited, Limit: 4294967295, Remaining: 12, RetryAfter: retry, ResetAfter: time.Hour + 1}
						got, ok := appendDecision(nil, &r)
						if want := limits < 2 && promise.OvershootMax != engine.Unbounded; ok != want {
							t.Errorf("%+v: %t", r, ok)
						}
						want, err := json.Marshal(decisionOf(&r))
						if ok && (err != nil || string(got) != string(want)+"\n") {
							t.Errorf("got  %swant %s", got, want)
						}
						if ok {
							seen++
						}
					}
				}
			}
		}
	}
	if seen != 64 {
		t.Errorf("%d plain decisions", seen)
	}
}

// BenchmarkPlain measures the plain form, and encoding/json for comparison.
func BenchmarkPlain(b *testing.B) {
	text := []byte(`{"policy":"per-user","key":"user-1234567","cost":1}`)
	r := decide.Response{Policy: "per-user", Answer: engine.Answer{Allowed: true}}
	*r.Binds() = engine.Standing{Limit: 100, Remaining: 42, ResetAfter: time.Second}
	v := &verb{Verb: &verbs.All[0]}
	b.Run("read/plain", func(b *testing.B) {
		for b.Loop() {
			o, _ := plain(text)
			if err := v.request(&o, new(decide.Request)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read/json", func(b *testing.B) {
		for b.Loop() {
			var value json.RawMessage
			var o object
			if err := errors.Join(jsontext.Decode("body", text, &value), o.read("body", value, members, nil), v.request(&o, new(decide.Request))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write/plain", func(b *testing.B) {
		for b.Loop() {
			appendDecision(make([]byte, 0, 256), &r)
		}
	})
	b.Run("write/json", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(decisionOf(&r)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
