package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoTestPackageIsLinked checks that the binary contains no packages for tests. `headgate test` and the reader of
// vectors for `headgate verify` are parts of the product, and package time uses internal/synctest.
func TestNoTestPackageIsLinked(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"github.com/headgate/headgate/server/internal/policytest", "github.com/headgate/headgate/storetest/vectors"}
	for linked := range strings.FieldsSeq(string(out)) {
		isTest := slices.ContainsFunc(strings.Split(linked, "/"), func(part string) bool {
			return part == "testing" || part != "synctest" && strings.HasSuffix(part, "test")
		})
		if isTest && !slices.Contains(ours, linked) {
			t.Errorf("the binary contains %s", linked)
		}
	}
}
