package envoy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLoadCanListEveryError(t *testing.T) {
	data := []byte(`domain: shop
descriptors:
  - key: a
    rate_limit: {unit: sceond, requests_per_unit: 5}
  - key: b
    rate_limit: {unit: second, request_per_unit: 5}
  - value: c
  - 7
  - key: d
    descriptors:
      - {key: e, rate_limit: {unlimited: true, unit: day}}
      - {key: f, share_threshold: true}
  - key: b
`)
	files := []File{{Name: "one.yaml", Data: data}, {Name: "two.yaml", Data: []byte("descriptors: []")}}
	_, err := Load(files, LoadOptions{EveryError: true})
	want := `one.yaml:6:32: config error, unknown key 'request_per_unit'; did you mean "requests_per_unit"?
one.yaml:8:5: config error, yaml file contains list of type other than map: 7
one.yaml:4:17: invalid rate limit unit 'sceond'
one.yaml:7:5: descriptor has empty key
one.yaml:11:30: should not specify rate limit unit when unlimited
one.yaml:12:9: share_threshold can only be used with wildcard values (containing '*'), but found key 'f'
one.yaml:13:5: duplicate descriptor composite key 'shop.b'
two.yaml:1:1: config file cannot have empty domain`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err = Load(files[:1], LoadOptions{}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("without EveryError: %v", err)
	}
	var many strings.Builder
	many.WriteString("domain: shop\ndescriptors:\n")
	for range 2 * maxErrors {
		many.WriteString("  - value: x\n")
	}
	_, err = Load([]File{{Name: "many.yaml", Data: []byte(many.String())}}, LoadOptions{EveryError: true})
	if got := strings.Count(err.Error(), "\n") + 1; got != maxErrors {
		t.Errorf("%d errors, want %d", got, maxErrors)
	}
}

