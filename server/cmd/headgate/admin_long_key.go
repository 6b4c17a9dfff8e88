package main

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/internal/adminapi"
)

// maxShownKey is the maximum number of characters of a key that lists show.
const maxShownKey = 100

// shownKey returns the key or, if it is long or does not fit in the room on the line, its beginning and its hash.
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

// wholeKey returns the key that an argument names. The argument is a key, or the beginning and the hash of a long key,
// as lists show it. The whole key is then in one of the server's lists.
func wholeKey(ctx context.Context, a *adminClient, argument string) (adminapi.KeyFields, error) {
	parts := shortenedKey.FindStringSubmatch(argument)
	if parts == nil {
		return adminapi.NewKey(argument), nil
	}
	found := map[adminapi.KeyFields]bool{}
	for _, by := range topkeys.Words {
		for _, window := range flagWords["window"] {
			query := url.Values{"by": {by}, "window": {window}, "n": {strconv.Itoa(topkeys.MaxReport)}}
			answer, _, err := send(ctx, a, adminapi.ListTop.With(query), nil)
			if err != nil {
				return adminapi.KeyFields{}, err
			}
			for i := range answer.Keys {
				if k := &answer.Keys[i]; k.KeyHash == parts[2] && strings.HasPrefix(keyText(k.KeyFields), parts[1]) {
					found[k.KeyFields] = true
				}
			}
		}
	}
	for key := range found {
		if len(found) == 1 {
			return key, nil
		}
	}
	return adminapi.KeyFields{}, fmt.Errorf("%s: %d keys in the server's lists have this beginning and hash; accepted: a whole key, as headgate top --output json prints it",
		strconv.Quote(argument), len(found))
}
