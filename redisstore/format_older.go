package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// olderKeys matches the keys of fixed windows, sliding windows and pacers of the previous build. These keys contain no
// grid, so this build does not find them. It would start these limits from zero while the previous build keeps
// counting.
const olderKeys = "/*/[fps]*[rw]/*"

// maxScanned bounds the keys scanned on one node.
const maxScanned = 10_000_000

// findOlderStates returns an error of class Older if the server holds states of the previous build. A store calls it
// before it writes the format marker. On a server without such states it takes about 0.5 s for a million keys.
func (s *Store) findOlderStates(ctx context.Context) error {
	nodes, err := s.nodeKeys(ctx)
	if err != nil {
		return err
	}
	for _, key := range nodes {
		found, err := s.scan(ctx, key)
		if e, ok := errors.AsType[*Error](err); ok && e.Class == NoPermission {
			return fmt.Errorf("%w%s", err, s.aclAdvice())
		}
		if err != nil {
			return err
		}
		if found != "" {
			return s.fail(Older, fmt.Sprintf("an older build wrote the key %.80q, and this one cannot read its states: "+
				"stop that build and wait until its windows have ended, or use another prefix", found), nil)
		}
	}
	return nil
}

// scan searches all keys of the node that serves the given key, and returns the first key of the older build.
func (s *Store) scan(ctx context.Context, key string) (found string, err error) {
	err = s.scanKeys(ctx, key, olderKeys, scanPage, maxScanned/scanPage, func(keys []Reply) (more bool, err error) {
		for _, k := range keys {
			if s.isOlderKey(k.Text) {
				found = k.Text
				return false, nil
			}
		}
		return true, nil
	})
	return found, err
}

// isOlderKey reports whether the older build wrote a key: the namespace is followed by the algorithm without a grid, a
// name and a subject.
func (s *Store) isOlderKey(key string) bool {
	rest, ok := strings.CutPrefix(key, s.prefix+"/")
	fields := strings.SplitN(rest, "/", 4)
	if !ok || len(fields) < 4 || fields[1] != "fixed-window" && fields[1] != "sliding-window" && fields[1] != "pacer" {
		return false
	}
	subject := fields[3] // in one of the forms of appendSubject
	return strings.HasPrefix(subject, "{") || strings.HasPrefix(subject, "/") || strings.HasPrefix(subject, "%{")
}

// nodeKeys returns one key for each node that holds data.
func (s *Store) nodeKeys(ctx context.Context) ([]string, error) {
	if !s.conn.Cluster() {
		return []string{s.markerKey()}, nil
	}
	r, err := s.sendCommand(ctx, "", "CLUSTER", "SLOTS")
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
			keys = append(keys, s.prefix+"/{"+tagInSlot(uint16(span.List[0].Int))+"}")
		}
	}
	return keys, nil
}

// tagInSlot returns a hash tag that is in the given slot.
func tagInSlot(at uint16) string {
	for n := 0; ; n++ {
		if text := strconv.Itoa(n); slotOfKey(text) == at {
			return text
		}
	}
}

// escapeGlob escapes the special characters of a pattern.
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
