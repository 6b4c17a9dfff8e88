package policy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/headgate/headgate/policy"
)

var update = flag.Bool("update", false, "write docs/reference/policies.schema.json")

const (
	repository = ".."
	schemaFile = repository + "/docs/reference/policies.schema.json"
)

func TestSchemaFileIsCurrent(t *testing.T) {
	want, err := policy.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from Schema(); cd policy && go test . -update writes it", schemaFile)
	}
}

// compiled returns a function that validates the text of a policies file against the schema.
func compiled(t *testing.T) func(file string) error {
	t.Helper()
	text, err := policy.Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("policies.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("policies.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(file string) error {
		data, err := jsonOf([]byte(file))
		if err != nil {
			return err
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return err
		}
		return schema.Validate(value)
	}
}

// TestSchemaAcceptsEveryExample checks that the schema accepts each policies file in the repository that Parse accepts:
// in the docs, in the scripts that test the command line, and in Go tests.
func TestSchemaAcceptsEveryExample(t *testing.T) {
	validate := compiled(t)
	if err := validate(whole); err != nil {
		t.Errorf("the file with every field: %v", err)
	}
	valid := 0
	for source, file := range examples(t) {
		_, err := policy.Parse(source, []byte(file))
		invalid := validate(file)
		switch {
		case err == nil && invalid != nil:
			t.Errorf("Parse accepts %s, the schema does not: %v\n%s", source, invalid, file)
		case err == nil:
			valid++
		}
	}
	if valid < 8 {
		t.Errorf("%d valid examples found, want at least 8: does the search still work?", valid)
	}
}

// examples returns the policies files in the repository by source, including those that are invalid.
func examples(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(source, text string) {
		if strings.Contains(text, "policies:") {
			found[source] = text
		}
	}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".git") {
			return filepath.SkipDir
		}
		switch ext := filepath.Ext(path); {
		case entry.IsDir():
		case ext == ".yaml" || ext == ".yml":
			add(path, read(t, path))
		case ext == ".md":
			for i, block := range strings.Split(read(t, path), "```") {
				if text, ok := strings.CutPrefix(block, "yaml\n"); ok && i%2 == 1 {
					add(path+" block "+text[:min(len(text), 40)], text)
				}
			}
		case ext == ".txt" && strings.Contains(path, "testdata"):
			for _, file := range txtar.Parse([]byte(read(t, path))).Files {
				if strings.HasSuffix(file.Name, ".yaml") {
					add(path+" "+file.Name, string(file.Data))
				}
			}
		case ext == ".go":
			for i, literal := range strings.Split(read(t, path), "`") {
				if i%2 == 1 {
					add(path+" literal "+literal[:min(len(literal), 40)], literal)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string { return readFile(t, path) }

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSchemaRejectsMistakes(t *testing.T) {
	validate := compiled(t)
	for _, file := range []string{
		"polices: {}",
		"policies: {a: {algorithm: token-bucket, rat: 1/s}}",
		"policies: {a: {algorithm: magic, rate: 1/s}}",
		"policies: {a: {algorithm: concurrency, limit: 5, window: 1m}}",
		"policies: {a: {algorithm: concurrency}}",
		"policies: {a: {algorithm: token-bucket, rate: 100/x}}",
		"policies: {a: {algorithm: token-bucket, rate: 1/s, burst: 0}}",
		"policies: {a: {algorithm: token-bucket, rate: 1/s, burst: 1.5}}",
		"policies: {a: {algorithm: token-bucket, rate: 1/s, max_wait: 1s}}",
		"policies: {a: {algorithm: funnel, limit: 5, window: 1m}}",
		"policies: {a: {algorithm: pacer, rate: 1/s, max_wait: 5}}",
		"policies: {a: {algorithm: fixed-window, limit: 5}}",
		"policies: {a: {algorithm: fixed-window, limit: 5, window: fast}}",
		"policies: {a: {algorithm: fixed-window, windows: [{limit: 5, window: 1s}, {limit: 9, window: 1m}]}}",
		"policies: {a: {algorithm: sliding-window, limit: 5, window: 1m, variant: odd}}",
		"policies: {a: {algorithm: sliding-log, windows: []}}",
		"policies: {a: {algorithm: sliding-log, windows: [{limit: 5}]}}",
		"policies: {a: {all: []}}",
		"policies: {a: {all: [{all: [1/s]}]}}",
		"policies: {a: {burst: 5}}",
		"policies: {a b: 1/s}",
		"policies: {a: {deny: true, failure: locally}}",
		"policies: {a: {deny: true, headers: springs}}",
		"policies: {a: {deny: true, cost: -1}}",
		"overrides: [{key: b, deny: true}]",
		"overrides: [{policy: a, key: b}]",
		"overrides: [{policy: a, key: b, deny: true, set: {burst: 5}}]",
		"overrides: [{policy: a, key: b, set: {burst: -1}}]",
		"overrides: [{policy: a, key: b, set: {algorithm: pacer, debt: 1}}]",
		"trusted_proxies: 10.0.0.0/8",
		"policies: {a: {deny: true, shadow: 5}}",
		"policies: {a: {deny: true, shadow: {algorithm: gcra, limit: 5}}}",
		"routes: {}",
		"routes: [{key: [{const: a}], policies: []}]",
		"routes: [{key: [], policies: [a]}]",
		"routes: [{policies: [a]}]",
		"routes: [{key: [{header: a, cookie: b}], policies: [a]}]",
		"routes: [{key: [{jwt: {header: a}}], policies: [a]}]",
		"routes: [{key: [{client_ip: {v6_prefix: 0}}], policies: [a]}]",
		"routes: [{key: [{const: a}], policies: [a], cost: {header: a}}]",
		"routes: [{key: [{const: a}], policies: [a], cost: -1}]",
		"routes: [{key: [{const: a}], policies: [a], empty_key: no}]",
		"routes: [{key: [{const: a}], policies: [a], upstream: [u]}]",
		"routes: [{key: [{const: a}], policies: [a], refund_on_error: 1}]",
		"routes: [{match: {method: GET}, key: [{const: a}], policies: [a]}]",
		"routes: [{match: {cookie: {a: b}}, key: [{const: a}], policies: [a]}]",
		"upstreams: {a: \"ftp://b\"}",
		"upstreams: {a: \"http://b?c\"}",
		"upstreams: {a: \"http://me:word@b\"}",
		"upstreams: {\"a b\": \"http://b\"}",
		"listeners: {admin: {users_file: x}}",
		"listeners: {resp: {tls: {cert: c}}}",
	} {
		if err := validate(file); err == nil {
			t.Errorf("the schema accepts %s", file)
		}
		if _, err := policy.Parse("x.yaml", []byte(file)); err == nil {
			t.Errorf("Parse accepts %s", file)
		}
	}
}

// jsonOf converts a YAML file to JSON.
func jsonOf(file []byte) ([]byte, error) {
	var value any
	if err := yaml.Load(file, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
