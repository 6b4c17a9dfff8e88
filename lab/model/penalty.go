package model

import "errors"

// Penalty is the name of the algorithm.
const Penalty = "penalty"

var _ = register(algorithm{
	names:  []string{Penalty},
	check:  Limit.checkPenalty,
	absent: func(l Limit, now int64) view { return &offender{limit: l, now: now} },
})

// PenaltyFields are the fields of penalties.
type PenaltyFields struct {
	BlockUS    int64 `json:"block_us,omitempty"`
	MaxBlockUS int64 `json:"max_block_us,omitempty"`
	ForgetUS   int64 `json:"forget_us,omitempty"`
}

// offender is the state of a penalty (section 7a). Each strike starts a block, whose length depends on the number of
// strikes.
type offender struct {
	limit   Limit
	now     int64
	strikes int64 // strikes that were not forgotten when the last strike began
	last    int64 // when the last strike began
	ignored []int64
	told    int64 // when the last denial allowed the caller to retry
	over    int64 // the end of the state, under the limit that wrote it
}

func (o *offender) at(l Limit, now int64) view {
	if now >= o.over {
		return &offender{limit: l, now: now}
	}
	v := o.corrected(l, now)
	v.limit, v.now = l, now
	if v.remembered() == 0 {
		v.strikes, v.last = 0, 0
	}
	if len(v.ignored) > 0 && now-v.ignored[0] >= l.WindowUS {
		v.ignored = nil
	}
	if v.told <= now {
		v.told = 0
	}
	v.over = min(v.over, v.end(l))
	return v
}

// corrected returns a copy. If an instant is too far ahead of the clock, no instant in the copy is in the future (rule
// 8).
func (o *offender) corrected(l Limit, now int64) *offender {
	v := *o
	if o.far(l, now) {
		v.last, v.told = min(v.last, now), 0
		v.ignored = make([]int64, len(o.ignored))
		for i, at := range o.ignored {
			v.ignored[i] = min(at, now)
		}
		v.over = min(v.over, v.end(l))
	}
	return &v
}

func (o *offender) far(l Limit, now int64) bool {
	return now < o.over && (o.last-now > l.MaxBlockUS || len(o.ignored) > 0 && o.ignored[0]-now > l.WindowUS)
}

func (o *offender) moved(l Limit, now int64) (view, bool) { return o.corrected(l, now), o.far(l, now) }

// remembered returns the number of strikes that are not forgotten.
func (o *offender) remembered() int64 {
	n := o.strikes
	for at := o.last + o.limit.ForgetUS; n > 0 && at <= o.now; at += o.limit.ForgetUS {
		n--
	}
	return n
}

func (o *offender) tries() int64 {
	tries := o.limit.Limit
	for range o.remembered() {
		tries /= 2
	}
	return max(1, tries)
}

// length returns the length of the n-th block if it begins at the given instant.
func (l Limit) length(n, at int64) int64 {
	us := l.BlockUS
	for range n - 1 {
		us = min(2*us, l.MaxBlockUS)
	}
	return us - (at - floorTo(at, us/8+1))
}

// mostStrikes returns the number of the first block with the maximum length.
func (l Limit) mostStrikes() (n int64) {
	n = 1
	for us := l.BlockUS; us < l.MaxBlockUS; us *= 2 {
		n++
	}
	return n
}

func (o *offender) blocked() int64 {
	if o.strikes == 0 {
		return 0
	}
	return max(0, min(o.over, o.last+o.limit.length(o.strikes, o.last))-o.now)
}

func (o *offender) gone() bool { return o.over <= o.now }

func (o *offender) rows(c int64) []row {
	r := row{limit: o.limit.Limit, unbound: true}
	if c > 0 {
		r.wait = o.blocked()
	}
	if o.blocked() == 0 {
		r.remaining = max(0, o.tries()-int64(len(o.ignored)))
	}
	r.reset = max(0, o.over-o.now)
	return []row{r}
}

// end returns the instant from which nothing counts any more.
func (o *offender) end(l Limit) int64 {
	ends := o.told
	if o.strikes > 0 {
		ends = max(ends, o.last+o.strikes*l.ForgetUS)
	}
	if len(o.ignored) > 0 {
		ends = max(ends, o.ignored[0]+l.WindowUS)
	}
	return ends
}

func (o *offender) deny(_, wait int64) {
	defer func() { o.over = o.end(o.limit) }()
	early := o.now < o.told
	o.told = o.now + min(wait, o.limit.WindowUS)
	if !early {
		return
	}
	if o.ignored = append([]int64(nil), append(o.ignored, o.now)...); int64(len(o.ignored)) < o.tries() {
		return
	}
	o.strikes, o.last, o.ignored = min(o.limit.mostStrikes(), o.remembered()+1), o.now, nil
	o.told = o.now + o.limit.length(o.strikes, o.now)
}

func (o *offender) admits(int64) bool                           { return o.blocked() == 0 }
func (o *offender) delay(int64) int64                           { return 0 }
func (o *offender) spend(int64)                                 {}
func (o *offender) give(int64)                                  {}
func (o *offender) place() int64                                { return o.now }
func (o *offender) giveBack(_ int64, _ held, r returns) returns { return r }

func (o *offender) most() int64 {
	if o.blocked() > 0 {
		return 0
	}
	return never
}

func (l Limit) checkPenalty() error {
	const year = 366 * 86_400_000_000
	return errors.Join(within("limit", l.Limit, 1, 1_000_000), within("window_us", l.WindowUS, 1000, year),
		within("block_us", l.BlockUS, 1000, year), within("max_block_us", l.MaxBlockUS, l.BlockUS, year),
		within("forget_us", l.ForgetUS, l.MaxBlockUS, year))
}
