package servers

import (
	"testing"

	"github.com/headgate/headgate/conform/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }
