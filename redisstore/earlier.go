package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// earlierKeys matches what the build before this one called its fixed windows,
// sliding windows and pacers. Their names had no grid: this build does not read
// them, and would count from nothing beside them.
const earlierKeys = "/*/[fps]*[rw]/*"

// scanned is how many keys of a node are looked at, at most.
const scanned = 10_000_000

// findEarlier returns an error where the server holds such states. A store looks
// once, before it leaves its note; on a server without any that takes some 0.5 s for
// a million keys.
func (s *Store) findEarlier(ctx context.Context) error {
	nodes, err := s.nodeKeys(ctx)
	if err != nil {
		return err
	}
	for _, key := range nodes {
		found, err := s.scan(ctx, key)
		if e, ok := errors.AsType[*Error](err); ok && e.Class == NoPermission {
			return fmt.Errorf("%w%s", err, s.advice())
		}
		if err != nil {
			return err
		}
		if found != "" {
			return s.fail(Older, fmt.Sprintf("the key %.80q is of an earlier build, which this one cannot count on with: "+
				"stop that build and wait until its windows have ended, or use another prefix", found), nil)
		}
	}
	return nil
}

// scan looks at all keys of the node that has a key.
func (s *Store) scan(ctx context.Context, key string) (found string, err error) {
	pattern := escapeGlob(s.prefix) + earlierKeys
	const page = 1000 // no call holds the server up for long
	cursor := "0"
	for range scanned / page {
		r, err := s.share(ctx, "scan", key, cursor, pattern, strconv.Itoa(page))
		if err != nil {
			return "", err
		}
		if len(r.List) != 2 {
			return "", s.fail(OutcomeUnknown, errReply.Error(), nil)
		}
		for _, k := range r.List[1].List {
			if s.isEarlier(k.Text) {
				return k.Text, nil
			}
		}
		if cursor = r.List[0].Text; cursor == "0" {
			break
		}
	}
	return "", nil
}

// isEarlier reports whether the key is one of these: what follows the space is the
// bare algorithm, a name and a subject.
func (s *Store) isEarlier(key string) bool {
	rest, ok := strings.CutPrefix(key, s.prefix+"/")
	fields := strings.SplitN(rest, "/", 4)
	if !ok || len(fields) < 4 || fields[1] != "fixed-window" && fields[1] != "sliding-window" && fields[1] != "pacer" {
		return false
	}
	subject := fields[3] // as appendSubject writes it
	return strings.HasPrefix(subject, "{") || strings.HasPrefix(subject, "/") || strings.HasPrefix(subject, "%{")
}

// nodeKeys returns a key of each node that holds data.
func (s *Store) nodeKeys(ctx context.Context) ([]string, error) {
	if !s.conn.Cluster() {
		return []string{s.noteKey()}, nil
	}
	r, err := s.bare(ctx, "", "CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	var keys []string
	known := map[string]bool{}
	for _, span := range r.List {
		if len(span.List) < 3 || len(span.List[2].List) < 2 {
			return nil, s.fail(OutcomeUnknown, errReply.Error(), nil)
		}
		node := span.List[2].List
		if name := fmt.Sprint(node[0].Text, ":", node[1].Int); !known[name] {
			known[name] = true
			keys = append(keys, s.prefix+"/{"+tagOf(uint16(span.List[0].Int))+"}")
		}
	}
	return keys, nil
}

// tagOf returns a hash tag of a slot.
func tagOf(at uint16) string {
	for n := 0; ; n++ {
		if text := strconv.Itoa(n); slot(text) == at {
			return text
		}
	}
}

// escapeGlob quotes what a pattern would not take literally.
func escapeGlob(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(`*?[]\^`, c) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(c)
	}
	return out.String()
}
