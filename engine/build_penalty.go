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
	return d.numbers(l)
}
