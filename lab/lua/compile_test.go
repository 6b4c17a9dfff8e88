package lua

import (
	"context"
	"testing"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestScriptsCompile checks that a server compiles each script. A script can have at most 200 local variables.
func TestScriptsCompile(t *testing.T) {
	t.Parallel()
	client := testbed.Standalone(t, testbed.Flavor(redistest.Redis)).Goredis()
	defer client.Close()
	for name, text := range redisstore.Scripts() {
		if err := client.ScriptLoad(context.Background(), text).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
