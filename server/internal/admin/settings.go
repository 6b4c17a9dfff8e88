package admin

import (
	"net/http"
	"strings"

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
