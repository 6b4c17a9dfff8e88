package admin_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const specURL = "http://localhost/admin.yaml"

// spec is the parsed admin.yaml.
type spec struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

func loadSpec(t *testing.T) *spec {
	t.Helper()
	data, err := os.ReadFile("../../../docs/reference/admin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if data, err = jsonOf(data); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	s := &spec{root: parsed.(map[string]any), compiler: jsonschema.NewCompiler()}
	if err := s.compiler.AddResource(specURL, parsed); err != nil {
		t.Fatal(err)
	}
	return s
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// operations calls f with the method, path and description of each call.
func (s *spec) operations(f func(method, path string, described map[string]any)) {
	for path, methods := range s.root["paths"].(map[string]any) {
		for method, described := range methods.(map[string]any) {
			if method != "parameters" {
				f(strings.ToUpper(method), path, described.(map[string]any))
			}
		}
	}
}

// bodies returns the examples of a call's request body, or one empty body if the call has none.
func bodies(described map[string]any) (all []string) {
	body, ok := described["requestBody"].(map[string]any)
	if !ok {
		return []string{""}
	}
	examples := body["content"].(map[string]any)["application/json"].(map[string]any)["examples"].(map[string]any)
	for _, example := range examples {
		data, _ := json.Marshal(example.(map[string]any)["value"])
		all = append(all, string(data))
	}
	return all
}

// check validates an answer against its description in admin.yaml.
func (s *spec) check(t *testing.T, method, path, call string, w *httptest.ResponseRecorder) {
	t.Helper()
	at := "/paths/" + escape.Replace(path) + "/" + strings.ToLower(method)
	described := s.root["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
	status := strconv.Itoa(w.Code)
	if w.Code >= 400 {
		forAll := []int{401, 403} // listed once, for all calls
		at = "/components/schemas/problem"
		if _, ok := described["responses"].(map[string]any)[status]; !ok && !slices.Contains(forAll, w.Code) {
			t.Errorf("%s %s: status %s is not described", method, call, status)
		}
		if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s %s: status %s with content type %s", method, call, status, got)
		}
	} else {
		at += "/responses/" + status + "/content/" + escape.Replace(w.Header().Get("Content-Type")) + "/schema"
	}
	schema, err := s.compiler.Compile(specURL + "#" + at)
	if err != nil {
		t.Errorf("%s %s: status %s, %s: %v", method, call, status, w.Header().Get("Content-Type"), err)
		return
	}
	if !strings.Contains(w.Header().Get("Content-Type"), "json") {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s: status %s: %v\n%s", method, call, status, err, w.Body)
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
