package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A call continues while one of its callers is waiting, and for a while after the last one has left.
func TestOutliving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type name struct{}
		first, leave := context.WithCancel(context.WithValue(t.Context(), name{}, "first"))
		second, leaveToo := context.WithTimeout(t.Context(), time.Hour)
		defer leaveToo()
		ctx, end := Outliving(time.Minute, first, second)
		defer end()
		if _, limited := ctx.Deadline(); limited || ctx.Value(name{}) != "first" {
			t.Error("a call has the values of its first caller, and no deadline")
		}
		leave()
		time.Sleep(time.Hour + 59*time.Second)
		if ctx.Err() != nil {
			t.Error("it ended within a minute after the last caller left")
		}
		time.Sleep(2 * time.Second)
		if ctx.Err() == nil {
			t.Error("it goes on a minute after the last caller left")
		}
	})
}
