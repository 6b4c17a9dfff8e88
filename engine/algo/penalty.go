package algo

// penalty counts denials by the other limits of the same request. It admits all requests until a key has ignored too
// many denials, and then denies the key's requests for a time that doubles with each block.
var penalty = algorithm{
	name:   "penalty",
	code:   "pn",
	fields: []string{"block", "max_block", "forget", "name"},
	properties: properties{
		delays:   true, // a reservation may wait for another limit's units; a blocked key is still denied
		punishes: true,
	},
	on:          func(s *State) arithmetic { return &s.strikes },
	shares:      ownShare, // without the store each process counts the denials that it makes
	penalize:    func(s *State, l *Limit, t Instant, _, wait int64) { s.strikes.penalize(l, t, wait) },
	spare:       func(*State, *Limit, Instant) int64 { return Never }, // a settlement charges nothing
	mostCharged: func(*Limit) int64 { return 0 },
	sharesBound: func(*Limit, int64) int64 { return 0 },
	upperBound:  func(*Limit) (Limit, bool) { return Limit{}, false },
}

// Strikes is the state of a penalty. A caller ignores a denial if it sends another request, and is denied again,
// before the wait stated by the denial is over.
type Strikes struct {
	// Count is the number of blocks that are not forgotten, and At the instant when the last block began.
	Count, At int64
	// Ignored is the number of ignored denials since Opened.
	Ignored, Opened int64
	// Told is the end of the wait stated by the last denial, at most one period after that denial. If the denial
	// started a block, it is the end of the block.
	Told int64
	// Over is the instant from which no strike, denial or wait has any effect, with the parameters of both the last
	// write and the current call.
	Over int64
}

// maxStrikes bounds the number of strikes. A block of 1 ms that doubles up to 366 days needs 36.
const maxStrikes = 63

// jitter shortens a block by up to an eighth, so that blocked keys do not return together.
const jitter = 8

// MostStrikes returns the smallest number of strikes that leads to the longest block.
func (l *Limit) MostStrikes() int64 {
	strikes, _ := l.doubled(maxStrikes)
	return strikes
}

// doubled returns the smallest number of strikes that leads to the same length of block as the given number, and that
// length.
func (l *Limit) doubled(most int64) (strikes, length int64) {
	strikes, length = 1, l.Block
	for strikes < most && length < l.MaxBlock {
		strikes, length = strikes+1, 2*length
	}
	return strikes, min(length, l.MaxBlock)
}

// blocked returns the time until the key is no longer blocked, or 0 if it is not blocked.
func (s *Strikes) blocked(l *Limit, t Instant) int64 {
	if s.Count == 0 {
		return 0
	}
	return max(0, min(s.At+s.length(l), s.Over)-t.Now)
}

// length returns the length of the last block.
func (s *Strikes) length(l *Limit) int64 {
	_, length := l.doubled(s.Count)
	most := length/jitter + 1
	return length - (s.At - floorDiv(s.At, most)*most)
}

// left returns the number of strikes that are not forgotten yet.
func (s *Strikes) left(l *Limit, t Instant) int64 {
	return max(0, s.Count-max(0, t.Now-s.At)/l.Forget)
}

// tolerated returns the number of ignored denials that starts a block. It halves with each strike.
func (s *Strikes) tolerated(l *Limit, t Instant) int64 { return max(1, l.Count>>s.left(l, t)) }

// strike records a denial. If the wait stated by the previous denial is not over, the caller has ignored that denial.
// Enough ignored denials start a block. Otherwise the answer to this denial states the given wait.
func (s *Strikes) strike(l *Limit, t Instant, wait int64) {
	ignored := t.Now < s.Told
	if ignored {
		if s.Ignored == 0 {
			s.Opened = t.Now
		}
		s.Ignored++
	}
	if ignored && s.Ignored >= s.tolerated(l, t) {
		*s = Strikes{Count: min(l.MostStrikes(), s.left(l, t)+1), At: t.Now}
		wait = s.length(l)
	} else {
		wait = min(wait, l.Period)
	}
	s.Told = t.Now + wait
	s.Over = s.over(l)
}

