package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// TestSign checks that a key makes the same signature with and without a password, and that the signature does not
// match other text.
func TestSign(t *testing.T) {
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	save := func(name string, data []byte, err error) string {
		path := filepath.Join(folder, name)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, err := secret.MarshalText()
	plain := save("plain", text, err)
	text, err = minisign.EncryptKey("horse", secret)
	encrypted := save("encrypted", text, err)
	right, wrong := save("right", []byte("horse\n"), nil), save("wrong", []byte("cow\n"), nil)

	message := []byte("sums\n")
	var signatures []string
	for _, each := range [][2]string{{plain, ""}, {encrypted, right}} {
		s, err := readKey(each[0], each[1])
		if err != nil {
			t.Fatal(err)
		}
		signature := s.sign(message, "headgate")
		if !minisign.Verify(public, message, signature) || minisign.Verify(public, []byte("sumz\n"), signature) {
			t.Errorf("%s: the signature is wrong, or right for another text", each[0])
		}
		signatures = append(signatures, string(signature))
	}
	if signatures[0] != signatures[1] {
		t.Errorf("two signatures differ:\n%s\n%s", signatures[0], signatures[1])
	}
	for _, each := range []struct{ key, password, want string }{
		{encrypted, wrong, "the password may be wrong"},
		{encrypted, filepath.Join(folder, "none"), "-key-password-file: open"},
		{filepath.Join(folder, "none"), "", "accepted: a secret key, which minisign -G makes"},
		{right, "", "accepted: a secret key, which minisign -G makes"},
	} {
		if _, err := readKey(each.key, each.password); err == nil || !strings.Contains(err.Error(), each.want) {
			t.Errorf("%s with %s: %v", each.key, each.password, err)
		}
	}
}

// TestSeal checks that if there is no key, nothing is signed, but the checksums are still written.
func TestSeal(t *testing.T) {
	r, _ := small(t, "1.2.3")
	if err := os.WriteFile(filepath.Join(r.out, "file"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.seal(nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(r.out, marker))
	if want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  file\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(r.out, marker+".minisig")); err == nil {
		t.Error("there is a signature without a key")
	}
}
