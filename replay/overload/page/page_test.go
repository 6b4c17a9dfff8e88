package page

import (
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/replay/overload/model"
	"github.com/headgate/headgate/replay/overload/scenario"
)

// results returns the results of a short scenario with a name that needs escaping.
func results(t *testing.T) []*scenario.Result {
	t.Helper()
	s, _ := scenario.Named("steady")
	build := s.Build
	s.Build = func(seed uint64) model.Config {
		c := build(seed)
		c.Length = 20_000_000
		return c
	}
	s.About = `<b>"steady"</b>`
	r, err := s.Run(scenario.Options{Seeds: 1, Limits: []int64{20}})
	if err != nil {
		t.Fatal(err)
	}
	return []*scenario.Result{r}
}

var (
	loads = regexp.MustCompile(`(?i)(src|href|url|@import|action)\s*[=(]\s*["']?[^#"'\s]`)
	hosts = regexp.MustCompile(`https?://[^"\s<]*`)
)

// TestPageLoadsNothing checks that the only URL is the SVG namespace, that links stay within the page, and that text
// is escaped.
func TestPageLoadsNothing(t *testing.T) {
	var b strings.Builder
	report := New(1, results(t))
	if err := HTML(&b, report); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, at := range hosts.FindAllString(page, -1) {
		if at != "http://www.w3.org/2000/svg" {
			t.Errorf("address %s", at)
		}
	}
	if found := loads.FindString(page); found != "" {
		t.Errorf("%q loads something", found)
	}
	if strings.Contains(page, "<b>\"steady\"") || !strings.Contains(page, "&lt;b&gt;") {
		t.Error("a text is not escaped")
	}
	for _, want := range []string{"<polyline", "best fixed: 20", "a lucky sample pins the limit", "Gradient2"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Count(page, "<tr") != strings.Count(page, "</tr>") || strings.Count(page, "<td") != strings.Count(page, "</td>") {
		t.Error("rows and cells do not match")
	}
}

// TestTables checks that every row has as many columns as its header, and that only faults of scenarios that ran are
// listed.
func TestTables(t *testing.T) {
	var b strings.Builder
	report := New(1, results(t))
	if err := Markdown(&b, report); err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(b.String(), "\n\n")
	if len(tables) != 2 || len(report.Faults) != 1 || report.Faults[0].Gate != "Vegas" {
		t.Fatalf("%d tables, faults %+v", len(tables), report.Faults)
	}
	for _, table := range tables {
		lines := strings.Split(strings.TrimSpace(table), "\n")
		for _, line := range lines {
			if strings.Count(line, "|") != strings.Count(lines[0], "|") {
				t.Errorf("%s: not the columns of %s", line, lines[0])
			}
		}
	}
}
