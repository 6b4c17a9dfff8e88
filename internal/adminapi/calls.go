package adminapi

import "net/http"

// EventsPath is the path of the stream of events: [PastSeconds] once, then a [Snapshot] each second.
const EventsPath = "/admin/v1/events"

// The calls that change nothing.
var (
	GetAccess    = Call[None, Access]{http.MethodGet, "/admin/v1/access"}
	ListPolicies = Call[None, Policies]{http.MethodGet, "/admin/v1/policies"}
	ShowPolicy   = Call[None, PolicyView]{http.MethodGet, "/admin/v1/policies/{name}"}
	ListChanges  = Call[None, Changes]{http.MethodGet, "/admin/v1/changes"}
	TryChange    = Call[NewChange, Trial]{http.MethodPost, "/admin/v1/changes/try"}
	ListHistory  = Call[None, History]{http.MethodGet, "/admin/v1/history"}
	ExplainKey   = Call[KeyAndCost, Explanations]{http.MethodPost, "/admin/v1/keys/explain"}
	ShowTimeline = Call[KeyAndPolicy, Timeline]{http.MethodPost, "/admin/v1/keys/timeline"}
	ListTop      = Call[None, TopKeys]{http.MethodGet, "/admin/v1/keys/top"}
	ListLimited  = Call[None, LimitedKeys]{http.MethodGet, "/admin/v1/keys/limited"}
	ListShadows  = Call[None, Shadows]{http.MethodGet, "/admin/v1/shadows"}
	GetConfig    = Call[None, Config]{http.MethodGet, "/admin/v1/config"}
	GetLevel     = Call[None, Level]{http.MethodGet, "/admin/v1/log-level"}
)

// The calls that change something.
var (
	MakeChange  = Call[NewChange, Change]{http.MethodPost, "/admin/v1/changes"}
	ClearChange = Call[ChangeName, Change]{http.MethodPost, "/admin/v1/changes/clear"}
	Reload      = Call[None, Reloaded]{http.MethodPost, "/admin/v1/reload"}
	GiveUnits   = Call[Units, Given]{http.MethodPost, "/admin/v1/keys/give"}
	ResetKey    = Call[Units, Reset]{http.MethodPost, "/admin/v1/keys/reset"}
	SetLevel    = Call[Level, Level]{http.MethodPost, "/admin/v1/log-level"}
)
