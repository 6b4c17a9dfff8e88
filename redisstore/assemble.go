package redisstore

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// A script is assembled from a template, the fragments of the algorithms that it needs, and common.lua. Each "--@name"
// line of the template is replaced by the part of that name from the algorithm's fragment. In a script for several
// algorithms it is replaced by an if that selects the algorithm's part. A script therefore defines only the functions
// that it needs, which halves its time, because Redis creates a script's functions again at each call.
//
// lua/README.md describes the conventions shared by fragments. [Scripts] returns the assembled scripts.
//
//go:embed lua/*.lua
var embedded embed.FS

// fragment returns the text of a file in lua/.
func fragment(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, "lua/"+name+".lua")
	if err != nil {
		return "" // unreachable: all names are constants, and TestScripts assembles all scripts
	}
	return string(data)
}

// splitParts splits a fragment at its "--- name" lines into parts by name. The text before the first such line is the
// part "".
func splitParts(fragment string) map[string]string {
	parts, name := map[string]string{}, ""
	for line := range strings.Lines(fragment) {
		if after, ok := strings.CutPrefix(line, "--- "); ok {
			name = strings.TrimSpace(after)
			continue
		}
		parts[name] += line
	}
	return parts
}

// familiesIn returns the families of limits that a script can decide.
func familiesIn(t template, f family) (used []family) {
	if f != familyMixed {
		return []family{f}
	}
	for f := familyBucket; f < familyMixed; f++ {
		if t != merged || f.merges() {
			used = append(used, f)
		}
	}
	return used
}

// assemble returns a script with comments and indentation, without its prelude. If many is set, a merged script writes
// many keys with one command.
func assemble(files fs.FS, t template, f family, many bool) string {
	common := splitParts(fragment(files, "common"))
	if many {
		maps.Copy(common, splitParts(fragment(files, "keys_many")))
	}
	a := assembler{common: common, parts: map[family]map[string]string{}, used: familiesIn(t, f)}
	functions, locals := "", common["locals"]
	var included []string
	for _, f := range a.used {
		parts := splitParts(fragment(files, fragments[f].file))
		if shared := fragments[f].shared; shared != "" {
			common := splitParts(fragment(files, shared))
			if !slices.Contains(included, shared) {
				locals, functions = locals+undeclared(common["locals"], locals), functions+common["functions"]
				included = append(included, shared)
			}
			delete(common, "")
			delete(common, "locals")
			delete(common, "functions")
			maps.Copy(parts, common)
		}
		a.parts[f] = parts
		locals, functions = locals+undeclared(parts["locals"], locals), functions+parts["functions"]
	}
	body := common["functions"] + locals + functions
	if t == alone { // alone.lua returns before merge.lua's functions are created, or continues as merge.lua
		return common["constants"] + a.expand(fragment(files, templateFiles[alone]), 0) + body + a.expand(fragment(files, templateFiles[merged]), 0)
	}
	return common["constants"] + body + a.expand(fragment(files, templateFiles[t]), 0)
}

// undeclared removes names from a fragment's declarations if an earlier fragment of the script has declared them,
// because Lua allows at most 200 locals. Locals are set again for each limit, so fragments can share them.
// Declarations with a value are kept.
func undeclared(locals, earlier string) string {
	declared := map[string]bool{}
	for _, name := range declaredNames(earlier) {
		declared[name] = true
	}
	var out strings.Builder
	for line := range strings.Lines(locals) {
		names := slices.DeleteFunc(declaredNames(line), func(name string) bool { return declared[name] })
		if !isDeclaration(line) {
			out.WriteString(line)
		} else if len(names) > 0 {
			_, comment, found := strings.Cut(line, "--")
			out.WriteString("local " + strings.Join(names, ", "))
			if found {
				out.WriteString(" --" + strings.TrimSuffix(comment, "\n"))
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

// isDeclaration reports whether a line declares locals without a value.
func isDeclaration(line string) bool {
	code, _, _ := strings.Cut(line, "--")
	return strings.HasPrefix(line, "local ") && !strings.Contains(code, "=")
}

// declaredNames returns the locals that lines declare without a value.
func declaredNames(lines string) (names []string) {
	for line := range strings.Lines(lines) {
		if !isDeclaration(line) {
			continue
		}
		code, _, _ := strings.Cut(strings.TrimPrefix(line, "local "), "--")
		for name := range strings.SplitSeq(code, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// assembler inserts parts into a template.
type assembler struct {
	common map[string]string
	parts  map[family]map[string]string
	used   []family
}

// expand replaces the "--@name" lines in source, which is a family's part or the template. The owner is that family, or
// 0 for the template.
func (a *assembler) expand(source string, owner family) string {
	var out strings.Builder
	for line := range strings.Lines(source) {
		text := strings.TrimLeft(line, " ")
		name, ok := strings.CutPrefix(strings.TrimSpace(text), "--@")
		if !ok {
			out.WriteString(line)
			continue
		}
		indent := line[:len(line)-len(text)]
		for line := range strings.Lines(a.part(name, owner)) {
			if strings.TrimSpace(line) != "" {
				line = indent + line
			}
			out.WriteString(line)
		}
	}
	return out.String()
}

// part returns the text that replaces "--@name".
func (a *assembler) part(name string, owner family) string {
	if owner == 0 && len(a.used) == 1 {
		owner = a.used[0]
	}
	if owner == 0 && !a.differs(name) {
		return "do -- " + name + "\n" + indented(a.expand(a.common[name], 0)) + "end\n"
	}
	if owner != 0 {
		return "do -- " + name + "\n" + indented(a.expand(a.source(name, owner), owner)) + "end\n"
	}
	var out strings.Builder
	keyword := "if"
	for _, f := range a.used {
		fmt.Fprintf(&out, "%s algorithm == %d then -- %s of %s.lua\n%s", keyword, f, name, fragments[f].file,
			indented(a.expand(a.source(name, f), f)))
		keyword = "elseif"
	}
	return out.String() + "end\n"
}

// differs reports whether any family of the script defines the part, instead of using the part from common.lua.
func (a *assembler) differs(name string) bool {
	for _, parts := range a.parts {
		if _, ok := parts[name]; ok {
			return true
		}
	}
	_, ok := a.common[name]
	return !ok
}

// source returns the text of a part as defined by the family owner, or by common.lua if the family does not define it.
func (a *assembler) source(name string, owner family) string {
	if source, ok := a.parts[owner][name]; ok {
		return source
	}
	return a.common[name]
}

// indented indents the lines of a script for readers.
func indented(source string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.Trim(source, "\n")) {
		if strings.TrimSpace(line) != "" {
			line = "  " + line
		}
		out.WriteString(line)
	}
	if text := out.String(); text != "" {
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	return ""
}

// strip removes comments, indentation and empty lines, so that the server compiles only code.
func strip(source string) string {
	var out strings.Builder
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if comment := strings.Index(line, "--"); comment >= 0 {
			line = strings.TrimSpace(line[:comment])
		}
		if line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
