package page_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

var update = flag.Bool("update", false, "write web/src/types.ts")

const typesFile = "web/src/types.ts"

// TestTypesOfPage checks that the page's types match package adminapi and the summaries of package policy. With -update, it writes them.
func TestTypesOfPage(t *testing.T) {
	want := generate(t, "../adminapi/*.go", "../../../policy/summary.go", "../../../policy/setting_rows.go")
	if *update {
		if err := os.WriteFile(typesFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what package adminapi has: cd server && go test ./internal/page -update && make page", typesFile)
	}
}

// generate returns the structs and string types in files as TypeScript.
func generate(t *testing.T, patterns ...string) string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%d files in %s: %v", len(found), pattern, err)
		}
		names = append(names, found...)
	}
	var out strings.Builder
	out.WriteString("// Made from server/internal/adminapi by `go test ./internal/page -update` in server/: change it there.\n")
	words := map[string][]string{} // each type's constants
	var types []*ast.GenDecl
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			d, ok := declared.(*ast.GenDecl)
			if ok && d.Tok == token.TYPE && d.Specs[0].(*ast.TypeSpec).Name.IsExported() {
				types = append(types, d)
			}
			if ok && d.Tok == token.CONST {
				addWords(words, d)
			}
		}
	}
	for _, d := range types {
		spec := d.Specs[0].(*ast.TypeSpec)
		switch of := spec.Type.(type) {
		case *ast.StructType:
			writeInterface(&out, d.Doc, spec.Name.Name, of)
		case *ast.Ident:
			fmt.Fprintf(&out, "\n%sexport type %s = %s;\n", comment("", d.Doc), spec.Name.Name, strings.Join(words[spec.Name.Name], " | "))
		}
	}
	writeAlgorithms(&out)
	writeFields(&out)
	return out.String()
}

// writeAlgorithms writes the table of algorithms, with the properties that the page asks for.
func writeAlgorithms(out *strings.Builder) {
	properties := []struct {
		name string
		has  func(algo.Algorithm) bool
	}{
		{"constant", algo.Algorithm.Constant},
		{"refills", algo.Algorithm.Refills},
		{"burst_is_count", algo.Algorithm.BurstIsCount},
		{"paces", algo.Algorithm.Paces},
		{"holds", algo.Algorithm.Holds},
		{"divides", algo.Algorithm.Divides},
		{"adapts", algo.Algorithm.Adapts},
		{"punishes", algo.Algorithm.Punishes},
	}
	out.WriteString("\n/** Algorithm has the other names of an algorithm, and its properties in engine/algo. */\nexport interface Algorithm {\n  aliases: string[];\n")
	for _, p := range properties {
		fmt.Fprintf(out, "  %s?: true;\n", p.name)
	}
	out.WriteString("}\n\nexport const algorithms: Record<string, Algorithm> = {\n")
	for _, a := range algo.Algorithms() {
		aliases := []string{}
		for _, alias := range a.Names()[1:] {
			aliases = append(aliases, strconv.Quote(alias))
		}
		fmt.Fprintf(out, "  %q: { aliases: [%s]", a, strings.Join(aliases, ", "))
		for _, p := range properties {
			if p.has(a) {
				fmt.Fprintf(out, ", %s: true", p.name)
			}
		}
		out.WriteString(" },\n")
	}
	out.WriteString("};\n")
}

// writeFields writes the table of the fields of a limit.
func writeFields(out *strings.Builder) {
	kinds := [...]string{engine.FieldUnits: "units", engine.FieldSpan: "span", engine.FieldWord: "word", engine.FieldFlag: "flag", engine.FieldRates: "rates"}
	out.WriteString("\n/** fields are the fields of a limit except for its rate. A field implies the algorithm of a text that names none. */\n" +
		"export const fields: Record<string, { kind: \"units\" | \"span\" | \"word\" | \"flag\" | \"rates\"; implies?: string }> = {\n")
	for f := range engine.Fields() {
		implies := ""
		if a := f.Implies(); a != algo.None {
			implies = fmt.Sprintf(", implies: %q", a)
		}
		fmt.Fprintf(out, "  %s: { kind: %q%s },\n", f.Name, kinds[f.Kind], implies)
	}
	out.WriteString("};\n")
}

// addWords adds the constants with a declared type.
func addWords(words map[string][]string, d *ast.GenDecl) {
	for _, one := range d.Specs {
		spec := one.(*ast.ValueSpec)
		if kind, ok := spec.Type.(*ast.Ident); ok {
			words[kind.Name] = append(words[kind.Name], spec.Values[0].(*ast.BasicLit).Value)
		}
	}
}

// writeInterface writes a struct as a TypeScript interface, unless none of its fields are in JSON.
func writeInterface(out *strings.Builder, doc *ast.CommentGroup, name string, of *ast.StructType) {
	var fields, embedded []string
	for _, field := range of.Fields.List {
		if len(field.Names) == 0 {
			embedded = append(embedded, field.Type.(*ast.Ident).Name)
			continue
		}
		if field.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		json, options, _ := strings.Cut(tag, ",")
		if json == "-" || json == "" {
			continue
		}
		kind := typescript(field.Type)
		if _, pointer := field.Type.(*ast.StarExpr); pointer && options == "" {
			kind += " | null"
		}
		if options != "" {
			json += "?"
		}
		fields = append(fields, fmt.Sprintf("%s  %s: %s;\n", comment("  ", field.Doc), json, kind))
	}
	if len(fields)+len(embedded) == 0 {
		return
	}
	if len(embedded) > 0 {
		name += " extends " + strings.Join(embedded, ", ")
	}
	fmt.Fprintf(out, "\n%sexport interface %s {\n%s}\n", comment("", doc), name, strings.Join(fields, ""))
}

func comment(indent string, doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	return indent + "/** " + strings.Join(strings.Fields(doc.Text()), " ") + " */\n"
}

func typescript(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return typescript(of.X)
	case *ast.ArrayType:
		return typescript(of.Elt) + "[]"
	case *ast.MapType:
		return "Record<" + typescript(of.Key) + ", " + typescript(of.Value) + ">"
	case *ast.SelectorExpr:
		switch of.Sel.Name {
		case "Time":
			return "string"
		case "RawMessage":
			return "unknown"
		default:
			return of.Sel.Name // of package policy
		}
	}
	switch name := of.(*ast.Ident).Name; name {
	case "int", "int64", "uint64", "float64":
		return "number"
	case "bool":
		return "boolean"
	case "any":
		return "unknown"
	default:
		return name
	}
}
