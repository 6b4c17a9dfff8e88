package redisstore

import "strconv"

// MaxShards is how many shards there are at most.
const MaxShards = 1024

// shards are hash tags that many subjects share, each in an equal part of the
// slots: on a Cluster, keys of one tag travel in one script call. A subject has
// the tag of the part that its own slot is in.
type shards []string

// newShards returns so many tags; none for 0, where every subject is its own.
func newShards(n int) shards {
	tags := make(shards, n)
	for left, number := n, 0; left > 0; number++ {
		text := strconv.Itoa(number)
		if part := int(slot(text)) * n / slots; tags[part] == "" {
			tags[part] = text
			left--
		}
	}
	return tags
}

// appendSubject appends the part of a key that says in which slot it is.
func (s shards) appendSubject(b []byte, subject string) []byte {
	if len(s) == 0 {
		return appendSubject(b, subject)
	}
	b = append(append(b, '{'), s.tag(subject)...)
	return append(append(b, '}'), subject...)
}

func (s shards) tag(subject string) string { return s[int(slot(subject))*len(s)/slots] }

// slot returns the slot of a subject's keys.
func (s shards) slot(subject string) uint16 {
	if len(s) == 0 {
		return subjectSlot(subject)
	}
	return slot(s.tag(subject))
}
