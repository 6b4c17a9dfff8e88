package policy

import (
	_ "embed"
	"errors"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// zonesText has the names of the IANA time zones of zone.tab, for hints. Package time cannot list the zones that it
// knows.
//
//go:embed zones.txt
var zonesText string

// meantZone adds the zone that was probably meant to an error about a time zone.
func meantZone(err error) error {
	input, ok := errors.AsType[*engine.InputError](err)
	if !ok || input.Field != "align" {
		return err
	}
	hinted := *input
	if align, err := strconv.Unquote(input.Value); err == nil {
		hinted.Meant = nearestZone(align)
	}
	return &hinted
}

// nearestZone returns the zone with the most similar name, or of the city that a text names, such as Asia/Shanghai for
// Shanghai. It returns "" if there is none.
func nearestZone(text string) string {
	zones := strings.Fields(zonesText)
	city := "/" + strings.ToLower(strings.ReplaceAll(text, " ", "_"))
	for _, zone := range zones {
		if strings.HasSuffix(strings.ToLower(zone), city) {
			return zone
		}
	}
	return yamlfile.Nearest(text, zones)
}
