package metrics

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	_ "github.com/headgate/headgate/server/internal/gateway" // declares metrics
	"github.com/headgate/headgate/server/internal/metric"
)

// ours matches the name of one of this package's metrics in a document.
var ours = regexp.MustCompile(`\b(headgate|ratelimit_service)_[a-z_]+\b`)

// expressions returns the queries in the dashboard and in the alert rules.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	data, err := os.ReadFile("../../../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all["panel "+p.Title+": "+target.Expr] = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$policy", ".*").Replace(target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if metric, ok := strings.CutPrefix(v.Query, "label_values("); ok {
			name, label, _ := strings.Cut(strings.TrimSuffix(metric, ")"), ", ")
			all["variable "+v.Name] = "sum by (" + label + ") (" + name + ")"
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if data, err = os.ReadFile("../../../deploy/alerts.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(data, &rules); err != nil {
		t.Fatal(err)
	}
	for _, r := range rules.Groups[0].Rules {
		all["alert "+r.Alert] = r.Expr
	}
	return all
}

var (
	selector  = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	matcher   = regexp.MustCompile(`^\s*([a-z_]+)(?:=|!=|=~|!~)"[^"]*"\s*$`)
	grouping  = regexp.MustCompile(`\b(?:by|on) \(([a-z_, ]*)\)`)
	functions = regexp.MustCompile(`\b([a-z_]+)\s*\(`)
)

// functionsOf lists the PromQL functions and operators that the queries may use, with their number of arguments. -1
// means that the number is not checked.
var functionsOf = map[string]int{"sum": 1, "rate": 1, "increase": 1, "histogram_quantile": 2, "topk": 2, "quantile_over_time": 2, "time": -1, "by": -1, "on": -1, "or": -1}

// TestBoardAndAlerts checks for each query that the brackets match, that the functions are known and have the right
// number of arguments, and that each metric and label exists.
func TestBoardAndAlerts(t *testing.T) {
	all := expressions(t)
	if len(all) < 25 {
		t.Fatalf("only %d queries", len(all))
	}
	for where, text := range all {
		checkSyntax(t, where, text)
		known := map[string]bool{"instance": true, "job": true, "le": strings.Contains(text, "_bucket")}
		for _, name := range ours.FindAllString(text, -1) {
			labels, ok := metric.Described[name]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, cut := strings.CutSuffix(name, suffix); cut && !ok {
					labels, ok = metric.Described[base]
				}
			}
			if !ok {
				t.Errorf("%s: there is no metric %s", where, name)
			}
			for _, label := range labels {
				known[label] = true
			}
		}
		for _, found := range selector.FindAllStringSubmatch(text, -1) {
			for one := range strings.SplitSeq(found[2], ",") {
				if m := matcher.FindStringSubmatch(one); m == nil || !known[m[1]] {
					t.Errorf("%s: %s: no condition on a label of %s", where, one, found[1])
				}
			}
		}
		for _, found := range grouping.FindAllStringSubmatch(text, -1) {
			for label := range strings.SplitSeq(found[1], ", ") {
				if !known[label] {
					t.Errorf("%s: no metric in it has the label %s", where, label)
				}
			}
		}
	}
}

// checkSyntax checks brackets, function names, and numbers of arguments.
func checkSyntax(t *testing.T, where, text string) {
	t.Helper()
	for _, found := range functions.FindAllStringSubmatchIndex(text, -1) {
		name := text[found[2]:found[3]]
		want, ok := functionsOf[name]
		if !ok {
			t.Errorf("%s: no function %s", where, name)
			continue
		}
		arguments, depth := 1, 0
	scan:
		for _, r := range text[found[1]:] {
			switch r {
			case '(', '{', '[':
				depth++
			case ')', '}', ']':
				depth--
			case ',':
				if depth == 0 {
					arguments++
				}
			}
			if depth < 0 {
				break scan
			}
		}
		if depth != -1 || want > 0 && arguments != want {
			t.Errorf("%s: %s has %d arguments, want %d, and ends at depth %d", where, name, arguments, want, depth)
		}
	}
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(text, pair[:1]) != strings.Count(text, pair[1:]) {
			t.Errorf("%s: %s do not fit", where, pair)
		}
	}
}

// TestMetricsAreDocumented checks that metrics.md lists exactly the existing metrics, with their labels.
func TestMetricsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && ours.MatchString(cells[1]) {
			rows[strings.Trim(cells[1], " `")] = strings.Trim(cells[2], " ")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metric.Described)) {
		labels := "`" + strings.Join(metric.Described[name], "`, `") + "`"
		if len(metric.Described[name]) == 0 {
			labels = ""
		}
		if got, ok := rows[name]; !ok || got != labels {
			t.Errorf("| `%s` | %s | is not in metrics.md (%t, labels %s)", name, labels, ok, got)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("metrics.md has %s, which does not exist", name)
	}
}
