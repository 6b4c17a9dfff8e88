package openapi

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestDescriptionsAreValid checks that the files are valid OpenAPI: all fields are known, all references resolve, and
// all examples match their schemas. The handlers' tests compare a server's responses with the files.
func TestDescriptionsAreValid(t *testing.T) {
	for _, name := range []string{"openapi.yaml", "admin.yaml"} {
		loader := openapi3.NewLoader()
		loader.IsExternalRefsAllowed = true // openapi.yaml refers to policies.schema.json
		file, err := loader.LoadFromFile("../../docs/reference/" + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := file.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCutDescriptionIsFound checks that an unquoted description that is cut off at a comma is reported as an error.
func TestCutDescriptionIsFound(t *testing.T) {
	loader := openapi3.NewLoader()
	file, err := loader.LoadFromData([]byte(`
openapi: 3.1.0
info: {title: t, version: v1}
paths: {}
components: {schemas: {a: {type: object, properties: {b: {type: integer, description: How long, or never.}}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Validate(t.Context()); err == nil {
		t.Error("no error")
	}
}
