package redisstore

import (
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// A limit's state is kept under a name of these parts:
//
//	headgate/policy:api/token-bucket/default/{alice}
//	prefix  /space     /algorithm   /name   /{subject}
//
// Behind the algorithm stands what else makes another counter: [appendGrid].
//
// The braces are the Cluster's hash tag: all state of a subject is in one slot.
// A subject that brings a tag of its own keeps it, behind an empty field:
//
//	headgate/inline/fixed-window/default//cart:{42}
//
// and one with a closing brace that ends no tag is escaped, behind "%", because
// the server would take it for the end of ours:
//
//	headgate/inline/fixed-window/default/%{a%7Db}
//
// In space and name, "%", "/" and braces are written as %25, %2F, %7B and %7D, so
// no two subjects, spaces or names share a key.

// appendHead appends the part of a key that many subjects share.
func appendHead(b []byte, prefix, space, algorithm string, grid *algo.Grid, name string) []byte {
	b = append(append(b, prefix...), '/')
	b = append(appendEscaped(b, space, fieldEscapes), '/')
	b = append(appendGrid(append(b, algorithm...), grid), '/')
	return append(appendEscaped(b, name, fieldEscapes), '/')
}

// appendSubject appends the part of a key that says in which slot it is.
func appendSubject(b []byte, subject string) []byte {
	switch {
	case tag(subject) != subject:
		return append(append(b, '/'), subject...)
	case strings.IndexByte(subject, '}') >= 0:
		return append(appendEscaped(append(b, "%{"...), subject, tagEscapes), '}')
	default:
		return append(append(append(b, '{'), subject...), '}')
	}
}

// subjectSlot returns the slot of a subject's keys.
func subjectSlot(subject string) uint16 {
	if tag(subject) == subject && strings.IndexByte(subject, '}') >= 0 {
		subject = string(appendEscaped(nil, subject, tagEscapes))
	}
	return slot(subject)
}

const (
	fieldEscapes = "%/{}"
	tagEscapes   = "%}"
)

func appendEscaped(b []byte, s, special string) []byte {
	if !strings.ContainsAny(s, special) {
		return append(b, s...)
	}
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(special, c) >= 0 {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// tag returns the part of a key that says which slot it is in: what stands
// between the first "{" and the next "}", if that is anything, or the whole key
// (Redis Cluster specification, "Hash tags").
func tag(key string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if length := strings.IndexByte(key[open+1:], '}'); length > 0 {
			return key[open+1 : open+1+length]
		}
	}
	return key
}

// slots is how many slots a Cluster has.
const slots = 16384

// slot returns the Cluster's slot of a key.
func slot(key string) uint16 {
	crc := uint16(0)
	for _, c := range []byte(tag(key)) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
	}
	return crc % slots
}

// crcTable is that of CRC-16/XMODEM.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
