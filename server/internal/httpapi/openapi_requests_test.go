package httpapi

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/server/internal/verbs"
)

var update = flag.Bool("update", false, "write the schemas of the requests in openapi.yaml, and the answers in testdata/recorded.txt")

// TestOpenAPIHasTheVerbs checks that openapi.yaml has the paths and the requests that the table of verbs describes. With
// -update, the test writes them.
func TestOpenAPIHasTheVerbs(t *testing.T) {
	const path = reference + "openapi.yaml"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(file)
	for _, part := range []struct{ indent, name, text string }{
		{"  ", "verbs", verbPaths()},
		{"    ", "requests", requestSchemas()},
	} {
		before := part.indent + "# The " + part.name + ", written by go test ./internal/httpapi -update:\n"
		after := part.indent + "# The end of the " + part.name + ".\n"
		head, rest, found := strings.Cut(want, before)
		_, tail, ends := strings.Cut(rest, after)
		if !found || !ends {
			t.Fatalf("openapi.yaml has no place for the %s", part.name)
		}
		want = head + before + part.text + after + tail
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(file) {
		t.Errorf("%s does not have the verbs of package verbs: cd server && go test ./internal/httpapi -update", path)
	}
}

// TestThePageHasEveryField checks that http.md has each verb and each field.
func TestThePageHasEveryField(t *testing.T) {
	page, err := os.ReadFile(reference + "http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range members {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("http.md has no row for the field %s", name)
		}
	}
	for i := range verbs.All {
		if !strings.Contains(string(page), "/v1/"+verbs.All[i].Name+"`") {
			t.Errorf("http.md has no /v1/%s", verbs.All[i].Name)
		}
	}
}

// verbPaths returns the path of each verb.
func verbPaths() string {
	var b strings.Builder
	for i := range verbs.All {
		v := &verbs.All[i]
		fmt.Fprintf(&b, "  /v1/%s:\n    parameters: [{$ref: \"#/components/parameters/X-Request-Id\"}]\n    post:\n", v.Name)
		fmt.Fprintf(&b, "      operationId: %s\n      summary: %s\n", v.Name, v.About)
		fmt.Fprintf(&b, "      requestBody: {$ref: \"#/components/requestBodies/%s\"}\n      responses:\n", capital(v.Name))
		answers := map[int]string{
			200: openAPIAnswers[v.Answer].answer, 400: "BadRequest", 403: "Forbidden", 410: openAPIAnswers[v.Answer].gone,
			413: "TooLarge", 503: "Unavailable",
		}
		if v.Fields().Has(verbs.Policy) {
			answers[404], answers[422] = "NotFound", "BadLimit"
		}
		if openAPIAnswers[v.Answer].denies {
			answers[429] = "Denied"
		}
		for _, status := range slices.Sorted(maps.Keys(answers)) {
			if answers[status] != "" {
				fmt.Fprintf(&b, "        \"%d\": {$ref: \"#/components/responses/%s\"}\n", status, answers[status])
			}
		}
	}
	return b.String()
}

// openAPIAnswers has the responses for each kind of answer, by their names in openapi.yaml.
var openAPIAnswers = map[verbs.Answer]struct {
	answer, gone string // gone is the one with status 410
	denies       bool
}{
	verbs.Decision: {answer: "Decided", denies: true},
	verbs.Given:    {answer: "Decided"},
	verbs.Reset:    {answer: "Reset"},
	verbs.Reserved: {answer: "Reserved", denies: true},
	verbs.Settled:  {answer: "Settled"},
	verbs.Reported: {answer: "Reported", gone: "NotReported"},
	verbs.Acquired: {answer: "Acquired", denies: true},
	verbs.Renewed:  {answer: "Renewed", gone: "NotRenewed"},
	verbs.Released: {answer: "Released"},
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// requestSchemas returns a schema for the fields, for a charge, for each form of each verb, and for each verb's body.
func requestSchemas() string {
	var b strings.Builder
	b.WriteString("    Fields:\n      properties:\n")
	for f := range verbs.Rows {
		fmt.Fprintf(&b, "        %s: %s\n", verbs.Rows[f].Name, fieldSchema(verbs.Field(f)))
	}
	writeForm(&b, "Charge", &verbs.Charge)
	for i := range verbs.All {
		v := &verbs.All[i]
		name := capital(v.Name)
		var forms []string
		for j := range v.Forms {
			form := name + "Request"
			if j > 0 {
				mark := verbs.Rows[v.Forms[j].Mark()].Name
				form = name + capital(mark)
			}
			writeForm(&b, form, &v.Forms[j])
			forms = append(forms, `{$ref: "#/components/schemas/`+form+`"}`)
		}
		one := forms[0]
		if len(forms) > 1 {
			one = "{oneOf: [" + strings.Join(forms, ", ") + "]}"
		}
		forms = append(forms, "{type: object, required: [requests], additionalProperties: false, properties: {requests: {type: array, minItems: 1, maxItems: 1000, items: "+one+"}}}")
		fmt.Fprintf(&b, "    %sBody:\n      oneOf:\n        - %s\n", name, strings.Join(forms, "\n        - "))
	}
	return b.String()
}

func writeForm(b *strings.Builder, name string, form *verbs.Form) {
	fmt.Fprintf(b, "    %s:\n      type: object\n      additionalProperties: false\n", name)
	required := form.Needs
	if required.Has(verbs.Policy) {
		b.WriteString("      oneOf: [{required: [policy]}, {required: [limit]}]\n")
		required &^= byPolicy
	}
	fmt.Fprintf(b, "      required: [%s]\n      properties:\n", strings.Join(required.Names(), ", "))
	for f := range form.Fields().Each() {
		name := verbs.Rows[f].Name
		schema := fmt.Sprintf(`{$ref: "#/components/schemas/Fields/properties/%s"}`, name)
		if f == verbs.Limit && form == &verbs.Charge {
			schema = `{$ref: "policies.schema.json#/$defs/limit", description: "One limit that comes with the request, as text or as fields."}`
		}
		fmt.Fprintf(b, "        %s: %s\n", name, schema)
	}
}

// fieldSchema returns the schema of a field in YAML.
func fieldSchema(f verbs.Field) string {
	row := &verbs.Rows[f]
	schema := row.Schema
	most := func(name string) string {
		if row.Most == math.MaxInt64 {
			return ""
		}
		return fmt.Sprintf(", %s: %d", name, row.Most)
	}
	switch {
	case row.Text != nil:
		schema = fmt.Sprintf("type: string, minLength: %d", row.Least) + most("maxLength")
	case row.Number != nil:
		schema = fmt.Sprintf("type: integer, minimum: %d", row.Least) + most("maximum")
	case f == verbs.Outcomes:
		var properties []string
		for _, n := range algo.ReportFields {
			properties = append(properties, fmt.Sprintf("%s: {type: integer, minimum: 0, maximum: %d}", n.Name, n.Most))
		}
		schema = "type: object, additionalProperties: false, properties: {" + strings.Join(properties, ", ") + "}"
	}
	return fmt.Sprintf("{%s, description: %q}", schema, row.About)
}