// TestLoadErrors checks that errors use envoyproxy/ratelimit's text, preceded by the file name and position.
func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"descriptors:", "1:1: config file cannot have empty domain"},
		{"", "1:1: config file cannot have empty domain"},
		{"domain: d\ndescriptors:\n  - value: x", "3:5: descriptor has empty key"},
		{"domain: d\ndescriptors: [{key: a, value: b}, {key: a, value: b}]", "2:35: duplicate descriptor composite key 'd.a_b'"},
		{"domain: d\ndescriptors: [{key: a, descriptors: [{key: b}, {key: b}]}]", "2:48: duplicate descriptor composite key 'd.a.b'"},
		{"domain: d\ndescriptors: [{key: a_b}, {key: a, value: b}]", "2:27: duplicate descriptor composite key 'd.a_b'"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: foo, requests_per_unit: 5}}]", "2:36: invalid rate limit unit 'foo'"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {requests_per_unit: 5}}]", "2:36: invalid rate limit unit ''"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: unknown}}]", "2:36: invalid rate limit unit 'unknown'"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unlimited: true, unit: day}}]", "2:36: should not specify rate limit unit when unlimited"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, replaces: [{name: }]}}]", "2:59: should not have an empty replaces entry"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, name: n, replaces: [{name: n}]}}]", "2:68: replaces should not contain name of same descriptor"},
		{"domain: d\ndescriptors: [{key: a, value: b, share_threshold: true}]", "2:15: share_threshold can only be used with wildcard values (containing '*'), but found key 'a_b'"},
		{"domain: d\ndescriptors: [{key: a, ratelimit: {unit: day}}]", `2:24: config error, unknown key 'ratelimit'; did you mean "rate_limit"?`},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requestsperunit: 5}}]", `2:48: config error, unknown key 'requestsperunit'; did you mean "requests_per_unit"?`},
		{"0.25: d", "1:1: config error, key is not of type string: 0.25"},
		{"yes: d", "1:1: config error, key is not of type string: true"},
		{"domain: d\ndescriptors: [a, b]", "2:15: config error, yaml file contains list of type other than map: a"},
		{"domain: d\ndescriptors: [{key: a, value: 1.5}]", "2:31: error checking config"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: -1}}]", `2:67: error loading config file: requests_per_unit is "-1"; accepted: a whole number from 0 to 4294967295`},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}]", `2:67: error loading config file: requests_per_unit is "4294967296"; accepted: a whole number from 0 to 4294967295`},
		{"domain: d\ndescriptors: [{key: a, shadow_mode: 1}]", `2:37: error loading config file: shadow_mode is "1"; accepted: true or false`},
		{"domain: {a: b}", "1:10: config error, unknown key 'a'"},
		{"domain: d\ndescriptors: {key: a}", "2:14: error loading config file: descriptors is a group of fields; accepted: a list such as [{key: …}]"},
		{"- domain: d", "1:1: error loading config file: the file is a list; accepted: domain and descriptors"},
		{"domain: *absent", "1:9: error loading config file: no anchor &absent before this alias"},
		{"...\ndomain: d", `1:1: error loading config file: "..." ends a document before one begins; accepted: a file that begins with its first field`},
		// Fields added by Headgate.
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, algorithm: pacer}}]", "2:36: invalid algorithm 'pacer'; accepted: " + acceptedAlgorithms()},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5, burst: 5}}]", "2:36: burst is 5 with algorithm fixed-window; accepted: burst with an algorithm that refills, such as token-bucket"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5, max_paus: 1s}}]", "2:70: config error, unknown key 'max_paus'; did you mean \"max_pause\"?"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5, weight: 5}}]", "2:36: weight is 5 with algorithm fixed-window; accepted: no such field"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5, algorithm: concurrency}}]", "2:36: invalid algorithm 'concurrency'; accepted: " + acceptedAlgorithms()},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 50, algorithm: adaptive-rate}}]", "2:36: invalid rate limit: window is 1d; accepted: 1ms to 1h, in whole microseconds, on adaptive-rate"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 50, algorithm: fair-share, weight: many}}]", "2:36: invalid rate limit: weight is \"many\"; accepted: a whole number"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 50, classes: [{name: a, weight: 3}]}}]", "2:80: invalid classes: weight is 3; accepted: none on a policy without a limit that divides its units among keys, such as fair-share"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 200000, algorithm: sliding-log}}]", "2:36: invalid rate limit: limit is 200000; accepted: 1 to 100000 on a sliding-log; beyond that use sliding-window strict"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: year, unit_multiplier: 101}}]", "2:36: rate limit of 101 years is longer than 100 years; accepted: a unit_multiplier up to 100"},
		{"domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, unit_multiplier: 0}}]", `2:65: error loading config file: unit_multiplier is "0"; accepted: a whole number from 1 to 4294967295`},
		{"domain: d\ndescriptors: [{key: a, metadata: [1]}]", "config error"},
	} {
		_, err := Load([]File{{Name: "f.yaml", Data: []byte(c.yaml)}}, LoadOptions{})
		if c.want == "config error" { // any error, because in envoyproxy/ratelimit it comes from the YAML library
			if err == nil {
				t.Errorf("%s: no error", c.yaml)
			}
			continue
		}
		if err == nil || err.Error() != "f.yaml:"+c.want {
			t.Errorf("%s\n got %v\nwant f.yaml:%s", c.yaml, err, c.want)
		}
	}
}

// TestInvalidYAML checks that the error for text that is not YAML says so.
func TestInvalidYAML(t *testing.T) {
	for _, text := range []string{"'''", "a: b: c", "{", "domain: [", strings.Repeat("[", 10_000), "domain: \x00"} {
		_, err := Load([]File{{Name: "f.yaml", Data: []byte(text)}}, LoadOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// FuzzLoad checks that no input makes Load panic, and that every error names the file.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"domain: d\ndescriptors:\n  - key: a\n    value: b*\n    rate_limit: {unit: day, requests_per_unit: 1}\n    metadata: {a: [1, .inf, ~]}",
		"domain: d\n<<: &a {descriptors: [{key: a}]}", "domain: !!str 5", "domain: &a *a", "? [a]\n: b", "---\n---\na", "domain: >\n  a\n b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load([]File{{Name: "f.yaml", Data: data}}, LoadOptions{})
		if err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") || err == nil && len(c.domains) == 0 {
			t.Errorf("%q: %v", data, err)
		}
	})
}

