package route

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// must returns value. It panics if err is not nil, which means that a string in a test is invalid.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// pick returns one of the values at random.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// randomRoute returns a route whose conditions use few different values, so that many routes overlap.
func randomRoute(random *rand.Rand) (r Route) {
	m := &r.Match
	if host := pick(random, "", "", "a.test", "*.test", "*.a.test", "b.test"); host != "" {
		m.Host = must(ParseHost(host))
	}
	if random.IntN(5) > 0 {
		var b strings.Builder
		for range random.IntN(4) {
			b.WriteString("/" + pick(random, "x", "y", "z", "*", "{n}"))
			if strings.Contains(b.String(), "{n}") {
				break
			}
		}
		b.WriteString(pick(random, "", "/**", "/x"))
		m.Path = must(ParsePath("/" + strings.TrimPrefix(b.String(), "/")))
	}
	if random.IntN(4) == 0 {
		m.Methods = []string{pick(random, "GET", "POST")}
	}
	for _, name := range []string{"A", "B"} {
		if random.IntN(4) == 0 {
			m.Headers = append(m.Headers, must(HeaderValue(name, pick(random, "1", "2", "*", "1*"))))
		}
	}
	if random.IntN(5) == 0 {
		m.Query = append(m.Query, QueryValue("q", pick(random, "1", "2", "*")))
	}
	for range max(random.IntN(4)-1, 0) {
		m.Clients = append(m.Clients, netip.MustParsePrefix(pick(random, "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "fd00::/8", "fd00:1::/32")))
	}
	if random.IntN(10) == 0 {
		m.When = must(CompileWhen(`request.headers["a"] == "1"`))
	}
	r.Charges = []Charge{{Key: []Part{pick(random, Part{Name: "all"}, Part{From: FromHeader, Name: "B"})}}}
	if random.IntN(3) == 0 {
		r.Charges = append(r.Charges, Charge{Key: []Part{{From: FromHeader, Name: "A"}}})
	}
	r.Skip = random.IntN(2) == 0
	return r
}

func randomRequest(random *rand.Rand) Request {
	r := Request{
		Method: pick(random, "GET", "HEAD", "POST"), Host: pick(random, "a.test", "b.test", "c.a.test", "other", ""),
		Header: http.Header{}, Query: pick(random, "", "q=1", "q=2&q=1", "q=3"),
		Peer: netip.MustParseAddr(pick(random, "10.1.2.3", "10.9.9.9", "192.0.2.1", "fd00:1::1", "2001:db8::1")),
	}
	for range random.IntN(5) {
		r.Path += pick(random, "/", "//", "/./") + pick(random, "x", "y", "z", "%78", "x/../y", "w")
	}
	for _, name := range []string{"A", "B"} {
		for range random.IntN(3) {
			r.Header.Add(name, pick(random, "1", "2", "12", ""))
		}
	}
	return r
}

// TestTableEqualsLinearSearch compares Find with Explain, which tries the routes one by one, for random routes and
// requests.
func TestTableEqualsLinearSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	found := map[bool]int{}
	for range 300 {
		routes := make([]Route, random.IntN(40))
		for i := range routes {
			routes[i] = randomRoute(random)
		}
		table := New(routes, Proxies{})
		for range 50 {
			r := randomRequest(random)
			got, ok := table.Find(&r)
			want := table.Explain(&r, 0).Match
			if ok != (want != nil) || ok && (got.Index != want.Index || !slices.Equal(got.Items, want.Items) || (got.NoKey == nil) != (want.NoKey == nil)) {
				t.Fatalf("%+v has route %+v (%t), want %+v", r, got, ok, want)
			}
			found[ok]++
		}
	}
	if found[true] < 1000 || found[false] < 1000 {
		t.Errorf("%d requests with and %d without a route: the comparison is empty", found[true], found[false])
	}
}

func TestEmptyTableFindsNothing(t *testing.T) {
	for _, table := range []*Table{nil, New(nil, Proxies{})} {
		if _, ok := table.Find(&Request{Path: "/"}); ok || table.WhenErrors() != 0 {
			t.Error("a table without routes finds one")
		}
	}
}

// A route is tried only once, however often the request repeats the indexed header or field (regression: bug 69).
func TestRepeatedValuesTryARouteOnce(t *testing.T) {
	when := must(CompileWhen(`request.headers["missing"] == "1"`)) // every evaluation fails
	routes := []Route{{Match: Conditions{Headers: []Value{must(HeaderValue("X", "1"))}, When: when}, Charges: constant}}
	for i := range 40 { // more lists than Find merges without sorting
		routes = append(routes, Route{Match: Conditions{Headers: []Value{must(HeaderValue("X", fmt.Sprint(i)))}, Methods: []string{"PUT"}}, Charges: constant})
	}
	table := New(routes, Proxies{})
	r := Request{Method: "GET", Path: "/", Header: http.Header{}}
	for i := range 10_000 {
		r.Header.Add("X", fmt.Sprint(i%50))
	}
	if m, ok := table.Find(&r); ok {
		t.Errorf("route %d", m.Index)
	}
	if n := table.WhenErrors(); n != 1 {
		t.Errorf("the route was tried %d times", n)
	}
}

// BenchmarkFind shows that a search among ten thousand routes takes as long as a search among ten, whatever condition
// distinguishes them.
func BenchmarkFind(b *testing.B) {
	forms := []struct {
		name string
		make func(i int) Conditions
		hit  func(r *Request, i int)
	}{
		{
			"path", func(i int) Conditions { return Conditions{Path: must(ParsePath(fmt.Sprintf("/v1/r%d/{id}", i)))} },
			func(r *Request, i int) { r.Path = fmt.Sprintf("/v1/r%d/7", i) },
		},
		{
			"suffix", func(i int) Conditions { return Conditions{Path: must(ParsePath(fmt.Sprintf("/v1/{id}/r%d/**", i)))} },
			func(r *Request, i int) { r.Path = fmt.Sprintf("/v1/7/r%d/x", i) },
		},
		{
			"host", func(i int) Conditions { return Conditions{Host: must(ParseHost(fmt.Sprintf("*.h%d.test", i)))} },
			func(r *Request, i int) { r.Host = fmt.Sprintf("api.h%d.test", i) },
		},
		{"header", func(i int) Conditions {
			return Conditions{Headers: []Value{must(HeaderValue("X-Tenant", fmt.Sprint(i)))}}
		}, func(r *Request, i int) { r.Header.Set("X-Tenant", fmt.Sprint(i)) }},
		{
			"query", func(i int) Conditions { return Conditions{Query: []Value{QueryValue("tenant", fmt.Sprint(i))}} },
			func(r *Request, i int) { r.Query = fmt.Sprintf("tenant=%d", i) },
		},
		{"client", func(i int) Conditions {
			return Conditions{Clients: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}), 24)}}
		}, func(r *Request, i int) { r.Peer = netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 9}) }},
	}
	for _, form := range forms {
		for _, n := range []int{10, 10_000} {
			routes := make([]Route, n)
			for i := range routes {
				routes[i] = Route{Match: form.make(i), Charges: constant}
			}
			table := New(routes, Proxies{})
			r := Request{Method: "GET", Host: "h", Path: "/", Header: http.Header{}}
			form.hit(&r, n/2)
			b.Run(fmt.Sprintf("%s/%d", form.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if m, ok := table.Find(&r); !ok || m.Index != n/2 {
						b.Fatal(m.Index, ok)
					}
				}
			})
		}
	}
}
