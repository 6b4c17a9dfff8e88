package report

import (
	"strconv"
	"time"
	"unicode"
)

// percent formats a share. Only 0 is formatted as 0 %, and only 1 as 100 %.
func percent(n, of int64) string {
	switch {
	case of == 0 || n == 0:
		return "0 %"
	case n == of:
		return "100 %"
	}
	share := float64(n) / float64(of) * 100
	switch {
	case share < 0.01:
		return "below 0.01 %"
	case share > 99.99:
		return "above 99.99 %"
	case share < 1 || share > 99:
		return strconv.FormatFloat(share, 'f', 2, 64) + " %"
	default:
		return strconv.FormatFloat(share, 'f', 1, 64) + " %"
	}
}

// instant formats a time, in µs since 1970, to the second.
func instant(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05") }

// quoted quotes a key if it could be misread.
func quoted(key string) string {
	for _, r := range key {
		if !unicode.IsPrint(r) || unicode.IsSpace(r) || r == '"' {
			return strconv.Quote(key[:min(len(key), 200)])
		}
	}
	if key == "" {
		return `""`
	}
	return key[:min(len(key), 200)]
}
