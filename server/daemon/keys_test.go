package daemon

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestShownKeys checks that at most half of a client's key is shown, that keys named by operators are cut at 64
// bytes, and that LogKeys shows both in full. Hashes are shown in full.
func TestShownKeys(t *testing.T) {
	long := strings.Repeat("é", 50)
	for _, c := range []struct {
		config            Config
		key, shown, named string
	}{
		{Config{}, "ann@example.com", "ann@exa…", "ann@example.com"},
		{Config{}, "k", "…", "k"},
		{Config{}, long, "éééé…", strings.Repeat("é", 32) + "…"},
		{Config{}, "x" + long, "xééé\xc3…", "x" + strings.Repeat("é", 31) + "…"},
		{Config{LogKeys: true}, long, long, long},
		{Config{HashKeysFile: "f"}, "hmac:48b16e88fb40c7d4e434d97ecc5c030d", "hmac:48b16e88fb40c7d4e434d97ecc5c030d", "hmac:48b16e88fb40c7d4e434d97ecc5c030d"},
	} {
		if got := c.config.shownKey()(c.key); got != c.shown {
			t.Errorf("%q is shown as %q, want %q", c.key, got, c.shown)
		}
		if got := c.config.namedKey()(c.key); got != c.named || !utf8.ValidString(got) {
			t.Errorf("%q, named by an operator, is shown as %q, want %q", c.key, got, c.named)
		}
	}
}
