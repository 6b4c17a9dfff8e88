package check

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestArchives checks that each archive contains all its files and a program for the right system, and that all modules
// in the program are in the bill of materials.
func TestArchives(t *testing.T) {
	for _, target := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"} {
		t.Run(target, func(t *testing.T) {
			end, program := ".tar.gz", "headgate"
			if strings.HasPrefix(target, "windows") {
				end, program = ".zip", "headgate.exe"
			}
			top := filepath.Join(extract(t, named("headgate_%s_%s%s", *version, target, end)), "headgate_"+*version+"_"+target)
			for _, name := range []string{program, "LICENSE", "NOTICES", "README.md", "policies.yaml"} {
				if info, err := os.Stat(filepath.Join(top, name)); err != nil || info.Size() == 0 {
					t.Errorf("%s is missing: %v", name, err)
				}
			}
			built, err := buildinfo.ReadFile(filepath.Join(top, program))
			if err != nil {
				t.Fatal(err)
			}
			for _, setting := range built.Settings {
				if setting.Key == "GOOS" && !strings.HasPrefix(target, setting.Value+"_") || setting.Key == "GOARCH" && !strings.HasSuffix(target, "_"+setting.Value) {
					t.Errorf("the program is for %s", setting.Value)
				}
			}
			compareBill(t, target, filepath.Join(top, program), len(built.Deps))
		})
	}
}

// compareBill compares a bill of materials with the program.
func compareBill(t *testing.T, target, program string, modules int) {
	t.Helper()
	data, err := os.ReadFile(named("headgate_%s_%s.cdx.json", *version, target))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BomFormat string
		Metadata  struct {
			Component struct {
				Version string
				Hashes  []struct{ Alg, Content string }
			}
		}
		Components []struct{ Purl string }
	}
	if err := json.Unmarshal(data, &bill); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	main := bill.Metadata.Component
	if bill.BomFormat != "CycloneDX" || main.Version != "v"+*version || len(main.Hashes) != 1 || main.Hashes[0].Content != hex.EncodeToString(sum[:]) {
		t.Errorf("the bill of materials is of another program: %+v", main)
	}
	if len(bill.Components) != modules+1 { // plus the standard library
		t.Errorf("%d components, the program has %d modules", len(bill.Components), modules)
	}
	for _, c := range bill.Components {
		if strings.HasSuffix(c.Purl, "(devel)") || !strings.Contains(c.Purl, "@") {
			t.Errorf("%s has no version", c.Purl)
		}
	}
}

// TestProgram checks that the program in the archive for this machine is static, gives exact answers, and accepts the
// example policies.
func TestProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("*** not Linux: THE PROGRAM IS NOT TESTED ***")
	}
	target := runtime.GOOS + "_" + runtime.GOARCH
	top := filepath.Join(extract(t, named("headgate_%s_%s.tar.gz", *version, target)), "headgate_"+*version+"_"+target)
	program := filepath.Join(top, "headgate")
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("the program is not static")
		}
	}
	if got := run(t, program, "version"); got != "headgate v"+*version+"\n" {
		t.Errorf("version: %q", got)
	}
	run(t, program, "check", filepath.Join(top, "policies.yaml"))
	vectors, err := filepath.Glob(filepath.Join(*root, "storetest", "vectors", "*.json"))
	if err != nil || len(vectors) == 0 {
		t.Fatalf("no exact answers: %v", err)
	}
	out := run(t, program, append([]string{"verify"}, vectors...)...)
	if strings.Count(out, " 0 differences\n") != len(vectors) {
		t.Errorf("verify:\n%s", out)
	}
	t.Logf("\n%s", out)
}
