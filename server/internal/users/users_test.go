package users

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func hashed(secret string) string {
	digest := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(digest[:])
}

func open(t *testing.T, text string) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, text)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUsers(t *testing.T) {
	f, _ := open(t, fmt.Sprintf(`
users:
  shop: {sha256: [%s], may: [decide], policies: [shop-*, login], inline: false}
  ops: {sha256: [%s, %s], may: [decide, write]}
`, hashed("s"), hashed("old"), hashed("new")))
	shop, old, second := f.Of("s"), f.Named("ops", "old"), f.Of("new")
	if shop == nil || old == nil || second == nil || f.Of("x") != nil || f.Of("") != nil || f.Named("shop", "old") != nil || f.Named("nobody", "s") != nil {
		t.Fatal("secrets", shop, old, second)
	}
	if !shop.MayDecide() || shop.MayWrite() || shop.MayBringLimits() || !shop.MayUse("shop-7") || !shop.MayUse("login") || shop.MayUse("logins") || shop.MayUse("xshop-7") {
		t.Error("what shop may")
	}
	if !second.MayDecide() || !second.MayWrite() || !second.MayBringLimits() || !second.MayUse("any") {
		t.Error("what ops may")
	}
	var none *User
	if none.MayDecide() || none.MayWrite() || none.MayBringLimits() || none.MayUse("login") {
		t.Error("a client that is no user may something")
	}
	if u, err := f.Bearer(""); u != nil || err == nil {
		t.Error("no secret, and no default", u)
	}
	for header, want := range map[string]*User{"Bearer s": shop, "bearer old": old, "Basic s": nil, "Bearer": nil, "Bearer s ": nil, "s": nil} {
		if u, err := f.Bearer(header); u != want || (err == nil) != (want != nil) {
			t.Errorf("%q: %v %v", header, u, err)
		}
	}
}

