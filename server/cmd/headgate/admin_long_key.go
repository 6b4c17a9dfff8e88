package main

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/topkeys"
)

// maxShownKey is the maximum number of characters of a key that lists show.
const maxShownKey = 100

// shownKey returns the text of a key. If it is longer than maxShownKey or room, which are in characters, shownKey
// returns its beginning and its hash.
func shownKey(k *adminapi.TopKey, room int) string {
	text := []rune(keyText(k.KeyFields))
	if len(text) <= min(room, maxShownKey) || k.KeyHash == "" {
		return string(text)
	}
	hash := "… (" + k.KeyHash + ")"
	return string(text[:min(max(room-len([]rune(hash)), 0), maxShownKey, len(text))]) + hash
}

// shortenedKey matches the text of a key that shownKey has shortened.
var shortenedKey = regexp.MustCompile(`(?s)^(.*)… \(([0-9a-f]{8})\)$`)

// wholeKey returns the key that an argument names: the argument itself or, if the argument looks like a shortened key,
// the long key in the server's lists with this beginning and hash. If the lists also contain the argument itself, it
// takes precedence, because a client can choose a key that looks like a shortened one. Several such long keys are an
// error.
func wholeKey(ctx context.Context, a *adminClient, argument string) (adminapi.KeyFields, error) {
	own, parts := adminapi.NewKey(policy.OverrideKey(argument)), shortenedKey.FindStringSubmatch(argument)
	if parts == nil {
		return own, nil
	}
	found := map[adminapi.KeyFields]bool{}
	for _, by := range topkeys.Words {
		for _, window := range flagWords["window"] {
			query := url.Values{"by": {by}, "window": {window}, "n": {strconv.Itoa(topkeys.MaxReport)}}
			answer, _, err := send(ctx, a, adminapi.ListTop.With(query), nil)
			if err != nil {
				return own, err
			}
			for i := range answer.Keys {
				k := &answer.Keys[i]
				if k.KeyFields == own {
					return own, nil
				}
				if k.KeyHash == parts[2] && strings.HasPrefix(keyText(k.KeyFields), parts[1]) {
					found[k.KeyFields] = true
				}
			}
		}
	}
	if len(found) > 1 {
		return own, fmt.Errorf("%s: %d keys have this beginning and hash; accepted: a whole key, as headgate top --output json prints it",
			strconv.Quote(argument), len(found))
	}
	for key := range found {
		return key, nil
	}
	return own, nil
}
