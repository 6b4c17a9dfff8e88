package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headgate/headgate/headgatetest"
)

const noTake = "limit is concurrency; accepted: acquire and release on a concurrency limit, not allow"

func TestProblemsNameTheField(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	for _, s := range []struct {
		body   string
		status int
		detail string
	}{
		{``, 400, "body is not JSON: it ends too early"},
		{`{"policy":"burst","key":"k"`, 400, "body is not JSON: it ends too early"},
		{`{"policy":"burst","key":"k"} {}`, 400, "body must be one JSON object with nothing after it"},
		{`[]`, 400, "body must not be a JSON array; accepted: object"},
		{`{"policy":"burst","key":"k","costs":1}`, 400, `unknown field "costs"; did you mean "cost"? accepted: policy, limit, key, cost, class, charges, atomic, outcomes, requests`},
		{`{"policy":"burst","key":"k","cost":1,"cost":9}`, 400, "cost occurs twice in one object; accepted: each name once"},
		{`{"policy":"burst","key":"k","KEY":"other"}`, 400, "KEY occurs twice in one object; accepted: each name once"},
		{`{"policy":"burst","key":"k","\u006bey":"other"}`, 400, "key occurs twice in one object; accepted: each name once"},
		{`{"key":"k","limit":{"algorithm":"gcra","rate":"1/s","rate":"9/s"}}`, 400, "rate occurs twice in one object; accepted: each name once"},
		{`{"policy":"burst","key":"k","cost":1.5}`, 400, "cost must not be a JSON number 1.5; accepted: whole number"},
		{`{"policy":"burst","key":"k","cost":"1"}`, 400, "cost must not be a JSON string; accepted: whole number"},
		{`{"policy":"burst","key":"k","cost":9223372036854775808}`, 400, "cost must not be a JSON number 9223372036854775808; accepted: whole number up to 9223372036854775807"},
		{`{"key":"k","limti":"1/s"}`, 400, `unknown field "limti"; did you mean "limit"? accepted: policy, limit, key, cost, class, charges, atomic, outcomes, requests`},
		{`{"key":"k","limit":{"rte":"1/s"}}`, 400, `unknown field "rte"`},
		{`{"policy":"burst","key":"k","cost":-1}`, 400, "cost is -1; accepted: a whole number, 0 or more"},
		{`{"policy":"burst","key":7}`, 400, "key must not be a JSON number; accepted: string"},
		{`{"policy":"burst"}`, 400, "key is not set; accepted: 1 to 1024 bytes"},
		{`{"policy":"burst","key":""}`, 400, `key is ""; accepted: 1 to 1024 bytes`},
		{`{"key":"k"}`, 400, "policy is not set; accepted: the name of a policy, or limit instead"},
		{`{"policy":"burst","key":"k","limit":"1/s"}`, 400, "limit with policy; accepted: one of them"},
		{`{"policy":"missing","key":"k"}`, 404, `no policy "missing"`},
		{`{"key":"k","limit":5}`, 400, `limit must not be a JSON number; accepted: object, or string such as "5/1m"`},
		{`{"key":"k","limit":{"all":["1/s",["5/1m"]]}}`, 400, `limit.all.1 must not be a JSON array; accepted: object, or string such as "5/1m"`},
		{`{"policy":"burst","key":"k","limit":{"burst":"x"}}`, 400, "limit.burst must not be a JSON string; accepted: whole number"},
		{`{"key":"k","limit":{"all":["1/s",{"burst":"x"}]}}`, 400, "limit.all.1.burst must not be a JSON string; accepted: whole number"},
		{`{"key":"k","limit":{"windows":[{"limit":1},{"limit":"x"}]}}`, 400, "limit.windows.1.limit must not be a JSON string; accepted: whole number"},
		{`{"key":"k","limit":` + strings.Repeat(`{"all":[`, 4900) + strings.Repeat(" ", 900_000), 400, "body: nested deeper than 10 levels"},
		{
			`{"key":"k","limit":` + strings.Repeat(`{"all":[`, 4900) + strings.Repeat(" ", 900_000) + strings.Repeat(`]}`, 4900) + `}`,
			400, "body: nested deeper than 10 levels",
		},
		{`{"key":"k","limit":{"algorithm":"magic"}}`, 422, ""},
		{`{"key":"k","limit":{"algorithm":"token-bucket","rate":"0/s"}}`, 422, "limit.rate is 0/s; accepted: a count of 1 to 281474976710655"},
		{`{"key":"k","limit":{"algorithm":"token-bucket","rate":"1/s","burst":0}}`, 422, "limit.burst is 0; accepted: 1 to 281474976710655"},
		{`{"key":"k","limit":{"algorithm":"token-bucket","rate":"1/s","max_wait":"1s"}}`, 422, "limit.max_wait is set; accepted: no such field on token-bucket"},
		{`{"key":"k","limit":{"algorithm":"fixed-window","limit":0,"window":"1m"}}`, 422, "limit.limit is 0; accepted: 1 to 281474976710655"},
		{`{"key":"k","limit":{"algorithm":"fixed-window","limit":1,"window":"x"}}`, 422, `limit.window is "x"; accepted: a duration with its unit, such as 1m, 1d, 1w`},
		{`{"key":"k","limit":{"algorithm":"pacer","rate":"1/s","max_wait":"x"}}`, 422, `limit.max_wait: duration is "x"; accepted: a whole duration with its unit, such as 100ms, 1m30s, 1d or 2w`},
		{
			`{"key":"k","limit":{"algorithm":"sliding-log","windows":[{"limit":1,"window":"1m"},{"limit":2,"window":"1us"}]}}`,
			422, "limit.windows.1.window is 1µs; accepted: 1ms to 36525d, in whole microseconds",
		},
		{
			`{"key":"k","limit":{"algorithm":"sliding-log","windows":[{"limit":200000,"window":"1m"}]}}`,
			422, "limit.windows.0.limit is 200000; accepted: 1 to 100000 on a sliding-log; beyond that use sliding-window strict",
		},
		{`{"key":"k","limit":{"all":["5/s",{"algorithm":"token-bucket","rate":"1/s","burst":0}]}}`, 422, "limit.all.1.burst is 0; accepted: 1 to 281474976710655"},
		{
			`{"key":"k","limit":{"all":["5/s name \"a\"","6/s name \"a\""]}}`,
			422, "limit.all is token-bucket a twice; accepted: limits of one algorithm with different names",
		},
		{`{"key":"k","limit":"5"}`, 422, `limit: rate is "5"; accepted: a whole number per duration, such as "100/s" or "5/1m"`},
		{`{"key":"k","limit":{"all":["5/s","6"]}}`, 422, `limit.all.1: rate is "6"; accepted: a whole number per duration, such as "100/s" or "5/1m"`},
		{`{"key":"k","limit":{"algorithm":"concurrency","limit":5}}`, 422, noTake},
		{`{"key":"k","limit":"concurrency 5"}`, 422, noTake},
		{`{"key":"k","limit":{"all":["1/s",{"algorithm":"concurrency","limit":5}]}}`, 422, noTake},
		{`{"policy":"burst","key":"k","atomic":true}`, 400, "atomic without charges; accepted: with charges"},
		{`{"policy":"burst","key":"k","id":"a"}`, 400, `unknown field "id"; accepted: policy, limit, key, cost, class, charges, atomic, outcomes`},
		{`{"policy":"burst","key":"k","reservation":"a"}`, 400, `unknown field "reservation"; accepted: policy, limit, key, cost, class, charges, atomic, outcomes`},
		{`{"requests":[]}`, 400, "requests: 1 to 1000 in one batch"},
		{`{"requests":[{}],"key":"k"}`, 400, "requests must be the only field: the others belong inside it"},
		{`{"charges":[]}`, 400, "charges: 1 to 32 in one request"},
		{`{"charges":[` + strings.Repeat(`{},`, 32) + `{}]}`, 400, "charges: 1 to 32 in one request"},
		{`{"charges":{}}`, 400, "charges must not be a JSON object; accepted: array"},
		{`{"charges":[{}],"cost":1}`, 400, "charges with policy, limit, key or cost; accepted: these inside charges"},
		{`{"charges":[{"policy":"burst","key":"k"},7]}`, 400, "charges.1: no JSON object; accepted: objects"},
		{`{"charges":[{"policy":"burst"}]}`, 400, "charges.0: key is not set; accepted: 1 to 1024 bytes"},
		{`{"charges":[{"policy":"burst","key":""}]}`, 400, `charges.0: key is ""; accepted: 1 to 1024 bytes`},
		{`{"charges":[{"policy":"burst","key":"k"},{"policy":"burst","key":"k","kost":1}]}`, 400, `charges.1: unknown field "kost"; did you mean "cost"? accepted: policy, limit, key, cost`},
		{`{"charges":[{"policy":"burst","key":"k","cost":"1"}]}`, 400, "charges.0: cost must not be a JSON string; accepted: whole number"},
		{`{"charges":[{"policy":"burst","key":"k","cost":-1}]}`, 400, "charges.0: cost is -1; accepted: a whole number, 0 or more"},
		{`{"charges":[{"policy":"burst","key":"k"},{"policy":"missing","key":"k"}]}`, 404, `charges.1: no policy "missing"`},
		{`{"charges":[{"limit":{"algorithm":"token-bucket","rate":"0/s"},"key":"k"}]}`, 422, "charges.0: limit.rate is 0/s; accepted: a count of 1 to 281474976710655"},
		{`{"charges":[{"limit":{"all":["1/s"]},"key":"k"}]}`, 400, "charges.0: limit.all in a charge; accepted: one limit, and a charge for each"},
		{`{"charges":[{"limit":"concurrency 5","key":"k"}]}`, 422, "charges.0: " + noTake},
		{`{"key":"` + strings.Repeat("k", 1<<20) + `"}`, 413, "body is larger than 1 MiB"},
	} {
		w := f.post("/v1/allow", s.body)
		var p struct {
			Status int
			Detail string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != s.status || p.Status != s.status || s.detail != "" && p.Detail != s.detail {
			t.Errorf("%.60s: %d %q, want %d %q", s.body, w.Code, p.Detail, s.status, s.detail)
		}
	}
}

// TestProblemsOfHolds checks that the error for an invalid request about reservations or permits names the field.
func TestProblemsOfHolds(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	for _, s := range []struct{ path, body, detail string }{
		{"reserve", `{"policy":"burst","key":"k","max_delay_ms":-1}`, "max_delay_ms is -1; accepted: 0 to 3155760000000"},
		{"reserve", `{"policy":"burst","key":"k","actual":1}`, `unknown field "actual"; accepted: policy, limit, key, cost, class, charges, atomic, max_delay_ms, outcomes`},
		{"commit", `{"actual":1}`, "reservation is not set; accepted: the reservation from the answer to reserve"},
		{"commit", `{"reservation":"x"}`, "actual is not set; accepted: the units that were used, 0 or more, or a list with the units of each charge"},
		{"commit", `{"reservation":"x","actual":-1}`, "actual is -1; accepted: a whole number, 0 or more"},
		{"commit", `{"reservation":"x","actual":[1,-2]}`, "charges.1: actual is -2; accepted: a whole number, 0 or more"},
		{"commit", `{"reservation":"x.y","actual":1}`, "reservation is not one of this service; accepted: the reservation from the answer to reserve"},
		{"cancel", `{"reservation":"x","actual":1}`, `unknown field "actual"; accepted: reservation`},
		{"cancel", `{"policy":"burst","key":"k"}`, `unknown field "policy"; accepted: reservation`},
		{"acquire", `{"policy":"burst","key":"k","id":""}`, `id is ""; accepted: the id of the acquire, 1 to 64 bytes`},
		{"renew", `{"policy":"burst","key":"k"}`, `id is not set; accepted: the id of the acquire, 1 to 64 bytes`},
		{"release", `{"policy":"burst","key":"k","id":"` + strings.Repeat("x", 65) + `"}`, `id is 65 bytes; accepted: the id of the acquire, 1 to 64 bytes`},
		{"renew", `{"policy":"burst","key":"k","id":"a","cost":1}`, `unknown field "cost"; accepted: policy, limit, key, id, reservation`},
	} {
		w := f.post("/v1/"+s.path, s.body)
		var p struct{ Detail string }
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 400 || p.Detail != s.detail {
			t.Errorf("%s %.60s: %d %q, want 400 %q", s.path, s.body, w.Code, p.Detail, s.detail)
		}
	}
}

// TestChangedReservation checks that a reservation with one modified byte settles nothing.
func TestChangedReservation(t *testing.T) {
	f, _, _ := open(t, headgatetest.NewClock())
	var a struct{ Reservation string }
	if err := json.Unmarshal(f.post("/v1/reserve", `{"policy":"burst","key":"k","cost":5}`).Body.Bytes(), &a); err != nil || a.Reservation == "" {
		t.Fatal(err)
	}
	for i := range a.Reservation {
		changed := []byte(a.Reservation)
		if changed[i]++; f.post("/v1/cancel", `{"reservation":`+encode(t, string(changed))+`}`).Code != 400 {
			t.Fatalf("byte %d can be changed", i)
		}
	}
	if w := f.post("/v1/cancel", `{"reservation":"`+a.Reservation+`"}`); w.Code != 200 || w.Body.String() != "{\"settled\":true}\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
