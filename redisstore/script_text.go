package redisstore

import (
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

type scriptID struct {
	template template
	family   family
	many     bool // see assemble
}

func (id scriptID) String() string {
	name := templateFiles[id.template] + "_" + fragments[id.family].file
	if id.many {
		name += "_many"
	}
	return name
}

// Scripts yields the name and the text of each script that decides operations. The texts are for readers and
// include the comments of their fragments. Servers receive the scripts without comments and indentation. They also
// receive a few small scripts that Scripts does not yield (lua/README.md). `go run ./redisstore/lua NAME` prints
// one script.
func Scripts() iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		for _, id := range assembled() {
			if !yield(id.String(), id.text(embedded)) {
				return
			}
		}
	}
}

// assembled returns the scripts that operations can need.
func assembled() (all []scriptID) {
	for t := range templateCount {
		for f := familyBucket; f < familyCount; f++ {
			if t == permits && fragments[f].stored != storedHolders ||
				t == merged && !f.merges() && f != familyMixed || t == alone && !f.merges() {
				continue
			}
			all = append(all, scriptID{t, f, false})
			if t == merged {
				all = append(all, scriptID{t, f, true})
			}
		}
	}
	return all
}

func (id scriptID) text(files fs.FS) string {
	names := []string{"prelude", "common"}
	for _, used := range familiesIn(id.template, id.family) {
		if shared := fragments[used].shared; shared != "" && !slices.Contains(names, shared) {
			names = append(names, shared)
		}
		names = append(names, fragments[used].file)
	}
	if id.many {
		names = append(names, "keys_many")
	}
	names = append(names, templateFiles[id.template])
	if id.template == alone {
		names = append(names, templateFiles[merged])
	}
	text := fragment(files, "prelude") + "\n" + assemble(files, id.template, id.family, id.many)
	for strings.Contains(text, "\n\n\n") { // left by empty parts
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return fmt.Sprintf("-- %s: %s.lua\n\n%s", id, strings.Join(names, ".lua, "), text)
}
