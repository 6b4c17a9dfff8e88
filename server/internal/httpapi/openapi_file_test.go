package httpapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const (
	reference = "../../../docs/reference/"
	// specURL is the URL under which the validator finds the reference, so that references between the files can be
	// resolved.
	specURL = "http://localhost/openapi.yaml"
)

// operation is one method of a path.
type operation struct{ method, path string }

func (o operation) String() string { return o.method + " " + o.path }

func (o operation) pointer() string {
	return "/paths/" + escape(o.path) + "/" + strings.ToLower(o.method)
}

// escape encodes a name as a part of a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// spec is openapi.yaml with a validator for its schemas.
type spec struct {
	root     any
	compiler *jsonschema.Compiler
}

func loadSpec(t *testing.T) *spec {
	t.Helper()
	s := &spec{compiler: jsonschema.NewCompiler()}
	for _, name := range []string{"openapi.yaml", "policies.schema.json"} {
		data, err := os.ReadFile(reference + name)
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
		if err := s.compiler.AddResource("http://localhost/"+name, parsed); err != nil {
			t.Fatal(err)
		}
		if s.root == nil {
			s.root = parsed
		}
	}
	return s
}

func (s *spec) operations() (all []operation) {
	paths := s.root.(map[string]any)["paths"].(map[string]any)
	for path, methods := range paths {
		for method := range methods.(map[string]any) {
			if method == "parameters" {
				continue // fields shared by all methods
			}
			all = append(all, operation{strings.ToUpper(method), path})
		}
	}
	return all
}

// resolve returns the object at a JSON pointer and the object's own pointer, following references to other parts of
// the file. It returns nil if there is no such object.
func (s *spec) resolve(pointer string) (object map[string]any, own string) {
	at := s.root
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := at.(map[string]any)
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		own += "/" + name
		if object, ok := at.(map[string]any); ok {
			if reference, ok := object["$ref"].(string); ok && strings.HasPrefix(reference, "#") {
				at, own = s.resolve(strings.TrimPrefix(reference, "#"))
			}
		}
	}
	object, _ = at.(map[string]any)
	return object, own
}

func (s *spec) node(t *testing.T, pointer string) map[string]any {
	t.Helper()
	object, _ := s.resolve(pointer)
	if object == nil {
		t.Fatalf("openapi.yaml has no %s", pointer)
	}
	return object
}

// validate checks a value against the schema at a pointer.
func (s *spec) validate(t *testing.T, pointer string, value any) error {
	t.Helper()
	schema, err := s.compiler.Compile(specURL + "#" + pointer)
	if err != nil {
		t.Fatalf("the schema %s: %v", pointer, err)
	}
	return schema.Validate(value)
}

func (s *spec) requestExamples(t *testing.T, o operation) (bodies []string) {
	t.Helper()
	examples := o.pointer() + "/requestBody/content/application~1json/examples"
	for name := range s.node(t, examples) {
		body, err := json.Marshal(s.node(t, examples+"/"+name)["value"])
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	return bodies
}

func (s *spec) checkResponse(t *testing.T, o operation, body string, w *httptest.ResponseRecorder) {
	t.Helper()
	described, pointer := s.resolve(o.pointer() + "/responses/" + strconv.Itoa(w.Code))
	if described == nil {
		t.Errorf("%s %.80s: status %d is not described", o, body, w.Code)
		return
	}
	headers, _ := described["headers"].(map[string]any)
	for name := range maps.Clone(headers) {
		headers[http.CanonicalHeaderKey(name)] = headers[name]
	}
	for name, values := range w.Header() {
		if name == "Content-Type" || name == "Connection" { // set by the connection, not the handler
			continue
		}
		if _, ok := headers[name]; !ok {
			t.Errorf("%s %.80s: status %d has %s: %q, which is not described", o, body, w.Code, name, values)
		}
	}
	if _, ok := described["content"]; !ok {
		if w.Body.Len() > 0 {
			t.Errorf("%s %.80s: status %d: a body, which is not described: %s", o, body, w.Code, w.Body)
		}
		return
	}
	pointer += "/content/" + escape(w.Header().Get("Content-Type")) + "/schema"
	value, err := jsonschema.UnmarshalJSON(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.validate(t, pointer, value); err != nil {
		t.Errorf("%s %.80s: status %d: %v", o, body, w.Code, err)
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
