package servers

import (
	"fmt"
	"testing"

	"github.com/headgate/headgate/conform/redistest"
)

// Commands that users of CL.THROTTLE run on keys (TTL, EXISTS, DEL) also work if the states are fields of hashes.
func TestKeyCommandsOnHashes(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	client := serve(t, "redis://"+s.Addr()+"?layout=hash:1", "--allow-writes")
	for _, step := range []struct {
		command []any
		want    string
	}{
		{[]any{"cl.throttle", "a", 0, 1, 3600}, "[0 1 0 -1 3600]"},
		{[]any{"cl.throttle", "b", 0, 1, 3600}, "[0 1 0 -1 3600]"},
		{[]any{"exists", "a"}, "1"},
		{[]any{"ttl", "a"}, "3600"},
		{[]any{"ttl", "c"}, "-2"},
		{[]any{"del", "a"}, "1"},
		{[]any{"del", "a"}, "0"},
		{[]any{"exists", "a"}, "0"},
		{[]any{"ttl", "b"}, "3600"},
		{[]any{"cl.throttle", "a", 0, 1, 3600}, "[0 1 0 -1 3600]"},
		{[]any{"cl.throttle", "a", 0, 1, 3600}, "[1 1 0 3600 3600]"},
	} {
		if got, err := client.Do(t.Context(), step.command...).Result(); err != nil || fmt.Sprint(got) != step.want {
			t.Errorf("%v: %v, %v; want %s", step.command, got, err, step.want)
		}
	}
	if keys := s.MustDo("keys", "headgate/inline/*{*"); fmt.Sprint(keys) != "[]" {
		t.Errorf("states with keys of their own: %v", keys)
	}
}