// TestAliasesAreBounded checks that a file of a few hundred bytes cannot make the server build millions of rules.
func TestAliasesAreBounded(t *testing.T) {
	text := "domain: d\ndescriptors:\n- {key: k0, descriptors: &a0 [{key: k}] }\n"
	for i := range 12 {
		text += fmt.Sprintf("- key: k%d\n  descriptors: &a%d\n", i+1, i+1)
		for j := range 10 {
			text += fmt.Sprintf("  - key: k%d\n    descriptors: *a%d\n", j, i)
		}
	}
	_, err := Load([]File{{Name: "f.yaml", Data: []byte(text)}}, LoadOptions{})
	if err == nil || !strings.Contains(err.Error(), "more than 4194304 values") {
		t.Errorf("%v", err)
	}
}

// TestMergeDomains checks that two files with the same domain cause an error or are merged, depending on the option.
func TestMergeDomains(t *testing.T) {
	files := []File{
		{Name: "a.yaml", Data: []byte("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]")},
		{Name: "b.yaml", Data: []byte("domain: d\ndescriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 2}}]")},
	}
	_, err := Load(files, LoadOptions{})
	if err == nil || err.Error() != "b.yaml:1:1: duplicate domain 'd' in config file" {
		t.Errorf("%v", err)
	}
	c, err := Load(files, LoadOptions{MergeDomains: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Describe(), []string{"d.a: 1 per day (policy envoy.d.a)", "d.b: 2 per day (policy envoy.d.b)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := Load(append(files, files[1]), LoadOptions{MergeDomains: true}); err == nil || err.Error() != "b.yaml:2:15: duplicate descriptor composite key 'd.b'" {
		t.Errorf("%v", err)
	}
}

// TestDescribeHasEveryRule checks that the description includes rules without a limit.
func TestDescribeHasEveryRule(t *testing.T) {
	c, err := Load([]File{{Name: "a.yaml", Data: []byte(`domain: d
descriptors:
  - key: a
    descriptors: [{key: b, rate_limit: {unlimited: true}}]
  - {key: a, value: x, rate_limit: {unit: day, requests_per_unit: 1}, quota_mode: true}
  - {key: c, rate_limit: {unlimited: true}, shadow_mode: true}`)}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Describe(), []string{"d.a.b: unlimited", "d.a_x: 1 per day (quota_mode, policy envoy.d.a_x)", "d.c: unlimited (shadow_mode)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.eachStats(func(*ruleStats) {})
}

// TestEveryFileIsChecked checks that the error contains a line for each invalid file.
func TestEveryFileIsChecked(t *testing.T) {
	bad := func(name string) File { return File{Name: name, Data: []byte("descriptors:")} }
	_, err := Load([]File{bad("a"), {Name: "b", Data: []byte("domain: d")}, bad("c")}, LoadOptions{})
	if want := "a:1:1: config file cannot have empty domain\nc:1:1: config file cannot have empty domain"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestReadDir checks that ReadDir reads subdirectories and links, but skips names that begin with a dot.
func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"..1/b.yaml", ".hidden", "a.yml", "sub/c", "sub/.d"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..1/b.yaml", filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	files, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name+":"+string(f.Data))
	}
	if want := []string{"a.yml:a.yml", "b.yaml:..1/b.yaml", "sub/c:sub/c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRecognise checks that a file counts as envoyproxy/ratelimit's if it contains domain or descriptors.
func TestRecognise(t *testing.T) {
	for text, want := range map[string]bool{
		"domain: d\ndescriptors: []": true, "descriptors:\ndomain:": true, "domain: d": true, "descriptors: []": true, "domain: d\n<<: &a {descriptors: []}": true, "policies: {}": false, "[": false, "": false,
	} {
		if got := Recognise([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
