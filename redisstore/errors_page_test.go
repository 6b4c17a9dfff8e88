package redisstore_test

import (
	"os"
	"strings"
	"testing"

	"github.com/headgate/headgate/redisstore"
)

// TestEveryClassIsExplained: the errors page says of each class why it occurs and what to
// do.
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