// TestPolicies checks that a user without a list of policies may use all policies, and that a user with an empty list
// may use none.
func TestPolicies(t *testing.T) {
	for text, want := range map[string]bool{"": true, ", policies: []": false, ", policies: [login]": true, ", policies: [other]": false} {
		f, _ := open(t, "users: {a: {may: &may [decide], sha256: ["+hashed("a")+"]}, default: {may: *may"+text+"}}")
		if got := f.Unknown().MayUse("login"); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestFileChanges checks that a changed file is read again: a removed user loses its rights, and a changed right
// applies at once. If the file contains an error, the users stay unchanged.
func TestFileChanges(t *testing.T) {
	f, path := open(t, fmt.Sprintf("users: {a: {sha256: [%s], may: [decide]}, b: {sha256: [%s], may: [decide]}}", hashed("a"), hashed("b")))
	a, b := f.Of("a"), f.Of("b")
	write(t, path, fmt.Sprintf("users: {a: {sha256: [%s], may: [write]}, default: {may: [decide]}}", hashed("a")))
	for _, want := range []bool{true, false} {
		if changed, err := f.Reload(); err != nil || changed != want {
			t.Fatal(changed, err)
		}
	}
	if now := f.Current(a); now.MayDecide() || !now.MayWrite() {
		t.Error("a has its old rights")
	}
	if f.Current(b) != nil {
		t.Error("b is gone, and has rights")
	}
	if u := f.Current(nil); u == nil || u.Name != Default || !u.MayDecide() {
		t.Error("a client without a secret", u)
	}
	write(t, path, "users: {a: {may: [fly]}}")
	before := f.Current(a)
	if _, err := f.Reload(); err == nil || before == nil || f.Current(a) != before {
		t.Errorf("a file with an error: %v, %v, then %v", err, before, f.Current(a))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Reload(); err == nil || f.Current(a) == nil {
		t.Error("without the file a lost its rights", err)
	}
}

func TestBadFiles(t *testing.T) {
	many := "users: {"
	for i := range 1001 {
		many += fmt.Sprintf("u%d: {may: [decide], sha256: [%s]}, ", i, hashed(fmt.Sprint(i)))
	}
	for text, want := range map[string]string{
		"":               "users: 0; accepted: 1 to 1000",
		"users: {}":      "users: 0; accepted: 1 to 1000",
		many + "}":       "users: 1001; accepted: 1 to 1000",
		"user: {}":       "user",
		"users: {a: {}}": "users.a.may: not set; accepted: a list of decide, write, read, operate",
		"users: {a:}":    "users.a: a is empty",
		"users: {default: {may: [decide], inline: }}":              "inline: inline is empty; accepted: true or false, without quotes, or no inline",
		"users: {a: {may: []}}":                                    "users.a.may: not set",
		"users: {a: {may: [decide, fly]}}":                         `users.a.may: "fly"; accepted: decide, write, read, operate`,
		"users: {a: {may: [decide]}}":                              "users.a.sha256: 0; accepted: one or two",
		"users: {default: {may: [decide], policies: }}":            "users.default.policies: empty; accepted: a list such as [login], [] for none, or no policies for all",
		"users: {a: {may: [decide], sha256: " + hashed("x") + "}}": "users.a.sha256: not a list; accepted: a list of one or two",
		"users: {a: {may: decide, sha256: [" + hashed("x") + "]}}": "users.a.may: not a list; accepted: a list of decide",
		"users: {a: {may: [{}], sha256: [" + hashed("x") + "]}}":   "users.a.may: not a list of texts; accepted: a list of decide",
		"users: {a: {may: [decide], sha256: [abc]}}":               "users.a.sha256: not 64 hexadecimal digits",
		// Regression: bug 268.
		"users: {a: {may: [decide], sha256: [e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855]}}":     "users.a.sha256: the hash of nothing",
		"users: {a: {may: [decide], policies: ['[']}}":                                                                `users.a.policies: "["; accepted`,
		"users: {a: {may: [decide], secret: x}}":                                                                      "secret",
		"users: {" + strings.Repeat("n", 65) + ": {may: [decide]}}":                                                   "name: 65 bytes; accepted: 1 to 64",
		fmt.Sprintf("users: {a: {may: [decide], sha256: [%[1]s]}, b: {may: [decide], sha256: [%[1]s]}}", hashed("x")): "users.b.sha256: also of a; accepted: a secret of its own",
		"users: {a: {may: [fly]}, b: {may: [swim]}}":                                                                  ":1:35: users.b.may: \"swim\"",
		"...\nusers: {}":                                  `:1:1: "..." ends a document before one begins; accepted: a file that begins with its first field`,
		"users: {}\n---\nusers: {}":                       ":3:1: more than one YAML document; accepted: one",
		"users: {\n":                                      ":2:1: did not find expected node content",
		"users:\n  a: {may: [decide], sha265: []}":        `:2:22: users.a: unknown field "sha265"; did you mean "sha256"? accepted: inline, may, policies, sha256`,
		"users: {a: {may: [decide]}, a: {may: [decide]}}": `:1:29: users: "a" is on line 1 already`,
	} {
		path := filepath.Join(t.TempDir(), "users.yaml")
		write(t, path, text)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hashed("x")) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	if _, err := Open("no-such-file"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestTokens checks that a file of plain lines is read as operators' secrets, and that a users file with a mistake is
// not mistaken for a file of tokens.
func TestTokens(t *testing.T) {
	const acts, looks = "a-token-that-acts", "a-token-that-looks"
	f, path := open(t, acts+"\n\n read "+looks+" \n")
	if u := f.Of(acts); !u.MayOperate() || !u.MayRead() || u.MayDecide() || !u.MayWrite() {
		t.Error("what the token may", u)
	}
	if u := f.Of(looks); u.MayOperate() || !u.MayRead() || u.MayDecide() {
		t.Error("what the token that reads may", u)
	}
	for _, secret := range []string{"", "read " + looks, "another-token-of-nobody"} {
		if f.Of(secret) != nil {
			t.Errorf("%q is a token", secret)
		}
	}
	for text, want := range map[string]string{
		"short":                      "a token of 5 bytes; accepted: 16 to 256",
		"read \n" + acts:             "a token of 4 bytes",
		strings.Repeat(acts+"\n", 3): "more than 2 tokens that operate",
		acts + "\n" + strings.Repeat("read "+looks+"\n", 3): "more than 2 tokens that read",
		"user:\n  an-operator: {may: [read]}":               "user",
		strings.Repeat("x", 257):                            "a token of 257 bytes",
	} {
		write(t, path, text)
		if _, err := f.Reload(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	if f.Of(acts) == nil {
		t.Error("a file with an error took the operators away")
	}
}
