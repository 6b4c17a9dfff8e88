package topkeys

import (
	"container/heap"
	"slices"
)

// Subject is a key under a policy.
type Subject struct{ Policy, Key string }

// sketch counts the most frequent subjects with the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, 2005): a
// new subject replaces the subject with the lowest count and takes over that count. A count can therefore be too high
// by the count taken over, but never too low. The true count of a subject outside the sketch is at most the lowest
// count.
type sketch struct {
	entries map[Subject]*entry
	heap    lowest
	most    int
}

// lowest is a [heap.Interface] of entries, the lowest count first.
type lowest []*entry

type entry struct {
	of    Subject
	count int64
	over  int64 // the part of count that was taken over
	place int   // index in the heap
}

func newSketch(most int) *sketch {
	return &sketch{entries: make(map[Subject]*entry, most), heap: make([]*entry, 0, most), most: most}
}

// add adds n to a subject's count. If the subject is new, add clones its strings.
func (s *sketch) add(of Subject, n int64) {
	e := s.entries[of]
	switch {
	case e != nil:
	case len(s.heap) < s.most:
		e = &entry{of: of.clone(), place: len(s.heap)}
		s.heap = append(s.heap, e)
		s.entries[e.of] = e
	default:
		e = s.heap[0]
		delete(s.entries, e.of)
		e.of, e.over = of.clone(), e.count
		s.entries[e.of] = e
	}
	e.count += n
	heap.Fix(&s.heap, e.place)
}

func (l lowest) Len() int           { return len(l) }
func (l lowest) Less(i, j int) bool { return l[i].count < l[j].count }

func (l lowest) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i, j
}

// Push and Pop implement [heap.Interface]. They are not called, because an entry is never removed.
func (l *lowest) Push(any) {}
func (l *lowest) Pop() any { return nil }

// absent returns the largest possible count for a subject outside the sketch. It returns 0 while the sketch has room.
func (s *sketch) absent() int64 {
	if len(s.heap) < s.most {
		return 0
	}
	return s.heap[0].count
}

// segment is the result for a past time span: the highest counts, and the largest possible count for any other subject.
type segment struct {
	top    []entry
	absent int64
}

// finish returns the sketch's highest counts, at most keep of them, as a segment.
func (s *sketch) finish(keep int) (done segment) {
	all := slices.Clone(s.heap)
	slices.SortFunc(all, func(a, b *entry) int { return int(b.count - a.count) })
	done.absent = s.absent()
	if len(all) > keep {
		done.absent = max(done.absent, all[keep].count)
		all = all[:keep]
	}
	done.top = make([]entry, len(all))
	for i, e := range all {
		done.top[i] = *e
	}
	return done
}
