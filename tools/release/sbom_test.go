package main

import (
	"runtime/debug"
	"testing"
)

// TestBill checks that this repository's modules are listed with the release's version, and other modules with their
// own version and checksum.
func TestBill(t *testing.T) {
	r, _ := small(t, "1.2.3")
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: own + "/server", Version: "(devel)"}, Deps: []*debug.Module{
		{Path: own + "/open", Version: "(devel)"},
		{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:abc="},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v1.1.0", Sum: "h1:def="}},
	}}
	bom := r.bill(target{"linux", "amd64"}, info, "00")
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.PackageURL)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/" + own + "/open@v1.2.3", "pkg:golang/example.org/a@v1.0.0", "pkg:golang/example.org/c@v1.1.0"}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if main := bom.Metadata.Component; main.Version != "v1.2.3" || (*main.Hashes)[0].Value != "00" {
		t.Errorf("%+v", main)
	}
}
