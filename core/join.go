package core

import "strings"

// Key joins parts into one key: see headgate.Key.
func Key(parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	for i, p := range parts {
		if strings.ContainsAny(p, `:\`) {
			return escapeParts(parts, i)
		}
	}
	return strings.Join(parts, ":")
}

var partEscaper = strings.NewReplacer(":", `\:`, `\`, `\\`)

func escapeParts(parts []string, first int) string {
	escaped := append([]string(nil), parts...)
	for i := first; i < len(escaped); i++ {
		escaped[i] = partEscaper.Replace(escaped[i])
	}
	return strings.Join(escaped, ":")
}
