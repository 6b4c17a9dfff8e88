package headgate

import "strings"

// Key joins parts, such as a user and an action, into one key. Different lists of parts make different keys: "laoqian"
// and "reply" become "laoqian:reply", and a colon or backslash inside a part is escaped with a backslash, so ("a:b",
// "c") and ("a", "b:c") differ. A single part is returned unchanged, so it can equal a key of several parts.
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
