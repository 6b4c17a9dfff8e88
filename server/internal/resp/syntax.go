package resp

import (
	"strings"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// appendArguments appends the words of a Spec.Syntax in the form used by COMMAND DOCS: a map for each argument, which
// redis-cli shows as a hint. Nested brackets are flattened, so every word inside them is optional.
func appendArguments(b []byte, p wire.Proto, words []string) []byte {
	b = wire.AppendArray(b, len(words))
	depth := 0
	for _, word := range words {
		depth += strings.Count(word, "[")
		b = appendArgument(b, p, strings.Trim(word, "[]"), depth > 0)
		depth -= strings.Count(word, "]")
	}
	return b
}

func appendArgument(b []byte, p wire.Proto, name string, optional bool) []byte {
	fields := 2
	if optional {
		fields++
	}
	b = wire.AppendMap(b, p, fields)
	b = wire.AppendBulk(wire.AppendBulk(b, "name"), name)
	b = wire.AppendBulk(wire.AppendBulk(b, "type"), "string")
	if optional {
		b = wire.AppendSet(wire.AppendBulk(b, "flags"), p, 1)
		b = wire.AppendSimple(b, "optional")
	}
	return b
}
