package adminapi

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/headgate/headgate/policy"
)

// EventsPath is the path of the stream of events: [PastSeconds] once, then a [Snapshot] each second.
const EventsPath = "/admin/v1/events"

var (
	GetAccess   = Call[None, Access]{Pattern: "GET /admin/v1/access"}
	ListHistory = Call[None, History]{Pattern: "GET /admin/v1/history"}
	GetConfig   = Call[None, Config]{Pattern: "GET /admin/v1/config"}
	Reload      = Call[None, Reloaded]{Pattern: "POST /admin/v1/reload", Acts: true}
	AcceptLoss  = Call[Acceptance, AcceptedLoss]{Pattern: "POST /admin/v1/store/accept-loss", Acts: true}
)

// Access contains the rights of the caller, and facts about the server. HashedKeys is true if keys are counted under
// their hashes.
type Access struct {
	Administers bool   `json:"administers"`
	HashedKeys  bool   `json:"hashed_keys"`
	Version     string `json:"version"`
}

// Server describes the server that answers. Other servers that share the store have their own counts.
type Server struct {
	// Name is its host and process id, such as web-3/4711.
	Name string `json:"name"`
	// Of is the number of servers that share the store: 1 for the memory store, 0 if unknown.
	Of int `json:"of"`
}

// String returns the name and the number of servers that share the store, such as "server web-3/4711, 1 of 2". The
// number is "?" if it is unknown.
func (s *Server) String() string {
	of := "?"
	if s.Of > 0 {
		of = strconv.Itoa(s.Of)
	}
	return "server " + s.Name + ", 1 of " + of
}

// Acceptance is an operator's decision to trust a store that has lost data.
type Acceptance struct {
	Author string `json:"author"`
	Reason string `json:"reason,omitempty"`
}

// AcceptedLoss is the answer to an Acceptance. Lost is false if no loss was recorded, so that nothing changed.
type AcceptedLoss struct {
	Lost bool `json:"lost"`
}

// Action is one action of an operator: change, clear, give, reset, accept-loss or reload.
type Action struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Policy string    `json:"policy,omitempty"`
	KeyFields

	// Author is the name that the operator wrote. User is the user or token that made the call, or "" if none is needed.
	Author string `json:"author,omitempty"`
	User   string `json:"user,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Before and After describe the policy or the key before and after a change or a clear, such as "100/s burst 200".
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Fields and Expires are set for a change. Units is set for a give.
	Fields  json.RawMessage `json:"fields,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`
	Units   *int64          `json:"units,omitempty"`
}

// History contains the last actions, latest first.
type History struct {
	Actions []Action `json:"actions"`
}

// Config contains the settings of the process, the active policies without their overrides, and the routes.
type Config struct {
	Settings   any              `json:"settings"`
	Generation uint64           `json:"generation"`
	Changes    int              `json:"changes"`
	Policies   []policy.Summary `json:"policies"`
	Routes     any              `json:"routes"`
	// InvalidFiles lists the files with errors. The rest of the configuration is the last valid one.
	InvalidFiles []InvalidFile `json:"invalid_files,omitempty"`
}

// InvalidFile is a file with errors, whose last valid version stays in force.
type InvalidFile struct {
	// File is what the file is, such as config or users-file.
	File string `json:"file"`
	// Error is at most [MaxFileError] bytes long.
	Error string `json:"error"`
}

// MaxFileError bounds the error of a file, because each line of the file can have one.
const MaxFileError = 4 << 10

// Reloaded is the answer to a reload.
type Reloaded struct {
	Generation uint64 `json:"generation"`
}

// PastSeconds contains the last seconds, at most 300, before a stream of events begins. The latest second is last.
type PastSeconds struct {
	Seconds []Second `json:"seconds"`
}

// Snapshot contains the latest second and the state of the server.
type Snapshot struct {
	Second

	Server      *Server            `json:"server,omitempty"`
	Modes       map[string]float64 `json:"modes"`
	Store       Store              `json:"store"`
	TopRequests TopKeys            `json:"top_requests"`
	TopDenials  TopKeys            `json:"top_denials"`
	Processes   Processes          `json:"processes"`
	Generation  uint64             `json:"generation"`
	PolicyCount int                `json:"policy_count"`
	ChangeCount int                `json:"change_count"`
	// InvalidFiles lists the files with errors, whose last valid versions stay in force.
	InvalidFiles []InvalidFile `json:"invalid_files,omitempty"`
}

// Store is the state of the store.
type Store struct {
	// Address is its URL without user and password.
	Address string `json:"address"`
	Away    bool   `json:"away"`
	// Class is the class of the error that made the store unavailable, such as out_of_memory.
	Class string `json:"class,omitempty"`
	// AwayFor is the time since the store became unavailable, in ms. It is 0 while the store is available.
	AwayFor int64 `json:"away_ms"`
	Outages int64 `json:"outages"`
	// Unknown is the number of requests without a decision since the server started.
	Unknown int64 `json:"unknown"`
	// Losses is the number of times that the store came back without its data.
	Losses int64 `json:"losses"`
	// DoubtedUntil is when all limits that requests have used have recovered from the last loss. It is omitted if they
	// have, or if an operator has accepted the loss.
	DoubtedUntil time.Time `json:"doubted_until,omitzero"`
	// Keys is the number of keys in the memory store. It is omitted for other stores.
	Keys *int64 `json:"keys,omitempty"`
}

// Processes describes the servers that share the store.
type Processes struct {
	// Count is the number of processes that divide each limit equally while the store is unavailable. 0 means unknown.
	Count int `json:"count"`
	// Members contains the names of the processes in the group, at most 100. Self is the name of this process. Both
	// are empty if the store is in the memory of this process.
	Members []string `json:"members"`
	Self    string   `json:"self"`
	// Leases counts the units prefetched by this process. It is nil if the process prefetches no units.
	Leases *Leases `json:"leases"`
}

// Leases counts prefetched units since the server started. Lost units could not be given back.
type Leases struct {
	Taken    int64 `json:"taken"`
	Spent    int64 `json:"spent"`
	Returned int64 `json:"returned"`
	Lost     int64 `json:"lost"`
	// Processes is the number of processes that share the units. 0 means that the number is unknown. In that case no
	// units are prefetched.
	Processes int `json:"processes"`
}
