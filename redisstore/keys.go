package redisstore

import (
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// The key of a limit's state has these parts. Redis compares, hashes and keeps each byte of a key, so they are short: the
// letters of the algorithm are [algo.Algorithm.Code], the space of a policy is its name alone, and the name "default"
// is left out.
//
//	hg  /api   /tb        /{alice}
//	hg  /api   /fw60s     /day   /{alice}
//	hg  /:inline /tb      /{alice}
//	prefix /space /algorithm and grid /name /{subject}
//
// Numbers that distinguish counters follow the algorithm: see appendGrid.
//
// The braces are the hash tag on a Cluster: all state of a subject is in one slot. A subject with its own hash tag
// keeps it, after an empty field:
//
//	hg/api/fw60s//cart:{42}
//
// A subject with a closing brace that does not end a hash tag is escaped after "%". If it were not, a Cluster would
// take that brace for the end of the key's hash tag:
//
//	hg/api/fw60s/%{a%7Db}
//
// In space and name, "%", "/" and braces are written as %25, %2F, %7B and %7D, so that different subjects, spaces or
// names never share a key.

const (
	fieldEscapes = "%/{}"
	tagEscapes   = "%}"
)

const (
	// permitUnits follows the algorithm in the second key of a concurrency limit. That key contains each holder's units.
	permitUnits = "u"
	// returnsKey follows the algorithm in the key of the record of a bucket's returns.
	returnsKey = "r"
	// settled replaces the algorithm in the key that marks a reservation as settled. The reservation's id replaces the
	// limit's name.
	settled = "s"
)

// appendKeys appends the keys of an operation, limit by limit. After each key it calls end with the whole text so far.
// For a settle, the reservation's key comes first. If the reservation has a term, the keys of the open reservations
// come first instead, both for a reserve and for a settle.
func (s *Store) appendKeys(b []byte, op *engine.Op, end func(b []byte, isKey bool)) {
	if op.Kind == engine.OpReserve && op.Term != nil || op.Kind == engine.OpSettle && op.Reservation.Term != nil {
		for _, kind := range openKinds {
			_, subject := op.Counted(0)
			b = append(b, s.coordinatorKey(kind, s.openTag(subject))...)
			end(b, true)
		}
	} else if op.Kind == engine.OpSettle {
		b = s.shards.appendSubject(appendHead(b, s.prefix, op.Space, settled, &algo.Grid{}, op.ID), op.Key)
		end(b, true)
	}
	for i := range op.Charges {
		space, subject := op.Counted(i)
		limit := &op.Charges[i].Limit
		grid := limit.Numbers().Grid()
		b = appendHead(b, s.prefix, space, limit.Algorithm().Code(), &grid, limit.Name())
		b = s.shards.appendSubject(b, subject)
		end(b, true)
		if limit.Algorithm().Holds() {
			b = s.shards.appendSubject(appendHead(b, s.prefix, space, limit.Algorithm().Code()+permitUnits, &grid, limit.Name()), subject)
			end(b, true)
		}
		if keepsReturns(op, i) {
			b = s.shards.appendSubject(appendHead(b, s.prefix, space, limit.Algorithm().Code()+returnsKey, &grid, limit.Name()), subject)
			end(b, true)
		}
	}
}

// keepsReturns reports whether the operation reads the record of returns for the limit at index i.
func keepsReturns(op *engine.Op, i int) bool {
	return op.Kind == engine.OpSettle && op.Charges[i].Limit.Algorithm().KeepsReturns()
}

// Keys returns the keys of an operation, in order: for a settle, the reservation's key, and then the keys of the
// limits' states. For a reservation with a term, a reserve and a settle start with the keys of the open reservations
// instead. A concurrency limit uses two keys, and any other limit one. In a settle, a state's key is followed by the
// key of the record of returns, if the limit keeps such a record. See docs/design/keys.md.
func (s *Store) Keys(op *engine.Op) (keys []string) {
	from := 0
	s.appendKeys(nil, op, func(b []byte, _ bool) {
		keys, from = append(keys, string(b[from:])), len(b)
	})
	return keys
}

// appendHead appends the part of a key that is the same for all subjects.
func appendHead(b []byte, prefix, space, algorithm string, grid *algo.Grid, name string) []byte {
	b = append(append(b, prefix...), '/')
	b = append(appendSpace(b, space), '/')
	b = append(appendGrid(append(b, algorithm...), grid), '/')
	if name == engine.DefaultName {
		return b
	}
	return append(appendEscaped(b, name, fieldEscapes), '/')
}

// appendSpace appends the space of a policy as the policy's name, which contains no colon. Any other space follows one.
func appendSpace(b []byte, space string) []byte {
	if policy, ok := strings.CutPrefix(space, engine.PolicySpace("")); ok && !strings.HasPrefix(policy, ":") {
		return appendEscaped(b, policy, fieldEscapes)
	}
	return appendEscaped(append(b, ':'), space, fieldEscapes)
}

// appendSubject appends the part of a key that determines its slot.
func (s shards) appendSubject(b []byte, subject string) []byte {
	if len(s) == 0 {
		return appendSubject(b, subject)
	}
	b = append(append(b, '{'), s.tag(subject)...)
	return append(append(b, '}'), subject...)
}

func appendSubject(b []byte, subject string) []byte {
	switch {
	case !strings.Contains(subject, "}"): // no hash tag, nothing to escape
		return append(append(append(b, '{'), subject...), '}')
	case hashTag(subject) != subject:
		return append(append(b, '/'), subject...)
	default:
		return append(appendEscaped(append(b, "%{"...), subject, tagEscapes), '}')
	}
}

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

// appendGrid appends the parameters of a limit that are part of its key, because counted units cannot be moved to
// another grid.
//
//	fw60s                        from the first request
//	fw60s:clock
//	fw:day:Asia%2FShanghai
//	fw:month:UTC:2026-01-31      with an anchor
//	sw1200ms                     the length of a segment
//	pc1:100ms                    units and period in lowest terms
//	wu10:1s:30s                  the same, and the warm-up time
func appendGrid(b []byte, g *algo.Grid) []byte {
	switch {
	case g.Align == algo.AlignCalendar:
		b = append(append(b, ':'), unitNames[g.Unit]...)
		b = appendEscaped(append(b, ':'), g.Zone.String(), fieldEscapes)
		if g.Anchor != (algo.Anchor{}) {
			b = append(append(b, ':'), g.Anchor.String()...)
		}
		return b
	case g.Period == 0:
		return b
	case g.Count > 0:
		b = append(strconv.AppendInt(b, g.Count, 10), ':')
	}
	b = appendSpan(b, g.Period)
	if g.WarmUp > 0 {
		b = appendSpan(append(b, ':'), g.WarmUp)
	}
	if g.Align == algo.AlignClock {
		b = append(b, ":clock"...)
	}
	return b
}

var unitNames = [...]string{
	algo.Minute: "minute", algo.Hour: "hour", algo.Day: "day", algo.Week: "week", algo.Month: "month", algo.Year: "year",
}

// appendSpan appends a span as a whole number of the largest unit that divides it: s, ms or us.
func appendSpan(b []byte, us int64) []byte {
	switch {
	case us%1_000_000 == 0:
		return append(strconv.AppendInt(b, us/1_000_000, 10), 's')
	case us%1_000 == 0:
		return append(strconv.AppendInt(b, us/1_000, 10), "ms"...)
	default:
		return append(strconv.AppendInt(b, us, 10), "us"...)
	}
}