// far reports whether the clock was set back by more than the longest block or the period. If it was set back by less,
// a block or a count of denials lasts longer by that much.
func (s *Strikes) far(l *Limit, t Instant) bool {
	return s.At-t.Now > l.MaxBlock || s.Opened-t.Now > l.Period
}

// over returns the instant when the state ceases to have an effect, according to the limit's parameters.
func (s *Strikes) over(l *Limit) int64 {
	over := s.Told
	if s.Count > 0 {
		over = max(over, s.At+s.Count*l.Forget)
	}
	if s.Ignored > 0 {
		over = max(over, s.Opened+l.Period)
	}
	return over
}

// settled returns the state without the strikes, denials and waits that are over.
func (s Strikes) settled(l *Limit, t Instant) Strikes {
	if t.Now >= s.Over {
		return Strikes{}
	}
	if s.left(l, t) == 0 {
		s.Count, s.At = 0, 0
	}
	if s.Ignored == 0 || s.Opened+l.Period <= t.Now {
		s.Ignored, s.Opened = 0, 0
	}
	if s.Told <= t.Now {
		s.Told = 0
	}
	s.Over = min(s.Over, s.over(l))
	return s
}

// strikesState holds the strikes of a state. The pointer is nil in a state without strikes. A change replaces the strikes, so
// copies of a state can share them.
type strikesState struct{ *Strikes }

// with replaces the strikes with changed, if they differ.
func (s *strikesState) with(changed Strikes) {
	switch {
	case changed == Strikes{}:
		s.Strikes = nil
	case s.Strikes == nil || *s.Strikes != changed:
		s.Strikes = &changed
	}
}

func (s *strikesState) value() Strikes {
	if s.Strikes == nil {
		return Strikes{}
	}
	return *s.Strikes
}

func (s *strikesState) penalize(l *Limit, t Instant, wait int64) {
	changed := s.value()
	changed.strike(l, t, wait)
	s.with(changed)
}

func (s *strikesState) behind(l *Limit, t Instant) (us int64, far bool) {
	v := s.value()
	return 0, v.far(l, t)
}

func (s *strikesState) rewind(l *Limit, t Instant) {
	v := s.value()
	v.At, v.Opened, v.Told = min(v.At, t.Now), min(v.Opened, t.Now), 0
	v.Over = min(v.Over, v.over(l))
	s.with(v)
}

func (s *strikesState) settle(l *Limit, t Instant) { s.with(s.value().settled(l, t)) }

func (s *strikesState) wait(l *Limit, t Instant, _ int64) (wait int64, window int) {
	v := s.value()
	return v.blocked(l, t), 0
}

func (s *strikesState) room(l *Limit, t Instant) int64 {
	if v := s.value(); v.blocked(l, t) > 0 {
		return 0
	}
	return Never
}

func (*strikesState) charge(*Limit, Instant, int64, int64) (after int64) { return 0 }
func (*strikesState) give(*Limit, Instant, int64, *Held)                 {}

// report counts ignored denials instead of units: Remaining is the number of further ignored denials that starts the
// next block.
func (s *strikesState) report(l *Limit, t Instant, o *Outcome) {
	v := s.value()
	o.Limit = l.Count
	if o.Remaining = max(0, v.tolerated(l, t)-v.Ignored); v.blocked(l, t) > 0 {
		o.Remaining = 0
	}
	o.Reset, o.Strikes = s.ttl(l, t), v.left(l, t)
}

func (s *strikesState) ttl(_ *Limit, t Instant) int64 {
	v := s.value()
	return max(0, v.Over-t.Now)
}

func (s *strikesState) append(to []byte) []byte {
	v := s.value()
	return integers(to, v.Count, v.At, v.Ignored, v.Opened, v.Told, v.Over)
}

func (s *strikesState) decode(d *decoder) {
	v := Strikes{Count: d.natural(), At: d.integer(), Ignored: d.natural(), Opened: d.integer(), Told: d.integer(), Over: d.integer()}
	d.failed = d.failed || v.Count > maxStrikes || v.Count == 0 && v.At != 0 || v.Ignored == 0 && v.Opened != 0
	s.with(v)
}
