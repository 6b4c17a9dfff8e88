package open

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// failed is a store that could not be opened. A program that ignores the error of [URL] or [Conn] gets it from every method.
type failed struct{ err error }

// Do answers every operation with the error.
func (f failed) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = f.err
	}
}

// Close returns the error.
func (f failed) Close() error { return f.err }

// Err returns the error. headgate.WithStore reports it.
func (f failed) Err() error { return f.err }
