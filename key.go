package headgate

import "github.com/headgate/headgate/core"

// Key joins parts, such as a user and an action, into one key. Different lists of parts make different keys: "laoqian"
// and "reply" become "laoqian:reply", and a colon or backslash inside a part is escaped with a backslash, so ("a:b",
// "c") and ("a", "b:c") differ. A single part is returned unchanged, so it can equal a key of several parts.
func Key(parts ...string) string { return core.Key(parts...) }
