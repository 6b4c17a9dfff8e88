package headgate_test

import (
	"context"
	"testing"

	"github.com/headgate/headgate"
)

// An observer that does nothing should cost at most a fifth of a decision in memory, without an allocation. Run with
// -count to measure both in alternation.
func BenchmarkObserver(b *testing.B) {
	for _, with := range []struct {
		name    string
		options []headgate.Option
	}{
		{"none", nil},
		{"empty", []headgate.Option{headgate.WithObserver(func(context.Context, headgate.Result) {})}},
	} {
		b.Run(with.name, func(b *testing.B) {
			l := headgate.New(with.options...)
			defer l.Close()
			p := l.Policy("api", headgate.TokenBucket{Rate: headgate.PerSecond(1_000_000)})
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Allow(ctx, "k"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
