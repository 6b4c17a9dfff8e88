package policy_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// TestRoutesOfRequests finds the route for each request in testdata/routes, both with the table and with the
// explanation, which tries one route after another (regression: bug 138).
func TestRoutesOfRequests(t *testing.T) {
	rows := 0
	for _, path := range glob(t, "testdata/routes/*.txt") {
		archive := txtar.Parse([]byte(read(t, path)))
		config, err := policy.Parse(path, archive.Files[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		for row := range strings.Lines(string(archive.Files[1].Data)) {
			rows++
			fields := strings.Split(strings.TrimSuffix(row, "\n"), " | ")
			r, want := requestOf(t, fields[0]), strings.TrimSuffix(strings.Join(fields[1:], " | "), " |")
			m, ok := config.Routes.Find(&r)
			if got := rowOf(&m, ok); got != want {
				t.Errorf("%s: %q\n got %s\nwant %s", path, fields[0], got, want)
			}
			e := config.Routes.Explain(&r, 100)
			if ok != (e.Match != nil) || ok && (e.Match.Index != m.Index || !slices.Equal(e.Match.Items, m.Items)) {
				t.Errorf("%s: %q: explained as %+v, found %+v", path, fields[0], e.Match, m)
			}
			if e.Match != nil && len(e.Tried)+e.More != e.Match.Index {
				t.Errorf("%s: %q: %d routes explained before route %d", path, fields[0], len(e.Tried), e.Match.Index)
			}
		}
	}
	if rows < 110 {
		t.Errorf("%d rows, want at least 110: does the search still work?", rows)
	}
}

// requestOf parses METHOD TARGET with --host, --header, --client and --size. An underscore in Authorization represents
// a space.
func requestOf(t *testing.T, row string) route.Request {
	t.Helper()
	words := strings.Fields(row)
	r := route.Request{Method: words[0], Header: http.Header{}}
	words = words[1:]
	if len(words) > 0 && !strings.HasPrefix(words[0], "--") {
		r.SetTarget(words[0])
		words = words[1:]
	}
	for i := 0; i+1 < len(words); i += 2 {
		var err error
		switch value := words[i+1]; words[i] {
		case "--host":
			r.Host = value
		case "--client":
			r.Peer, err = netip.ParseAddr(value)
		case "--size":
			r.Size, err = strconv.ParseInt(value, 10, 64)
		case "--header":
			name, text, _ := strings.Cut(value, ":")
			if name == "Authorization" {
				text = strings.ReplaceAll(text, "_", " ")
			}
			r.Header.Add(name, text)
		default:
			t.Fatalf("%q: unknown option %s", row, words[i])
		}
		if err != nil {
			t.Fatalf("%q: %v", row, err)
		}
	}
	return r
}

func rowOf(m *route.Match, ok bool) string {
	switch {
	case !ok:
		return "-"
	case m.NoKey != nil:
		return strings.TrimSuffix(fmt.Sprintf("denied %d %s", m.Index, m.NoKey.Policy), " ")
	}
	row := strconv.Itoa(m.Index)
	for _, item := range m.Items {
		row += " | " + item.Key
		if item.HasCost {
			row += fmt.Sprintf(" | %d", item.Cost)
		}
	}
	return row
}
