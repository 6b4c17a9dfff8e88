package route

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// A client cannot skip a route by making a part of its key unreadable. Only a missing part skips the route.
func TestUnreadablePartsSkipNoRoute(t *testing.T) {
	parts := map[string]Part{
		"path": {From: FromPath, Name: "account"}, "basic": {From: FromHeader, Name: "Authorization"},
		"cookie": {From: FromCookie, Name: "sid"}, "query": {From: FromQuery, Name: "token"},
		"jwt": {From: FromJWT, Name: "Authorization", Claim: "sub"}, "header": {From: FromHeader, Name: "X-API-Key"},
		"bearer": {From: FromBearer, Name: "Authorization"}, "api_key": {From: FromQuery, Name: "api_key"}, "filter[id]": {From: FromQuery, Name: "filter[id]"},
	}
	const token = "Bearer e30.eyJzdWIiOiJhIn0."
	for _, c := range []struct {
		part, header, value, query, path string
		want                             string // the missing part; "" if the route is skipped
	}{
		{part: "header"},
		{part: "cookie"},
		{part: "cookie", header: "Cookie", value: "other=1"},
		{part: "cookie", header: "Cookie", value: "sid="},
		{part: "cookie", header: "Cookie", value: strings.Repeat("; ", 2000) + "other=1"},
		{part: "cookie", header: "Cookie", value: "sid=a" + strings.Repeat(";", 3001), want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: `sid="a`, want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: "sid=\xc3\xa4", want: "cookie sid"},
		{part: "query"},
		{part: "query", query: "other=1&token="},
		{part: "query", query: "a;token=1", want: "query token"},
		{part: "query", query: "token=%zz", want: "query token"},
		{part: "jwt"},
		{part: "jwt", header: "Authorization", value: "Basic YTpi"},
		{part: "jwt", header: "Authorization", value: "Bearer opaque"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.e30.s"},
		{part: "jwt", header: "Authorization", value: token + strings.Repeat("s", 9000), want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: token + "s.s", want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.eyJ!.s", want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.W10.s", want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.eyJzdWIiOlsxXX0.s", want: "jwt Authorization sub"}, // {"sub":[1]}
		{part: "cookie", header: "Cookie", value: "a=b sid=real", want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: "a=b,sid=real", want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: "a=\"b sid=real\"", want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: "sid=real,x=1", want: "cookie sid"}, // regression: bug 218
		{part: "cookie", header: "Cookie", value: "sid=real%00x", want: "cookie sid"}, // regression: bug 216
		{part: "query", query: "token=real%00x", want: "query token"},
		{part: "query", query: "q=100%&a;b=1"}, // no token
		{part: "query", query: "x;TOKEN=1", want: "query token"},
		{part: "path", path: "/ann%00x", want: "path account"},
		{part: "path", path: "/ann%7f", want: "path account"},
		{part: "basic", header: "Authorization", value: "Bearer real x", want: "header Authorization"}, // regression: bug 217
		{part: "basic", header: "Authorization", value: "Basic YTpi,", want: "header Authorization"},
	} {
		r := Request{Method: "GET", Path: cmp.Or(c.path, "/x"), Query: c.query, Header: http.Header{}}
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		m, ok := New([]Route{{Match: Conditions{Path: must(ParsePath("/{account}"))}, Charges: []Charge{{Key: []Part{parts[c.part]}}}, Skip: true, EmptyKeyStatus: 401}}, Proxies{}).Find(&r)
		switch {
		case c.want == "" && ok:
			t.Errorf("%s %.60q %s: %v, want the next route", c.part, c.value, c.query, m.NoKey)
		case c.want != "" && (!ok || m.NoKey == nil || m.NoKey.Part != c.want || !m.NoKey.Unreadable || m.NoKey.Status != 400):
			t.Errorf("%s %.60q %s: %v", c.part, c.value, c.query, m.NoKey)
		}
	}
}

// The error names the first missing part and contains the route's own status.
func TestMissingKeyPartIsNamed(t *testing.T) {
	key := []Part{{From: FromConst, Name: "all"}, {From: FromHeader, Name: "X-API-Key"}, {From: FromClient, V6Prefix: 64}}
	for status, want := range map[int]int{0: 400, 401: 401} {
		m, ok := New([]Route{{Charges: []Charge{{Key: key}}, EmptyKeyStatus: status}}, Proxies{}).Find(&Request{Method: "GET", Path: "/"})
		if !ok || m.NoKey == nil || m.NoKey.Status != want || m.NoKey.Detail() != "the request lacks a part of its key: header X-API-Key" {
			t.Errorf("%d: %+v", status, m.NoKey)
		}
	}
}

// Check returns an error for text that is not a host or could be two hosts, and for a query with more than 10 000
// fields (regression: bug 94).
func TestCheck(t *testing.T) {
	for host, ok := range map[string]bool{
		"": true, "h": true, "H_1.example.com.": true, "h:80": true, "h:": true, "10.0.0.1:80": true, "[2001:db8::1]": true, "[::1]:80": true,
		"b\u00fccher.example": false, "[fe80::1%eth0]": false, "[fe80::1%25eth0]:80": false,
		"h:80:81": false, "h:http": false, "h:8 0": false, "2001:db8::1": false, "[h]": false, "[10.0.0.1]": false, "[::1": false, "[::1]80": false, "[::1]:http": false,
		":80": false, ".h": false, "x..y": false, "..": false, "[::1]:1:2": false, "::1]": false, "a/b": false, "a@b": false, "a b": false, "a,b": false, "a\x00": false, "a%41": false, `a\b`: false, strings.Repeat("a", 300): false,
	} {
		if err := (&Request{Method: "GET", Path: "/", Host: host}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
	for n, ok := range map[int]bool{9_999: true, 10_000: false} {
		if err := (&Request{Path: "/", Query: strings.Repeat("&", n)}).Check(); (err == nil) != ok {
			t.Errorf("%d: %v", n, err)
		}
	}
	for target, ok := range map[string]bool{
		"/x?token=a%23%20+b": true, "/x%23": true, "/x?token=a#1": false, "/x?#&token=a": false, "/x#/../login": false, "http://h/x?a#": false, "/x?token=a HTTP/1.1": false,
	} { // (regression: bug 220)
		r := Request{Method: "GET"}
		if r.SetTarget(target); (r.Check() == nil) != ok {
			t.Errorf("%s: %v", target, r.Check())
		}
	}
	host := must(ParseHost("2001:db8::1"))
	for _, text := range []string{"[2001:db8::1]", "[2001:DB8:0::1]:80"} {
		if !host.match(normalHost(text)) {
			t.Errorf("%s is another host", text)
		}
	}
}

// A key with one part is that part, so that a deny override for a network applies.
func TestKeyOfOnePartIsUnchanged(t *testing.T) {
	for _, part := range []string{"2001:db8::/64", `a\b`, "a:b"} {
		if got := join([]string{part}); got != part {
			t.Errorf("%q: %q", part, got)
		}
	}
}

// TestFromHTTP checks the path of a request whose target is not a path (regression: bug 67).
func TestFromHTTP(t *testing.T) {
	for target, want := range map[string]string{
		"/login": "/login", "http://h/login": "/login", "http://h": "", "x:/login": "/login",
		"x:http://h/login": "", "mailto:login": "", "login": "",
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		r, err := FromHTTP(&http.Request{Method: http.MethodGet, URL: u, Host: "h"})
		if refused := want == "" && target != "http://h"; (err != nil) != refused || err == nil && r.Path != want {
			t.Errorf("%s: %q, %v", target, r.Path, err)
		}
	}
}

// TestCheckOfConnection checks that Connection can name only hop-by-hop headers and absent headers (regression: bug 91).
func TestCheckOfConnection(t *testing.T) {
	for connection, ok := range map[string]bool{
		"keep-alive": true, "close": true, "Upgrade, HTTP2-Settings": true, "TE, trailer": true, "x-absent": true, "": true, ",,": true,
		"X-Plan": false, "keep-alive, x-plan": false, "\tX-PLAN ,close": false, "X-Forwarded-For": false,
	} {
		h := http.Header{"Connection": {"keep-alive", connection}, "X-Plan": {"free"}, "X-Forwarded-For": {"192.0.2.1"}, "Upgrade": {"websocket"}, "Te": {"trailers"}}
		if err := (&Request{Method: "GET", Path: "/", Header: h}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", connection, err)
		}
	}
}

// TestPartsThatOccurTwice checks that a header, cookie or field that makes a key cannot be read if it occurs twice with
// different values, because an upstream may read the other one (regression: bugs 97, 193).
func TestPartsThatOccurTwice(t *testing.T) {
	parts := map[string]Part{
		"cookie": {From: FromCookie, Name: "sid"}, "query": {From: FromQuery, Name: "token"}, "forwarded": {From: FromHeader, Name: "X-Forwarded-For"},
		"jwt": {From: FromJWT, Name: "Authorization", Claim: "sub"}, "header": {From: FromHeader, Name: "X-API-Key"},
		"bearer": {From: FromBearer, Name: "Authorization"}, "api_key": {From: FromQuery, Name: "api_key"}, "filter[id]": {From: FromQuery, Name: "filter[id]"},
	}
	const ann, bob = "Bearer e30.eyJzdWIiOiJhIn0.s", "Bearer e30.eyJzdWIiOiJiIn0.s"
	for _, c := range []struct {
		part   string
		joined bool
		values []string // lines of the header, or the query
		want   string   // the key, or "" if it cannot be read
	}{
		{"header", false, []string{"a"}, "a"},
		{"header", false, []string{"a", "a"}, "a"},
		{"header", false, []string{"a", "b"}, ""},
		{"header", false, []string{"", "b"}, ""},
		{"header", false, []string{"a", ""}, ""},
		{"header", false, []string{"a,b"}, "a,b"},
		{"header", true, []string{"a,b"}, ""},
		{"header", true, []string{"a, b"}, ""},
		{"header", true, []string{"a,"}, ""},
		{"header", true, []string{"a,a"}, "a"},
		{"header", true, []string{"a", "b"}, ""},
		{"forwarded", false, []string{"a, b", "c"}, "a, b"},
		{"forwarded", true, []string{"a, b"}, "a, b"},
		{"cookie", false, []string{"sid=a"}, "a"},
		{"cookie", false, []string{"sid=a; sid=a"}, "a"},
		{"cookie", false, []string{"sid=a; sid=b"}, ""},
		{"cookie", false, []string{"sid=a", "x=1; sid=b"}, ""},
		{"cookie", false, []string{`sid=a; sid="b`}, ""},
		{"cookie", false, []string{"sid=a; x=y sid=b"}, ""},
		{"cookie", false, []string{"sid=a; other_sid=b; sid2=c"}, "a"},
		{"jwt", false, []string{ann}, "a"},
		{"jwt", false, []string{ann, bob}, ""},
		{"jwt", true, []string{ann + "," + bob}, ""},
		{"jwt", true, []string{"Bearer opaque," + bob}, ""},
		{"query", false, []string{"token=a"}, "a"},
		{"query", false, []string{"token=a&x=1&token=a"}, "a"},
		{"query", false, []string{"token=a&token=b"}, ""},
		{"query", false, []string{"token=a&%74oken=b"}, ""},
		{"query", false, []string{"token=a&%20token=b"}, ""},
		{"query", false, []string{"token=a&token[]=b"}, ""},
		{"query", false, []string{"token=a&token%00x=b"}, ""},
		{"query", false, []string{"token=a&Token=b"}, ""},
		{"query", false, []string{"TOKEN=b"}, "b"},
		{"query", false, []string{"token=a&token2=b&tokens=c&[token]=d"}, "a"},
		{"api_key", false, []string{"api_key=a&api.key=b"}, ""},
		{"api_key", false, []string{"api+key=b"}, "b"},
		{"filter[id]", false, []string{"filter[id]=a&filter[to]=b&filter=c"}, "a"},
		{"cookie", false, []string{"sid=   a"}, "a"},
		{"cookie", false, []string{"sid = a"}, "a"},
		{"cookie", false, []string{"sid=%61"}, "a"},
		{"cookie", false, []string{"sid=%61; sid=a"}, "a"},
		{"cookie", false, []string{"sid=100%"}, "100%"},
		{"cookie", false, []string{"sid=a; SID=b"}, ""},
		{"cookie", false, []string{"sid=a x=1"}, ""}, // Python's SimpleCookie reads a (regression: bug 225)
		{"cookie", false, []string{"sid=a\tx; y=b c"}, ""},
		{"cookie", false, []string{`sid="a b"; y=b c`}, "a b"},
		{"cookie", false, []string{"sid=a%20b"}, "a b"},
		{"cookie", false, []string{"sid=a; sid[x]=b"}, ""},
		{"cookie", false, []string{`seen={"sid":"b","sid" : 1}; sid=a`}, "a"},
		{"cookie", false, []string{`sid=a; x="sid" =b`}, ""},
		{"cookie", false, []string{"sid=a; x sid\t=b"}, ""},
		{"cookie", false, []string{"sid=a; sid"}, ""},
		{"bearer", false, []string{"Bearer a"}, "a"},
		{"bearer", false, []string{"bearer\t a"}, "a"},
		{"bearer", false, []string{"Bearer a\xa0b"}, ""}, // a blank for Node's regular expressions (regression: bug 227)
		{"bearer", false, []string{"Bearer\xa0a"}, ""},
		{"bearer", false, []string{"Bearer a b"}, ""},
		{"bearer", false, []string{"Bearer a\tb"}, ""},
		{"bearer", false, []string{"Bearer a,b"}, ""},
		{"bearer", false, []string{"Bearer a, Bearer b"}, ""},
		{"bearer", false, []string{"Basic eA== bearer\tb"}, ""},
	} {
		r := Request{Method: "GET", Path: "/", Header: http.Header{}, Joined: c.joined}
		switch part := parts[c.part]; part.From {
		case FromQuery:
			r.Query = c.values[0]
		case FromCookie:
			r.Header["Cookie"] = c.values
		default:
			r.Header[canonical(part.Name)] = c.values
		}
		m, ok := New([]Route{{Charges: []Charge{{Key: []Part{parts[c.part]}}}, Skip: true}}, Proxies{}).Find(&r)
		switch {
		case !ok:
			t.Errorf("%s %q: the route is skipped", c.part, c.values)
		case c.want == "" && (m.NoKey == nil || !m.NoKey.Unreadable || m.NoKey.Status != 400):
			t.Errorf("%s %q: %+v", c.part, c.values, m)
		case c.want != "" && (m.NoKey != nil || m.Items[0].Key != c.want):
			t.Errorf("%s %q: %+v, want %q", c.part, c.values, m, c.want)
		}
	}
}

// TestHeadersWithUnderscores checks that X_Plan is refused if a route reads X-Plan, to match or for a key, a cost, a class
// or a condition, and the other way round: CGI and WSGI read both as one.
func TestHeadersWithUnderscores(t *testing.T) {
	key := func(p Part) Route { return Route{Charges: []Charge{{Key: []Part{p}}}} }
	for name, r := range map[string]Route{
		"match": {Match: Conditions{Headers: []Value{must(HeaderValue("X-Plan", "*"))}}, Charges: constant},
		"when":  {Match: Conditions{When: must(CompileWhen(`"x-plan" in request.headers`))}, Charges: constant},
		"key":   key(Part{From: FromHeader, Name: "X-Plan"}),
		"token": key(Part{From: FromJWT, Name: "x-plan", Claim: "sub"}),
		"cost":  {Charges: []Charge{{Key: constant[0].Key, Cost: Cost{Header: "X-Plan", Max: 9}}}},
		"class": {Charges: constant, Class: Class{Header: "X-Plan"}},
		"other": key(Part{From: FromHeader, Name: "X_Plan"}),
	} {
		table := New([]Route{r}, Proxies{})
		for _, c := range []struct {
			header http.Header
			ok     bool
		}{
			{http.Header{"X-Plan": {"a"}, "X_plan": {"b"}}, false},
			{http.Header{"X-Plan": {"a"}, "X_plan": {"a"}}, true},
			{http.Header{"X-Plan": {"a"}, "X_plan": {"a", "b"}}, false},
			{http.Header{"X-Plan": {"a"}, "X_plans": {"b"}}, name != "other"},
			{http.Header{"X-Plan": {"a"}}, name != "other"},
			{http.Header{"X_plan": {"a"}}, name == "other"},
		} {
			if err := table.CheckRead(&Request{Method: "GET", Path: "/", Header: c.header}); (err == nil) != c.ok {
				t.Errorf("%s, %v: %v", name, c.header, err)
			}
		}
	}
}

// TestFieldsThatServersTakeForOne checks that a condition on a field holds under each name that a server takes for it.
func TestFieldsThatServersTakeForOne(t *testing.T) {
	for _, pattern := range []string{"1", "1*"} {
		table := New([]Route{{Match: Conditions{Query: []Value{QueryValue("big_export", pattern)}}, Charges: constant}}, Proxies{})
		for query, want := range map[string]bool{
			"big_export=1": true, "BIG_EXPORT=1": true, "big.export=1": true, "+big_export=1": true, "big%20export=1": true, "big_export[]=1": true,
			"big_export%00x=1": true, "big_export=2&Big_Export=1": true, "bigexport=1": false, "xbig_export=1": false, "big_export=2": false, "[big_export]=1": false,
		} {
			if _, ok := table.Find(&Request{Method: "GET", Path: "/", Query: query}); ok != want {
				t.Errorf("%s under %s: %t, want %t", query, pattern, ok, want)
			}
		}
	}
}

// TestConditionsOnFieldsInAnyCase checks that a condition on a field whose name has capitals or dots holds under each name
// that a server takes for it, as one on another field does (regression: bug 260).
func TestConditionsOnFieldsInAnyCase(t *testing.T) {
	table := New([]Route{{Match: Conditions{When: must(CompileWhen(`request.query["pageSize"] == "all" || has(request.query.fullExport) || "a.b" in request.query`))}, Charges: constant}}, Proxies{})
	for query, want := range map[string]bool{
		"pageSize=all": true, "pagesize=all": true, "PAGESIZE=all": true, "pageSize[]=all": true, "FullExport=1": true, "fullexport[x]=1": true, "a.b": true, "a_b": true,
		"A+b=1": true, "pageSize=9": false, "page=all": false, "ab=1": false, "": false,
	} {
		if _, ok := table.Find(&Request{Method: "GET", Path: "/", Query: query}); ok != want {
			t.Errorf("%q: %t, want %t", query, ok, want)
		}
	}
}

// TestConditionsOnWhatOccursTwice checks that a condition sees each value that a server may read: two different values of
// what it names are refused, and a field has each name that a server takes for it (regression: bug 194).
func TestConditionsOnWhatOccursTwice(t *testing.T) {
	for _, when := range []string{
		`request.query["plan"] == "big" || "x-plan" in request.headers && request.headers["x-plan"] == "big"`,
		`has(request.query.plan) && request.query.plan == 'big' || 'x-plan' in request.headers && request.headers['x-plan'] == 'big'`,
	} {
		table := New([]Route{{Match: Conditions{When: must(CompileWhen(when + " || request.size > 9"))}, Charges: constant}}, Proxies{})
		for _, c := range []struct {
			query  string
			header http.Header
			match  bool // or refused
		}{
			{"plan=big", nil, true},
			{"Plan=big", nil, true},
			{"plan[]=big", nil, true},
			{"plan=small&plan=big", nil, true},
			{"plan=small&PLAN=big", nil, true},
			{"plan=small&plan=small&size=1&size=2&x=1&x=2", nil, false},
			{"", http.Header{"X-Plan": {"small", "big"}}, true},
			{"", http.Header{"X-Plan": {"small", "small"}, "Accept": {"a", "b"}}, false},
		} {
			r := Request{Method: "GET", Path: "/", Query: c.query, Header: c.header}
			refused := table.CheckRead(&r) != nil
			if _, matches := table.Find(&r); (matches || refused) != c.match {
				t.Errorf("%s: %s %v: refused %t, matches %t", when, c.query, c.header, refused, matches)
			}
		}
	}
}

// TestCostsAndClassesThatOccurTwice checks that several costs count as the highest, and several classes as none.
func TestCostsAndClassesThatOccurTwice(t *testing.T) {
	table := New([]Route{{Charges: []Charge{{Key: []Part{{Name: "all"}}, Cost: Cost{Header: "X-Cost", Max: 9}}}, Class: Class{Header: "X-Class"}}}, Loopback)
	for _, c := range []struct {
		values []string
		joined bool
		cost   int64
		class  string
	}{{[]string{"2"}, false, 2, "2"}, {[]string{"2", "2"}, false, 2, "2"}, {[]string{"2", "1"}, false, 9, ""}, {[]string{"2,1"}, true, 9, ""}} {
		m, ok := table.Find(&Request{Path: "/", Header: http.Header{"X-Cost": c.values, "X-Class": c.values}, Joined: c.joined, Peer: netip.MustParseAddr("127.0.0.1")})
		if !ok || m.Items[0].Cost != c.cost || m.Class != c.class {
			t.Errorf("%q: %+v", c.values, m)
		}
	}
}

// TestConditionsOnJoinedHeaders checks that a condition on a header holds if one of its lines matches, also if a proxy has
// joined the lines (regression: bug 221).
func TestConditionsOnJoinedHeaders(t *testing.T) {
	for _, pattern := range []string{"free", "fr*e", "a,b"} {
		table := New([]Route{{Match: Conditions{Headers: []Value{must(HeaderValue("X-Plan", pattern))}}}}, Proxies{})
		for value, joined := range map[string]bool{"free,big": true, "big, free": true, "free": true, "a,b": true, "big,freed": false} {
			want := joined && (value == "a,b") == (pattern == "a,b")
			r := Request{Path: "/", Header: http.Header{"X-Plan": {value}}, Joined: true}
			if _, ok := table.Find(&r); ok != want {
				t.Errorf("%s, %s: %t", pattern, value, ok)
			}
			if r.Joined = false; strings.Contains(value, "free") && strings.Contains(value, ",") {
				if _, ok := table.Find(&r); ok {
					t.Errorf("%s, %s: one line matches", pattern, value)
				}
			}
		}
	}
}

// TestCheckMethod checks that no header replaces the method that routes have seen, also with underscores and in a
// preflight, which passes without a charge (regression: bugs 137, 195).
func TestCheckMethod(t *testing.T) {
	methods := New([]Route{{Match: Conditions{Methods: []string{"DELETE"}}, Charges: constant}}, Proxies{})
	when := New([]Route{{Match: Conditions{When: must(CompileWhen(`request.method == "DELETE"`))}, Charges: constant}}, Proxies{})
	any := New([]Route{{Charges: constant}}, Proxies{})
	reads := New([]Route{{Match: Conditions{Methods: []string{"POST"}, Headers: []Value{must(HeaderValue("X-HTTP-Method", "DELETE"))}}, Charges: constant}}, Proxies{})
	for _, c := range []struct {
		table          *Table
		method, header string
		values         []string
		ok             bool
	}{
		{methods, "POST", "X-Http-Method-Override", []string{"DELETE"}, false},
		{methods, "POST", "X_http_method_override", []string{"DELETE"}, false},
		{methods, "POST", "X-Method-Override", []string{"POST", "DELETE"}, false},
		{methods, "POST", "X-Http-Method", []string{"post"}, true},
		{when, "POST", "X-Http-Method", []string{"DELETE"}, false},
		{any, "POST", "X-Http-Method", []string{"DELETE"}, true},
		{any, "OPTIONS", "X-Http-Method", []string{"DELETE"}, false},
		{any, "options", "X-Http-Method", []string{"DELETE"}, false}, // (regression: bug 223)
		{reads, "POST", "X-Http-Method", []string{"DELETE"}, true},
		{nil, "POST", "X-Http-Method", []string{"DELETE"}, true},
	} {
		if err := c.table.CheckRead(&Request{Method: c.method, Path: "/", Header: http.Header{c.header: c.values}}); (err == nil) != c.ok {
			t.Errorf("%s with %s: %q: %v", c.method, c.header, c.values, err)
		}
	}
}

// TestCheckMethodField checks that no field of the query replaces the method that routes have seen, also in a preflight,
// which passes without a charge: Symfony, Laravel and WordPress read it (regression: bugs 223, 254).
func TestCheckMethodField(t *testing.T) {
	any := New([]Route{{Charges: constant}}, Proxies{})
	methods := New([]Route{{Match: Conditions{Methods: []string{"DELETE"}}, Charges: constant}}, Proxies{})
	reads := New([]Route{{Match: Conditions{Methods: []string{"POST"}, Query: []Value{QueryValue("_method", "DELETE")}}, Charges: constant}}, Proxies{})
	for _, c := range []struct {
		table         *Table
		method, query string
		ok            bool
	}{
		{any, "OPTIONS", "_method=POST", false},
		{any, "options", "a=b&%5Fmethod=POST", false},
		{any, "OPTIONS", "a=%zz&_method=POST", false},
		{any, "OPTIONS", "_method=options&_method=GET", false},
		{any, "OPTIONS", "_method=OPTIONS", true},
		{any, "OPTIONS", "method=POST", true},
		{any, "POST", "_method=DELETE", true},
		{methods, "POST", "_method=DELETE", false},
		{methods, "POST", "a=b&.METHOD=%44ELETE", false},
		{methods, "POST", "_method[]=DELETE", false},
		{methods, "POST", "_method=post&a=_method=DELETE", true},
		{methods, "POST", "method=DELETE", true},
		{reads, "POST", "_method=DELETE", true},
	} {
		if err := c.table.CheckRead(&Request{Method: c.method, Path: "/", Query: c.query}); (err == nil) != c.ok {
			t.Errorf("%s ?%s: %v", c.method, c.query, err)
		}
	}
}

// TestCheckQuery checks that a pair that net/url omits and other servers read cannot contain a field that a route reads
// (regression: bug 97).
func TestCheckQuery(t *testing.T) {
	table := New([]Route{
		{Match: Conditions{Query: []Value{QueryValue("v", "2")}}, Charges: constant},
		{Match: Conditions{When: must(CompileWhen(`request.query["plan"] == "free"`))}, Charges: constant},
		{Charges: []Charge{{Key: []Part{{From: FromQuery, Name: "token"}}}}},
	}, Proxies{})
	for query, ok := range map[string]bool{
		"": true, "token=a": true, "token=a&q=100%": true, "a;b=c;d": true, "q=%zz&v=2": true, "token=%41": true, "xtoken=a;b": true,
		"token=a&x;token=b": false, "x=1;v=2": false, "v=2;x": false, "token=%zz": false, "x;%74oken=b": false, "plan=%": false, "y=1&;plan": false,
		"token=a&%u0074oke%u006E=b": false, "%u0076=2": false, "%u0078token=b": true, // (regression: bug 224)
		"PLAN=%zz": false, "plan[]=a;b": false, "planned=%zz": true, // (regression: bug 260)
	} {
		if err := table.CheckRead(&Request{Path: "/", Query: query}); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
	}
}
