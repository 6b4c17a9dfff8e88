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

// findWords searches the files that match a pattern, except for one file. It returns the words captured by the
// expression's first group, in lower case.
func findWords(t *testing.T, pattern, except, expression string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	found, find := map[string]bool{}, regexp.MustCompile(expression)
	for _, file := range files {
		if filepath.Base(file) == except {
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

// Regression: bug 46. The ACL rules of Permissions and the probe of Check contain exactly the commands that scripts
// call.
func TestPermissionsAndProbeHaveEachScriptCommand(t *testing.T) {
	calls := findWords(t, "lua/*.lua", "probe.lua", `call\('(\w+)'`)
	tried := findWords(t, "lua/write_many.lua", "", `call\('(\w+)'`)
	probed := findWords(t, "lua/probe.lua", "", `try\('(\w+)'`)
	allowed := map[string]bool{}
	for _, name := range append(slices.Clone(scriptCommands), writeMany) {
		allowed[name] = true
	}
	if !maps.Equal(calls, allowed) {
		t.Errorf("scripts call %v, and may call %v", slices.Sorted(maps.Keys(calls)), slices.Sorted(maps.Keys(allowed)))
	}
	maps.Copy(probed, tried)
	if !maps.Equal(calls, probed) {
		t.Errorf("scripts call %v, and the probe tries %v", slices.Sorted(maps.Keys(calls)), slices.Sorted(maps.Keys(probed)))
	}
	for name := range findWords(t, "*.go", "check_test.go", `(?:call\(ctx, \w+, |sendCommand\(ctx, s\.\w+\(\), |Args: \[\]string\{|\[\]string\{|p\.args, )"([A-Z]+)"`) {
		if !allowed[name] && !slices.Contains(clientCommands, name) && name != "publish" { // covered by @pubsub
			t.Errorf("the store sends %s, which the ACL rules do not allow", name)
		}
	}
}
