package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const own = "github.com/headgate/headgate"

// first is the first program in the README.
const first = `package main

import (
	"context"
	"fmt"

	"github.com/headgate/headgate"
)

func main() {
	limiter := headgate.New()
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.TokenBucket{Rate: headgate.PerSecond(10), Burst: 20})
	d, err := perUser.Allow(context.Background(), "alice")
	fmt.Println(d.Allowed, d.Remaining, d.RetryAfter, d.Promise.Mode, err)
}
`

// TestModules checks that go get and go install can get all modules at the release's version, in a module without
// replace directives. The modules come from a directory instead of the module proxy.
func TestModules(t *testing.T) {
	tree := t.TempDir()
	archive := filepath.Join(t.TempDir(), "tree.tar")
	run(t, "git", "-C", *root, "archive", "-o", archive, "HEAD")
	run(t, "tar", "-xf", archive, "-C", tree)
	script := filepath.Join(tree, "tools", "scripts", "release-modules")
	run(t, script, "v"+*version)
	proxy := t.TempDir()
	var paths []string
	for tag := range strings.FieldsSeq(run(t, script, "v"+*version, "tags")) {
		folder := strings.TrimSuffix(strings.TrimSuffix(tag, "v"+*version), "/")
		path := strings.TrimSuffix(own+"/"+folder, "/")
		publish(t, proxy, path, filepath.Join(tree, folder))
		paths = append(paths, path+"@v"+*version)
	}
	if len(paths) < 14 {
		t.Fatalf("modules: %q", paths)
	}

	fresh := t.TempDir()
	if err := os.WriteFile(filepath.Join(fresh, "main.go"), []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := commands(t, proxy, fresh)
	inside("mod", "init", "demo")
	inside("get", own+"@v"+*version)
	if out := inside("run", "."); out != "true 19 0s exact <nil>\n" {
		t.Errorf("the first program printed %q", out)
	}
	if out := inside("list", "-m", "-f", "{{.Path}} {{.Version}}{{with .Replace}} replaced{{end}}", "all"); out != "demo \n"+own+" v"+*version+"\n" {
		t.Errorf("modules of the first program: %q", out)
	}
	inside(append([]string{"get"}, paths...)...)
	inside("install", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", own+"/server/cmd/headgate@v"+*version)
	if out := run(t, filepath.Join(fresh, "bin", "headgate"), "version"); out != "headgate v"+*version+"\n" {
		t.Errorf("go install made %q", out)
	}
}

// publish writes a module in the module proxy's layout.
func publish(t *testing.T, proxy, path, folder string) {
	t.Helper()
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	v := module.Version{Path: path, Version: "v" + *version}
	info, err := json.Marshal(map[string]any{"Version": v.Version, "Time": time.Unix(1_800_000_000, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{v.Version + ".info": info, v.Version + ".mod": mod, "list": []byte(v.Version + "\n")} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(at, v.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := zip.CreateFromDir(f, v, folder); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// commands returns a function that runs go in a directory. The go command gets modules from the proxy, from this
// machine's cache, or from their origin, in this order. It does not modify the machine's cache.
func commands(t *testing.T, proxy, folder string) func(args ...string) string {
	t.Helper()
	cache := strings.TrimSpace(run(t, "go", "env", "GOMODCACHE"))
	from := strings.TrimSpace(run(t, "go", "env", "GOPROXY"))
	env := append(os.Environ(), "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOBIN="+filepath.Join(folder, "bin"),
		"GOMODCACHE="+t.TempDir(), "GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+from, "CGO_ENABLED=0")
	return func(args ...string) string {
		t.Helper()
		c := exec.Command("timeout", append([]string{"600", "go"}, args...)...)
		c.Dir, c.Env = folder, env
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr(err))
		}
		return string(out)
	}
}

// stderr returns a failed command's output to standard error.
func stderr(err error) string {
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output does not wrap it
		return string(failed.Stderr)
	}
	return ""
}
