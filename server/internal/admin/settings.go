package admin

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/metrics"
)

// access returns the caller's rights, for the page.
func (a *api) access(r *http.Request, _ *adminapi.None) (adminapi.Access, error) {
	return adminapi.Access{Administers: mayOperate(r), HashedKeys: a.HashKeys.Secrets() != nil, Version: a.Version}, nil
}

// settings returns the configuration. The policies have no overrides there.
func (a *api) settings(*http.Request, *adminapi.None) (adminapi.Config, error) {
	_, current, changes := a.Policies.InForce()
	answer := adminapi.Config{
		Settings: a.Settings, Generation: a.Service.Generation(), Changes: len(changes),
		Policies: current.Policies.Summaries(), Routes: current.RouteSummaries(), InvalidFiles: invalidFiles(a.InvalidFiles),
	}
	for i := range answer.Policies {
		answer.Policies[i].Overrides = nil
	}
	return answer, nil
}

// invalidFiles returns the files that were last read with errors.
func invalidFiles(read func() []metrics.InvalidFile) (all []adminapi.InvalidFile) {
	if read == nil {
		return nil
	}
	for _, f := range read() {
		text := f.Err.Error()
		if len(text) > adminapi.MaxFileError {
			text = strings.ToValidUTF8(text[:adminapi.MaxFileError], "") + "…"
		}
		all = append(all, adminapi.InvalidFile{File: f.File, Error: text})
	}
	return all
}

func (a *api) level(*http.Request, *adminapi.None) (adminapi.Level, error) {
	return adminapi.Level{Level: levelName(a.Level.Level())}, nil
}

func (a *api) setLevel(r *http.Request, body *adminapi.Level) (adminapi.Level, error) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if body.Level == levelName(level) {
			before := a.Level.Level()
			a.Level.Set(level)
			a.Logger.Log(r.Context(), max(level, before, slog.LevelInfo), "audit", "action", "log-level", "user", caller(r), "old", levelName(before), "new", body.Level)
			a.history.add(adminapi.Action{Action: "log-level", User: caller(r), Reason: levelName(before) + " to " + body.Level})
			return *body, nil
		}
	}
	return *body, adminapi.BadField("level", engine.Quote(body.Level)+"; accepted: debug, info, warn, error")
}

var levelNames = map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}

func levelName(l slog.Level) string { return levelNames[l] }
