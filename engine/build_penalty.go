package engine

import "time"

const (
	longestBlock = 366 * day

	blockAccepted = "1ms to 366d, in whole microseconds"
)

// penalty checks a penalty: the number of denials within a window that begin a block, and the lengths of blocks.
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
	var err error
	if n.Block, err = d.block("block", time.Millisecond, n.Period); err != nil {
		return err
	}
	if n.MaxBlock, err = d.block("max_block", micros(n.Block), defaultMaxBlock(n.Block)); err != nil {
		return err
	}
	n.Forget, err = d.block("forget", micros(n.MaxBlock), n.MaxBlock)
	return err
}

// block returns the length in the field, or the default, in µs.
func (d *draft) block(field string, least time.Duration, byDefault int64) (us int64, err error) {
	if !d.has(field) {
		return byDefault, nil
	}
	span := d.of(field).Span
	if span < least || span > longestBlock || span%time.Microsecond != 0 {
		return 0, invalid(field, span, FormatSpan(least)+" to 366d, in whole microseconds")
	}
	return span.Microseconds(), nil
}

// defaultMaxBlock is 32 times a block: the sixth block has this length.
func defaultMaxBlock(block int64) int64 { return min(32*block, longestBlock.Microseconds()) }
