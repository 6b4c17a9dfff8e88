package suggest

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Actor is a kind of client in a log.
type Actor string

// The kinds of clients that [makeTraffic] can generate.
const (
	Reader  Actor = "reader"  // a person, in sessions
	Scraper Actor = "scraper" // fetches one page after another for hours
	Cron    Actor = "cron"    // sends some requests at midnight
	Leak    Actor = "leak"    // a few requests a minute, forever
	NAT     Actor = "nat"     // an office: many readers that share one address
)

// trafficOptions configure a log whose right limits are known, with readers of pages and unusual clients. Each unusual
// client differs in one way. Actors whose fields are zero are omitted. The same seed generates the same log.
type trafficOptions struct {
	Seed    uint64
	Start   time.Time
	Length  time.Duration
	Readers int
	// ScraperRate is in requests per second. The scraper runs for ScraperTime, from the middle of the log.
	ScraperRate float64
	ScraperTime time.Duration
	// Crons is the number of clients that each send CronRequests requests at every midnight.
	Crons, CronRequests int
	// LeakEvery is the time between two requests of the leak.
	LeakEvery time.Duration
	// Office is the number of readers that share one address.
	Office int
	// Attackers configures the clients that disguise themselves.
	Attackers
}

// trafficLine is one request in a generated log, with the kind of client that sent it.
type trafficLine struct {
	Time   time.Time
	Client string
	Actor  Actor
	Agent  string
	Path   string
	Status int
	Bytes  int
}

// The addresses of the unusual clients.
const (
	ScraperAddress = "203.0.113.66"
	LeakAddress    = "203.0.113.99"
	NATAddress     = "192.0.2.1"
)

var browsers = []string{
	"Mozilla/5.0 (X11; Linux x86_64) Firefox/%d.0", "Mozilla/5.0 (Windows NT 10.0) Chrome/%d.0", "Mozilla/5.0 (Macintosh) Safari/%d.1",
	"Mozilla/5.0 (iPhone) Mobile/%d", "Mozilla/5.0 (Android 15) Chrome/%d.0 Mobile",
}

var pages = []string{"/", "/search?q=tea", "/items/%d", "/items/%d/reviews", "/cart", "/account", "/help"}

// maker generates a log.
type maker struct {
	trafficOptions
	random *rand.Rand
	lines  []trafficLine
}

// makeTraffic returns the lines of a log in chronological order.
func makeTraffic(o trafficOptions) []trafficLine {
	m := &maker{trafficOptions: o, random: rand.New(rand.NewPCG(o.Seed, 16))} //nolint:gosec // a log, no secret
	for i := range o.Readers {
		m.reader(fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255), Reader, 2)
	}
	for range o.Office {
		m.reader(NATAddress, NAT, 3)
	}
	m.scraper()
	m.crons()
	m.leak()
	m.attackers()
	slices.SortStableFunc(m.lines, func(a, b trafficLine) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Client, b.Client)) })
	return m.lines
}

// add adds a request if it is within the log's time span.
func (m *maker) add(at time.Time, client string, actor Actor, agent, path string) {
	if at.Before(m.Start) || !at.Before(m.Start.Add(m.Length)) {
		return
	}
	m.lines = append(m.lines, trafficLine{at, client, actor, agent, path, 200, 200 + m.random.IntN(20_000)})
}

// after draws an exponentially distributed duration with the given mean.
func (m *maker) after(mean time.Duration) time.Duration {
	return time.Duration(m.random.ExpFloat64() * float64(mean))
}

// reader adds one person's sessions. A session consists of pages a few seconds apart, each with up to three more
// requests at the same time.
func (m *maker) reader(client string, actor Actor, sessions int) {
	agent := fmt.Sprintf(browsers[m.random.IntN(len(browsers))], 100+m.random.IntN(40))
	for range 1 + m.random.IntN(sessions) {
		at := m.Start.Add(time.Duration(m.random.Int64N(int64(m.Length))))
		for range 3 + m.random.IntN(20) {
			at = at.Add(time.Second + m.after(8*time.Second))
			m.add(at, client, actor, agent, m.page())
			for i := range m.random.IntN(4) {
				m.add(at.Add(time.Duration(50+70*i)*time.Millisecond), client, actor, agent, fmt.Sprintf("/assets/%d.js", i))
			}
		}
	}
}

func (m *maker) page() string {
	page := pages[m.random.IntN(len(pages))]
	if slices.Contains([]string{pages[2], pages[3]}, page) {
		return fmt.Sprintf(page, m.random.IntN(5000))
	}
	return page
}

func (m *maker) scraper() {
	if m.ScraperRate <= 0 {
		return
	}
	at := m.Start.Add((m.Length - m.ScraperTime) / 2)
	for end, n := at.Add(m.ScraperTime), 0; at.Before(end); n++ {
		m.add(at, ScraperAddress, Scraper, "python-requests/2.32", fmt.Sprintf("/items/%d", n))
		at = at.Add(time.Duration((0.9 + 0.2*m.random.Float64()) / m.ScraperRate * float64(time.Second)))
	}
}

func (m *maker) crons() {
	const day = 24 * time.Hour
	for midnight := m.Start.Truncate(day); midnight.Before(m.Start.Add(m.Length)); midnight = midnight.Add(day) {
		for i := range m.Crons {
			at := midnight.Add(m.after(100 * time.Millisecond))
			for n := range m.CronRequests {
				m.add(at, fmt.Sprintf("172.16.%d.%d", i/256, i%256), Cron, "backup-agent/4.1", fmt.Sprintf("/api/export/%d", n))
				at = at.Add(20*time.Millisecond + m.after(60*time.Millisecond))
			}
		}
	}
}

func (m *maker) leak() {
	if m.LeakEvery <= 0 {
		return
	}
	for at := m.Start; at.Before(m.Start.Add(m.Length)); at = at.Add(m.LeakEvery/2 + m.after(m.LeakEvery/2)) {
		m.add(at, LeakAddress, Leak, "okhttp/4.12", "/api/status")
	}
}

// Combined formats a line in the combined format.
func (l *trafficLine) Combined(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s - - [%s] \"GET %s HTTP/1.1\" %d %d \"-\" \"%s\"\n",
		l.Client, l.Time.UTC().Format("02/Jan/2006:15:04:05 -0700"), l.Path, l.Status, l.Bytes, l.Agent)
	return err
}

// Precise formats a line with its time in microseconds. It matches PreciseFormat.
func (l *trafficLine) Precise(w io.Writer) error {
	at := l.Time.UnixMicro()
	_, err := fmt.Fprintf(w, "%s %d.%06d \"GET %s HTTP/1.1\" %d \"%s\"\n", l.Client, at/1e6, at%1e6, l.Path, l.Status, l.Agent)
	return err
}

// PreciseFormat is the format string for Precise.
const PreciseFormat = `$remote_addr $msec "$request" $status "$http_user_agent"`

// exampleTraffic is the configuration that generates the log in examples/replay: twelve hours around a midnight.
var exampleTraffic = trafficOptions{
	Seed: 16, Start: time.Date(2026, time.November, 20, 18, 0, 0, 0, time.UTC), Length: 12 * time.Hour,
	Readers: 22, ScraperRate: 2, ScraperTime: 4 * time.Minute, Crons: 5, CronRequests: 8, Office: 5,
}
