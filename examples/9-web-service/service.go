package main

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// service is a web service with log-ins, searches and downloads.
type service struct {
	passwords map[string]string // by account
	checked   atomic.Int64      // number of passwords checked, both right and wrong
}

// handler applies the limits to the service. Only the proxy, on this machine, is trusted to report the client's
// address.
func (s *service) handler(limiter *headgate.Limiter) http.Handler {
	byAddress := httplimit.ByIP(netip.MustParsePrefix("127.0.0.0/8"))
	byUser := httplimit.ByHeader("X-User") // set by the proxy after it has checked the session

	// Only wrong passwords count. Each account is allowed only a few, from all addresses together. Each address is
	// allowed many, because a whole office can share one address. A guess denied by the account's limit does not
	// count against the address, so other users at that address can still log in.
	wrong := httplimit.WithFinalCost(httplimit.OnlyStatus(http.StatusUnauthorized))
	perAddress := limiter.Policy("log-ins-address", headgate.FixedWindow{Rate: headgate.PerHour(100)})
	perAccount := limiter.Policy("log-ins-account", headgate.FixedWindow{Rate: headgate.PerHour(5)})

	// A search costs one unit per hundred rows. A download costs its size in bytes. A download may overdraw the limit,
	// which makes the next one wait.
	searches := limiter.Policy("searches", headgate.FixedWindow{Rate: headgate.PerHour(20)})
	bytes := limiter.Policy("download-bytes", headgate.TokenBucket{Rate: headgate.PerHour(1 << 20), Debt: 1 << 30})

	mux := http.NewServeMux()
	logIns := httplimit.AllOf(limiter, httplimit.Item{Policy: perAddress, Key: byAddress}, httplimit.Item{Policy: perAccount, Key: byAccount})
	mux.Handle("POST /log-in", httplimit.By(logIns, wrong)(http.HandlerFunc(s.logIn)))
	mux.Handle("GET /search", httplimit.New(searches, byUser, httplimit.WithCost(hundredsOfRows))(http.HandlerFunc(search)))
	mux.Handle("GET /download", httplimit.New(bytes, byUser, httplimit.WithFinalCost(httplimit.BytesWritten))(http.HandlerFunc(download)))
	return mux
}

// maxForm limits the size of a log-in form.
const maxForm = 4 << 10

// byAccount returns the account in a log-in as the key. Different spellings of an account result in the same key.
func byAccount(r *http.Request) (string, bool) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	account := strings.ToLower(strings.TrimSpace(r.PostFormValue("account")))
	return account, account != ""
}

func (s *service) logIn(w http.ResponseWriter, r *http.Request) {
	s.checked.Add(1)
	account, _ := byAccount(r)
	password, known := s.passwords[account]
	if right := subtle.ConstantTimeCompare([]byte(password), []byte(r.PostFormValue("password"))) == 1; !known || !right {
		http.Error(w, "wrong account or password", http.StatusUnauthorized)
		return
	}
	fmt.Fprintln(w, "welcome")
}

const maxRows = 1000

// rowsOf returns the number of rows that a search requests: 1 to maxRows.
func rowsOf(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get("rows"), 10, 64)
	if err != nil || n > maxRows {
		return maxRows // an absurd number must not be cheaper than an honest one
	}
	return max(1, n)
}

func hundredsOfRows(r *http.Request) int64 { return (rowsOf(r) + 99) / 100 }

func search(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, rowsOf(r), "rows") }

// download responds with 700 kB in small writes. The limiter does not need to know the total in advance.
func download(w http.ResponseWriter, _ *http.Request) {
	part := make([]byte, 7000)
	for range 100 {
		if _, err := w.Write(part); err != nil {
			return // the client has disconnected, and is charged for what it received
		}
	}
}
