package engine

const (
	longestBlock = 366 * day

	blockAccepted = "1ms to 366d, in whole microseconds"
)

// penalty checks a penalty: the number of ignored denials in a window that counts as a strike, and the lengths of
// blocks.
func (d *draft) penalty(l *spec) error {
	n, r := &l.numbers, d.rates[0]
	if r.Count < 1 || r.Count > 1_000_000 {
		return invalid("limit", r.Count, "1 to 1000000 denials")
	}
	if r.Months == 0 && r.Period > longestBlock {
		return invalid("window", r.Period, blockAccepted)
	}
	if err := checkSpan("window", r); err != nil {
		return err
	}
	n.Count, n.Period, n.CountDenied = r.Count, r.Period.Microseconds(), true
	for _, field := range []string{"block", "max_block"} {
		if n.Soft && d.has(field) {
			return invalid(field, d.of(field).Span, "no "+field+" on a soft penalty")
		}
	}
	return d.numbers(l)
}

// defaultBlock returns the window, or 0 for a soft penalty.
func defaultBlock(l *spec) int64 {
	if l.numbers.Soft {
		return 0
	}
	return l.numbers.Period
}

// defaultForget returns the length of the longest block, in µs. For a soft penalty, which has no blocks, it returns the
// default for that length.
func defaultForget(l *spec) int64 {
	if l.numbers.Soft {
		return min(32*l.numbers.Period, longestBlock.Microseconds())
	}
	return l.numbers.MaxBlock
}
