package simulate

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
)

func TestNeedsNameEachFieldOfTheRoutes(t *testing.T) {
	config, err := policy.Load("testdata/live.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range Needs(config, "live.yaml") {
		got = append(got, strings.TrimPrefix(n.By, "route ")+" "+n.String())
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"0 (live.yaml:24) the method", "0 (live.yaml:24) the client", "2 (live.yaml:26) the host", "3 (live.yaml:27) the query",
		"5 (live.yaml:29) the header X-User", "5 (live.yaml:29) the header X-Cost", "6 (live.yaml:30) the cookie sid",
		"7 (live.yaml:31) the client", "8 (live.yaml:32) the header x-user",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "9 (live.yaml:33) the host") {
		t.Error("route 9 needs no host")
	}
}
