package admin

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/headgate/headgate/policy"
)

// access answers what the caller may do, which the page has to know.
func (a *api) access(_ http.ResponseWriter, r *http.Request) (any, error) {
	return struct {
		Administers bool   `json:"administers"`
		HashedKeys  bool   `json:"hashed_keys"`
		Version     string `json:"version"`
	}{accessOf(r) == administers, a.HashKeys.Secrets() != nil, a.Version}, nil
}

// settings dumps the configuration: the settings of the process, the policies in force
// without their overrides, and the routes.
func (a *api) settings(http.ResponseWriter, *http.Request) (any, error) {
	_, current, changes := a.Policies.InForce()
	answer := struct {
		Settings   any                   `json:"settings"`
		Generation uint64                `json:"generation"`
		Changes    int                   `json:"changes"`
		Policies   []policy.Summary      `json:"policies"`
		Routes     []policy.RouteSummary `json:"routes"`
	}{a.Settings, a.Service.Generation(), len(changes), current.Policies.Summaries(), current.RouteSummaries()}
	for i := range answer.Policies {
		answer.Policies[i].Overrides = nil
	}
	return answer, nil
}

// levelFields are the level of the log in JSON.
type levelFields struct {
	Level string `json:"level"`
}

func (a *api) level(http.ResponseWriter, *http.Request) (any, error) {
	return levelFields{levelName(a.Level.Level())}, nil
}

func (a *api) setLevel(w http.ResponseWriter, r *http.Request) (any, error) {
	var body levelFields
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if body.Level == levelName(level) {
			before := a.Level.Level()
			a.Level.Set(level)
			a.Logger.Log(r.Context(), max(level, before, slog.LevelInfo), "audit", "action", "log-level", "old", levelName(before), "new", body.Level)
			a.history.add(action{Action: "log-level", Reason: levelName(before) + " to " + body.Level})
			return body, nil
		}
	}
	return nil, badField("level", strconv.Quote(cut(body.Level))+"; accepted: debug, info, warn, error")
}

var levelNames = map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}

func levelName(l slog.Level) string { return levelNames[l] }
