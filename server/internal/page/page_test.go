package page_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/page"
)

func get(t *testing.T, method, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	page.Handler().ServeHTTP(answer, r)
	return answer
}

// built returns the page's built files by name.
func built(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	root := os.DirFS("dist")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all[name], err = fs.ReadFile(root, name)
		}
		return err
	})
	if err != nil || len(all) < 4 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return all
}

// maxZipped is the maximum compressed size of the page.
const maxZipped = 100_000

func TestAssetsAreSmall(t *testing.T) {
	sum := 0
	for name, text := range built(t) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, %d compressed", name, len(text), b.Len())
		sum += b.Len()
	}
	if sum > maxZipped {
		t.Errorf("%d bytes compressed; at most %d", sum, maxZipped)
	}
}

// TestPolicyOfContent checks the Content-Security-Policy: inline code does not run, nothing is loaded from other
// sites, and other sites cannot frame the page.
func TestPolicyOfContent(t *testing.T) {
	for name := range built(t) {
		if name == "index.html" {
			name = ""
		}
		policy := get(t, http.MethodGet, "/"+name).Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("/%s: %s lacks %s", name, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("/%s: %s", name, policy)
		}
	}
	page := string(built(t)["index.html"])
	for _, bad := range []string{"http://", "https://", "//", "style=", "onload", "<style", `="/`} {
		if strings.Contains(page, bad) {
			t.Errorf("index.html has %s", bad)
		}
	}
	if inline := regexp.MustCompile(`<script[^>]*>[^<]`).FindString(page); inline != "" {
		t.Errorf("a script in the page: %s", inline)
	}
}

// TestFiles checks that each file is served with the right type, that files with a hash in the name are cached forever
// while the page is revalidated, and that compressed responses have the same content.
func TestFiles(t *testing.T) {
	hashed := regexp.MustCompile(`^assets/[\w-]+-[\w-]{8}\.(js|css|svg)$`)
	for name, text := range built(t) {
		target, cache := "/"+name, "public, max-age=31536000, immutable"
		if name == "index.html" {
			target, cache = "/", "no-cache"
		} else if !hashed.MatchString(name) {
			t.Errorf("%s has no hash in its name", name)
		}
		plain, zipped, head := get(t, http.MethodGet, target), get(t, http.MethodGet, target, "Accept-Encoding", "gzip, br"), get(t, http.MethodHead, target)
		z, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(unzipped, text) || !bytes.Equal(plain.Body.Bytes(), text) || head.Body.Len() > 0 {
			t.Errorf("%s: %v, or not the file", name, err)
		}
		want := map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}[path.Ext(name)]
		for _, answer := range []*httptest.ResponseRecorder{plain, zipped, head} {
			h := answer.Header()
			if answer.Code != http.StatusOK || h.Get("Cache-Control") != cache || !strings.HasPrefix(h.Get("Content-Type"), want) || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v", name, answer.Code, h)
			}
		}
	}
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"GET", "/assets/none.js", http.StatusNotFound},
		{"GET", "/assets/", http.StatusNotFound},
		{"GET", "/../page.go", http.StatusNotFound},
		{"POST", "/", http.StatusMethodNotAllowed},
	} {
		if got := get(t, c.method, c.target).Code; got != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.target, got, c.want)
		}
	}
}

// TestLanguages checks that both dictionaries contain the same entries with the same placeholders, and every entry that
// the page uses.
func TestLanguages(t *testing.T) {
	entry := regexp.MustCompile(`(?m)^  (\w+): "((?:[^"\\]|\\.)*)",$`)
	read := func(file string) map[string]string {
		text, err := os.ReadFile("web/src/" + file)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, m := range entry.FindAllStringSubmatch(string(text), -1) {
			if _, twice := all[m[1]]; twice {
				t.Errorf("%s has %s twice", file, m[1])
			}
			all[m[1]] = m[2]
		}
		if lines := strings.Count(string(text), `",`+"\n"); len(all) != lines || lines < 100 {
			t.Errorf("%s: %d texts in %d lines", file, len(all), lines)
		}
		return all
	}
	en, zh := read("en.ts"), read("zh.ts")
	places := regexp.MustCompile(`\{\w+\}`)
	for name, text := range en {
		other, ok := zh[name]
		if !ok {
			t.Errorf("zh.ts lacks %s", name)
		}
		for _, place := range places.FindAllString(text, -1) {
			if !strings.Contains(other, place) {
				t.Errorf("zh.ts: %s lacks %s", name, place)
			}
		}
		delete(zh, name)
	}
	if len(zh) > 0 {
		t.Errorf("zh.ts has more: %v", zh)
	}
}
