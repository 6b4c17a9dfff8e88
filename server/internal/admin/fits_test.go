package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate"
)

// TestFitsNamesTheWayWithoutAStore checks that the error for a change during an outage of the store says how to limit a
// key without the store.
func TestFitsNamesTheWayWithoutAStore(t *testing.T) {
	p := problemOf(fits(fmt.Errorf("%w: no connection", headgate.ErrStoreUnavailable)))
	if p.Status != 503 || !strings.Contains(p.Detail, "no connection") || !strings.Contains(p.Detail, "headgate reload") {
		t.Errorf("%+v", p)
	}
}
