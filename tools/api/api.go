// Command api counts the exported names of package headgate, as `go doc -all .` prints them. Its test fails if the
// counts exceed the bounds in docs/design/api.md, or if there is an alias or an engine type that the page does not
// mention.
//
//	cd tools && GOWORK=off go run ./api
package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// These are the maximum numbers of names and methods.
const maxNames, maxMethods = 45, 45

// surface holds the exported names of a package.
type surface struct {
	functions, types, errors, constants, methods []string
	// aliases are types whose fields and methods are documented in another package.
	aliases []string
	// engine lists the engine types in signatures and fields.
	engine []string
}

// names returns the number of functions, types, errors and constants.
func (s *surface) names() int {
	return len(s.functions) + len(s.types) + len(s.errors) + len(s.constants)
}

// read returns the exported names of the package in a directory, excluding its tests.
func read(folder string) (*surface, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	fset, files := token.NewFileSet(), []*ast.File(nil)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, "github.com/headgate/headgate")
	if err != nil {
		return nil, err
	}
	s := new(surface)
	s.values(pkg.Vars, pkg.Consts)
	s.funcs(pkg.Funcs)
	for _, t := range pkg.Types {
		s.typed(t)
	}
	slices.Sort(s.engine)
	s.engine = slices.Compact(s.engine)
	return s, nil
}

func (s *surface) values(vars, consts []*doc.Value) {
	for _, v := range vars {
		s.errors = append(s.errors, v.Names...)
	}
	for _, v := range consts {
		s.constants = append(s.constants, v.Names...)
	}
}

func (s *surface) funcs(all []*doc.Func) {
	for _, f := range all {
		s.functions = append(s.functions, f.Name)
		s.engineIn(f.Decl.Type)
	}
}

func (s *surface) typed(t *doc.Type) {
	s.types = append(s.types, t.Name)
	s.values(t.Vars, t.Consts)
	s.funcs(t.Funcs)
	for _, m := range t.Methods {
		s.methods = append(s.methods, t.Name+"."+m.Name)
		s.engineIn(m.Decl.Type)
	}
	for _, spec := range t.Decl.Specs {
		spec := spec.(*ast.TypeSpec)
		if spec.Assign.IsValid() {
			s.aliases = append(s.aliases, spec.Name.Name)
		}
		s.engineIn(spec.Type)
		if in, ok := spec.Type.(*ast.InterfaceType); ok {
			for _, m := range in.Methods.List {
				for _, name := range m.Names {
					s.methods = append(s.methods, spec.Name.Name+"."+name.Name)
				}
			}
		}
	}
}

// engineIn adds the engine types that occur in a signature, or in the exported fields of a type, to s.engine.
func (s *surface) engineIn(node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		if at, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := at.X.(*ast.Ident); ok && pkg.Name == "engine" {
				s.engine = append(s.engine, at.Sel.Name)
			}
		}
		return true
	})
}

func main() {
	s, err := read("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, part := range []struct {
		name string
		of   []string
	}{{"functions", s.functions}, {"types", s.types}, {"errors", s.errors}, {"constants", s.constants}, {"methods", s.methods}, {"aliases", s.aliases}, {"types of the engine", s.engine}} {
		slices.Sort(part.of)
		fmt.Printf("%3d %s: %s\n", len(part.of), part.name, strings.Join(part.of, " "))
	}
	fmt.Printf("names: %d, at most %d; methods: %d, at most %d\n", s.names(), maxNames, len(s.methods), maxMethods)
}
