// Package lograte limits log lines that clients can cause.
package lograte

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Limit allows at most Lines lines in each period Per, and counts the others. It is safe for concurrent use.
type Limit struct {
	Lines int
	Per   time.Duration

	mu    sync.Mutex
	since time.Time
	used  int
	left  int64
}

// Allow reports whether a line may be written now. notLogged is the number of lines dropped since the last line.
func (l *Limit) Allow(now time.Time) (notLogged int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= l.Per {
		l.since, l.used = now, 0
	}
	if l.used >= l.Lines {
		l.left++
		return 0, false
	}
	l.used++
	notLogged, l.left = l.left, 0
	return notLogged, true
}

// Warn writes a line of level warn if the limit allows it, with the number of lines dropped before it.
func (l *Limit) Warn(logger *slog.Logger, message string, attributes ...any) {
	l.log(logger, slog.LevelWarn, message, attributes)
}

// Info is like Warn, for a line of level info.
func (l *Limit) Info(logger *slog.Logger, message string, attributes ...any) {
	l.log(logger, slog.LevelInfo, message, attributes)
}

func (l *Limit) log(logger *slog.Logger, level slog.Level, message string, attributes []any) {
	if left, ok := l.Allow(time.Now()); ok {
		logger.Log(context.Background(), level, message, append(attributes, "not_logged", left)...)
	}
}
