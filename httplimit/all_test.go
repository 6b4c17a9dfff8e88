package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// request returns a request of a customer from an address.
func request(address, customer string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = address + ":1"
	if customer != "" {
		r.Header.Set("Customer", customer)
	}
	return r
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A request is charged to its address and to the plan of its customer, or to neither. The response names all limits.
func TestAllOf(t *testing.T) {
	l := limiter(t)
	perAddress := l.Policy("per-address", headgate.FixedWindow{Rate: headgate.PerHour(4)})
	plans := map[string]*headgate.Policy{
		"ann": l.Policy("free", headgate.FixedWindow{Rate: headgate.PerHour(2)}),
		"bob": l.Policy("paid", headgate.TokenBucket{Rate: headgate.PerHour(9)}, headgate.FixedWindow{Rate: headgate.PerDay(90)}),
	}
	h := httplimit.By(httplimit.AllOf(l,
		httplimit.Item{Policy: perAddress, Key: httplimit.ByIP()},
		httplimit.Item{Key: httplimit.ByHeader("Customer"), Choose: func(r *http.Request) *headgate.Policy { return plans[r.Header.Get("Customer")] }},
	))(hello)
	for i, c := range []struct {
		address, customer string
		status            int
		text              string // part of the body or of the header
	}{
		{"192.0.2.1", "ann", 200, `"free";q=2;w=3600, "per-address";q=4;w=3600`},
		{"192.0.2.1", "ann", 200, `"free";q=2`},
		{"192.0.2.1", "ann", 429, `"violated-policies":["free"]`},
		{"192.0.2.1", "bob", 200, `"paid.2";q=90`}, // the denial charged nothing
		{"192.0.2.1", "bob", 200, ""},
		{"192.0.2.1", "bob", 429, `"violated-policies":["per-address"]`},
		{"192.0.2.2", "bob", 200, ""},
		{"192.0.2.2", "", 400, "header Customer"},
		{"192.0.2.2", "cid", 500, "no policy"},
	} {
		w := answer(h, request(c.address, c.customer))
		if w.Code != c.status || !strings.Contains(w.Body.String()+w.Header().Get("Ratelimit-Policy"), c.text) {
			t.Errorf("request %d: %d %s %v, want %d %s", i, w.Code, w.Body, w.Header(), c.status, c.text)
		}
	}
}

// The cost of an item can be 0 and never negative, a final cost corrects all of them, and a pacer delays the request.
func TestAllOfCostsAndDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		calls, bytes := l.Policy("calls", headgate.FixedWindow{Rate: headgate.PerHour(9)}), l.Policy("bytes", headgate.FixedWindow{Rate: headgate.PerHour(100)})
		pace := l.Policy("pace", headgate.Pacer{Rate: headgate.PerSecond(1), MaxQueue: 5})
		cost := int64(0)
		items := []httplimit.Item{
			{Policy: calls, Key: httplimit.All()},
			{Policy: pace, Key: httplimit.All()},
			{Policy: bytes, Key: httplimit.All(), Cost: func(*http.Request) int64 { return cost }},
		}
		h := httplimit.By(httplimit.AllOf(l, items...))(hello)
		began := time.Now()
		for _, cost = range []int64{0, 7} {
			if w := answer(h, request("192.0.2.1", "")); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("two requests took %s under a pacer", took)
		}
		left := func(p *headgate.Policy, want int64) {
			t.Helper()
			if d, err := p.Peek(t.Context(), "all", 1); err != nil || d.Remaining != want {
				t.Errorf("%s: %d left, %v; want %d", p.Name(), d.Remaining, err, want)
			}
		}
		left(bytes, 93)
		cost = -1
		if w := answer(h, request("192.0.2.1", "")); w.Code != 500 {
			t.Errorf("a negative cost: %d %s", w.Code, w.Body)
		}
		left(calls, 7)
		cost = 5
		refunds := httplimit.By(httplimit.AllOf(l, items[0], items[2]), httplimit.WithFinalCost(httplimit.OnlyFailures))(hello)
		if w := answer(refunds, request("192.0.2.1", "")); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		left(calls, 7)
		left(bytes, 93)
	})
}

// Policies that cannot charge are the program's mistake: at the start, or as a 500 if they are chosen later.
func TestAllOfMistakes(t *testing.T) {
	l := limiter(t)
	good, bad := l.Policy("good", headgate.NoLimit()), l.Policy("bad", headgate.TokenBucket{})
	other := headgate.New().Policy("other", headgate.NoLimit())
	for name, items := range map[string][]httplimit.Item{
		"no items": nil, "no key": {{Policy: good}}, "no policy": {{Key: httplimit.All()}}, "invalid": {{Policy: bad, Key: httplimit.All()}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			httplimit.AllOf(l, items...)
		}()
	}
	for _, p := range []*headgate.Policy{bad, other, nil} {
		item := httplimit.Item{Key: httplimit.All(), Choose: func(*http.Request) *headgate.Policy { return p }}
		h := httplimit.By(httplimit.AllOf(l, item), httplimit.WithError(httplimit.FailOpen))(hello)
		if w := answer(h, request("192.0.2.1", "")); w.Code != 500 {
			t.Errorf("%s chosen: %d %s", p.Name(), w.Code, w.Body)
		}
	}
	two := l.Policy("two", headgate.NoLimit(), headgate.FixedWindow{Rate: headgate.PerHour(1)})
	for n, p := range map[int]*headgate.Policy{33: good, 17: two} { // a request may have 32 items and 32 limits
		items := make([]httplimit.Item, n)
		for i := range items {
			items[i] = httplimit.Item{Policy: p, Key: func(*http.Request) (string, bool) { return strconv.Itoa(i), true }}
		}
		if w := answer(httplimit.By(httplimit.AllOf(l, items...))(hello), request("192.0.2.1", "")); w.Code != 500 {
			t.Errorf("%d items of %s: %d %s", n, p.Name(), w.Code, w.Body)
		}
	}
}

// Three requests of a customer are served at a time. Each holds its unit until it has been served, beyond the lease time,
// and gives it back even if the handler panics.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		defer l.Close()
		exports := l.Semaphore("exports", headgate.Concurrency{Units: 3, Lease: 10 * time.Second})
		h := httplimit.By(httplimit.InFlight(exports, httplimit.ByHeader("Customer")))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			if r.Header.Get("Panic") != "" {
				panic(http.ErrAbortHandler)
			}
		}))
		for range 2 {
			for i := range 3 {
				go func() {
					defer func() { _ = recover() }()
					r := request("192.0.2.1", "ann")
					if i == 0 {
						r.Header.Set("Panic", "yes")
					}
					answer(h, r)
				}()
			}
			synctest.Wait()
			for range 5 {
				if w := answer(h, request("192.0.2.1", "ann")); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
					t.Errorf("a fourth: %d %v", w.Code, w.Header())
				}
				time.Sleep(11 * time.Second)
			}
			time.Sleep(6 * time.Second)
			if d, err := exports.Peek(t.Context(), "ann", 1); err != nil || d.Remaining != 3 {
				t.Errorf("after all have been served: %+v, %v", d, err)
			}
		}
		if w := answer(h, request("192.0.2.1", "")); w.Code != 400 {
			t.Errorf("without a key: %d", w.Code)
		}
	})
}
