// Package site builds the documentation site, checks its links and clicks through it in a real browser.
package site

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/programs"
)

// base is the path of the site on its host.
const base = "/docs/"

// TestSite drives the site with Chromium, using the script tools/site/test/click.mjs.
func TestSite(t *testing.T) {
	chromium, node := programs.Tool(t, "chromium"), programs.Tool(t, "node")
	out := t.TempDir()
	build(t, out, "")
	build(t, out, "v0.9.0")
	checkLinks(t, out)

	server := httptest.NewServer(http.StripPrefix(base, http.FileServer(http.Dir(out))))
	defer server.Close()
	c := exec.CommandContext(t.Context(), node, "test/click.mjs")
	c.Dir = "../../tools/site"
	c.Env = append(os.Environ(), "CHROMIUM="+chromium, "PROFILE="+t.TempDir(), "SITE="+server.URL+base)
	printed, err := c.CombinedOutput()
	t.Logf("%s", printed)
	if err != nil {
		t.Error(err)
	}
}

func build(t *testing.T, out, version string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "../../tools/scripts/site")
	c.Env = append(os.Environ(), "OUT="+out, "BASE="+base, "VERSION="+version)
	if printed, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(` id="([^"]*)"`)
)

// checkLinks checks that the targets of all links, images and scripts on all pages exist in the output, and that each
// anchor exists on its page.
func checkLinks(t *testing.T, out string) {
	t.Helper()
	pages, anchors := map[string]string{}, map[string]bool{}
	if err := filepath.WalkDir(out, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		address := base + filepath.ToSlash(strings.TrimPrefix(name, out+"/"))
		anchors[address] = true
		if path.Ext(name) != ".html" {
			return nil
		}
		text, err := os.ReadFile(name)
		pages[address] = string(text)
		for _, id := range anchor.FindAllStringSubmatch(string(text), -1) {
			anchors[address+"#"+html.UnescapeString(id[1])] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for address, text := range pages {
		from := &url.URL{Path: address}
		for _, link := range reference.FindAllStringSubmatch(text, -1) {
			to, err := from.Parse(html.UnescapeString(link[1]))
			if err != nil {
				t.Errorf("%s: %v", address, err)
				continue
			}
			if to.Host != "" || to.Scheme == "data" {
				continue
			}
			checked++
			if strings.HasSuffix(to.Path, "/") {
				to.Path += "index.html"
			}
			if !anchors[to.Path] || to.Fragment != "" && !anchors[to.Path+"#"+to.Fragment] {
				t.Errorf("%s: no %s", address, link[1])
			}
		}
	}
	t.Logf("%d links in %d pages", checked, len(pages))
	if checked < 1000 {
		t.Errorf("%d links in %d pages", checked, len(pages))
	}
}
