package redisstore

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named returns what an expression's first group finds in the files of a pattern,
// in lower case, but for those of a file.
func named(t *testing.T, pattern, but, expression string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	found, find := map[string]bool{}, regexp.MustCompile(expression)
	for _, file := range files {
		if filepath.Base(file) == but {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range find.FindAllStringSubmatch(string(text), -1) {
			found[strings.ToLower(match[1])] = true
		}
	}
	return found
}

// TestScriptCommands: known bug 46. The ACL that Permissions gives, and the probe
// that Check runs, have each command that a script calls, and no others.
func TestScriptCommands(t *testing.T) {
	calls := named(t, "lua/*.lua", "probe.lua", `call\('(\w+)'`)
	probed := named(t, "lua/probe.lua", "", `try\('(\w+)'`)
	allowed := map[string]bool{}
	for _, name := range scriptCommands {
		allowed[name] = true
	}
	if !maps.Equal(calls, allowed) {
		t.Errorf("scripts call %v, and may call %v", slices.Sorted(maps.Keys(calls)), slices.Sorted(maps.Keys(allowed)))
	}
	if !maps.Equal(calls, probed) {
		t.Errorf("scripts call %v, and the probe tries %v", slices.Sorted(maps.Keys(calls)), slices.Sorted(maps.Keys(probed)))
	}
	for name := range named(t, "*.go", "check_test.go", `(?:plain\(ctx, \w+, |Args: \[\]string\{|\[\]string\{|p\.args, )"([A-Z]+)"`) {
		if !allowed[name] && !slices.Contains(clientCommands, name) && name != "publish" { // of @pubsub
			t.Errorf("the store sends %s, which its user may not", name)
		}
	}
}
