package lua

import (
	"testing"

	"github.com/headgate/headgate/lab/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }
