package redisstore_test

import (
	"os"
	"strings"
	"testing"

	"github.com/headgate/headgate/redisstore"
)

// TestEveryClassIsExplained checks that the errors page states the cause and the remedy of each class.
func TestEveryClassIsExplained(t *testing.T) {
	data, err := os.ReadFile("../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(data), "\n## Errors of the store\n")
	for class := redisstore.Class(0); class == redisstore.Other || class.String() != redisstore.Other.String(); class++ {
		_, section, ok := strings.Cut(page, "\n### "+class.String()+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if !ok || !strings.Contains(section, "**Why.**") || !strings.Contains(section, "**Do.**") {
			t.Errorf("class %s: %s", class, section)
		}
	}
}

// TestEveryClassHasItsAnswer checks that the errors page states for each class whether failure mode local answers with
// a share.
func TestEveryClassHasItsAnswer(t *testing.T) {
	data, err := os.ReadFile("../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 {
			continue
		}
		for i, word := range strings.Split(cells[0], "`") {
			if i%2 == 1 {
				said[word] = cells[1]
			}
		}
	}
	for class := redisstore.Class(0); class == redisstore.Other || class.String() != redisstore.Other.String(); class++ {
		if class == redisstore.NoScript { // no caller sees it
			continue
		}
		e := redisstore.Error{Class: class}
		share := e.Away() || class.Refusal()
		if got := said[class.String()]; strings.Contains(got, "share") != share || strings.Contains(got, "an error") == share {
			t.Errorf("errors.md says of %s with local: %q", class, got)
		}
	}
}
