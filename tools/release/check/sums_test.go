package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// TestSums checks that SHA256SUMS lists every file in the release once, that sha256sum accepts it, and that sha256sum
// detects a changed byte.
func TestSums(t *testing.T) {
	need(t, "sha256sum")
	text, err := os.ReadFile(named("SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		listed[strings.Fields(line)[1]] = true
	}
	entries, err := os.ReadDir(*folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !listed[e.Name()] && !strings.HasPrefix(e.Name(), "SHA256SUMS") {
			t.Errorf("%s is not in SHA256SUMS", e.Name())
		}
	}
	if len(listed) < 18 {
		t.Errorf("SHA256SUMS has %d files", len(listed))
	}
	check := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	check.Dir = *folder
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}

	changed := t.TempDir()
	for name := range listed {
		data, err := os.ReadFile(named("%s", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_linux_amd64.cdx.json") {
			data[len(data)/2] ^= 1
		}
		if err := os.WriteFile(filepath.Join(changed, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check = exec.Command("sha256sum", "--check", "--strict", "--quiet", named("SHA256SUMS"))
	check.Dir = changed
	out, err := check.CombinedOutput()
	if err == nil || strings.Count(string(out), ": FAILED") != 1 {
		t.Errorf("a bill of materials with one changed byte: %v\n%s", err, out)
	}
}

// TestSignature checks that both the library and minisign itself accept the signature, and that both reject it if a
// byte changes.
func TestSignature(t *testing.T) {
	key, err := minisign.PublicKeyFromFile(*publicKey)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(named("SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(named("SHA256SUMS.minisig"))
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte(nil), text...)
	changed[10] ^= 1
	if !minisign.Verify(key, text, signature) {
		t.Error("the signature is wrong")
	}
	if minisign.Verify(key, changed, signature) {
		t.Error("the signature is right for a changed text")
	}
	need(t, "minisign")
	out := run(t, "minisign", "-V", "-p", *publicKey, "-m", named("SHA256SUMS"))
	if !strings.Contains(out, "headgate "+*version+" SHA256SUMS") {
		t.Errorf("the trusted comment is missing:\n%s", out)
	}
	path := filepath.Join(t.TempDir(), "SHA256SUMS")
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("minisign", "-V", "-p", *publicKey, "-x", named("SHA256SUMS.minisig"), "-m", path).Run(); err == nil {
		t.Error("minisign accepts a changed text")
	}
}
