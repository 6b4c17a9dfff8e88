package page_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// alike is the distance below which two colours look the same: the sum of the squared differences between their
// components.
const alike = 30 * 30

// TestColoursOfPage checks that both schemes define the same colours, that each colour has only one name, and that only
// the listed rules use colours.
func TestColoursOfPage(t *testing.T) {
	data, err := os.ReadFile("web/src/style.css")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6,8});`)
	lists, rules, ok := strings.Cut(string(data), "\n* {")
	light, dark, ok2 := strings.Cut(lists, "@media")
	if !ok || !ok2 {
		t.Fatal("style.css does not begin with two lists of colours")
	}
	if literal := regexp.MustCompile(`#[0-9a-f]{6}`).FindString(rules); literal != "" {
		t.Errorf("%s is no colour of the lists", literal)
	}
	var all [2]map[string]string
	for i, list := range []string{light, dark} {
		all[i] = map[string]string{}
		for _, found := range named.FindAllStringSubmatch(list, -1) {
			all[i][found[1]] = found[2]
		}
		for name, one := range all[i] {
			for other, two := range all[i] {
				if meaning(name) && meaning(other) && name < other && distance(t, one, two) < alike {
					t.Errorf("%s %s and %s %s look the same", name, one, other, two)
				}
			}
		}
	}
	if len(all[0]) < 15 || fmt.Sprint(keys(all[0])) != fmt.Sprint(keys(all[1])) {
		t.Errorf("%d and %d colours", len(all[0]), len(all[1]))
	}
}

// meaning reports whether a colour must be distinguishable from the other colours with a meaning. Colours of the page
// itself (ground, text, lines), fills, and the colours of p50 and p99 need not be.
func meaning(name string) bool {
	switch name {
	case "ground", "panel", "text", "dim", "rule", "line", "on-link", "bad-ground", "p50", "p99":
		return false
	}
	return !strings.HasSuffix(name, "-fill")
}

// keys returns the names as a set. A map is used because it is printed in order.
func keys(of map[string]string) map[string]bool {
	names := map[string]bool{}
	for name := range of {
		names[name] = true
	}
	return names
}

func distance(t *testing.T, a, b string) (sum int64) {
	for i := 1; i < 7; i += 2 {
		x, err := strconv.ParseInt(a[i:i+2], 16, 64)
		y, err2 := strconv.ParseInt(b[i:i+2], 16, 64)
		if err != nil || err2 != nil {
			t.Fatalf("%s, %s", a, b)
		}
		sum += (x - y) * (x - y)
	}
	return sum
}
