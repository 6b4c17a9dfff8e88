package redisstore

import (
	"context"
	"math"
	"strconv"
)

const (
	// scanPage is the number of keys in one step of a search, so that no call blocks the server for long.
	scanPage = 1000
	// allPages is the maximum number of pages for a search that must reach the last page.
	allPages = math.MaxInt
)

// pages runs a script that returns a cursor and a page, such as scan.lua. It starts with the first page, and reads at
// most the number of pages given by most. It passes each page to the function each, and stops early if the function
// returns false or an error.
func (s *Store) pages(ctx context.Context, sc *script, key string, most int, args []string, each func(page []Reply) (more bool, err error)) error {
	return s.cursor(most, func(cursor string) (Reply, error) {
		return s.runScript(ctx, sc, key, append([]string{cursor}, args...)...)
	}, each)
}

// cursor is like pages, for any call whose reply is a cursor and a page.
func (s *Store) cursor(most int, call func(cursor string) (Reply, error), each func(page []Reply) (more bool, err error)) error {
	cursor := "0"
	for range most {
		r, err := call(cursor)
		if err != nil {
			return err
		}
		if len(r.List) != 2 {
			return s.fail(OutcomeUnknown, errReply.Error(), nil)
		}
		cursor = r.List[0].Text
		if more, err := each(r.List[1].List); err != nil || !more || cursor == "0" {
			return err
		}
	}
	return nil
}

// scanKeys is like pages, for the keys on the node that serves a key. It searches for the store's prefix followed by
// the pattern.
func (s *Store) scanKeys(ctx context.Context, node, pattern string, page, most int, each func(keys []Reply) (more bool, err error)) error {
	return s.pages(ctx, s.scripts.scan(), node, most, []string{escapeGlob(s.prefix) + pattern, strconv.Itoa(page)}, each)
}
