package algo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unique"
)

type vectorLimit struct {
	Algorithm string `json:"algorithm"`
	Name      string `json:"name"`
	Count     int64  `json:"count"`
	Period    int64  `json:"period_us"`
	Burst     int64  `json:"burst"`
	MaxQueue  *int64 `json:"max_queue"`
	MaxWait   *int64 `json:"max_wait_us"`
	Limit     int64  `json:"limit"`
	Window    int64  `json:"window_us"`
	Align     string `json:"align"`
	Segments  int64  `json:"segments"`
	Segment   int64  `json:"segment_us"`
	Variant   string `json:"variant"`
	Windows   []struct {
		Limit int64 `json:"limit"`
		Span  int64 `json:"window_us"`
	} `json:"windows"`
}

type vectorStep struct {
	At   int64  `json:"at_us"`
	Set  int    `json:"set"`
	Op   string `json:"op"`
	N    int64  `json:"n"`
	Want want   `json:"want"`
}

type want struct {
	Allowed   bool   `json:"allowed"`
	Limit     int64  `json:"limit"`
	Remaining int64  `json:"remaining"`
	Retry     *int64 `json:"retry_after_us"`
	Reset     int64  `json:"reset_after_us"`
	Delay     int64  `json:"delay_us"`
	Granted   int64  `json:"granted"`
}

type vectorFile struct {
	Cases []struct {
		Sets  [][]vectorLimit `json:"limit_sets"`
		Steps []vectorStep    `json:"steps"`
	} `json:"cases"`
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (v vectorLimit) limit() *Limit {
	l := &Limit{Count: v.Limit, Period: v.Window}
	if len(v.Windows) > 0 {
		var ws Windows
		for i, w := range v.Windows {
			ws.List[i] = Window{w.Limit, w.Span}
		}
		ws.N = len(v.Windows)
		l.Count, l.Period = ws.List[0].Limit, ws.List[0].Span
		l.Several = unique.Make(ws)
	}
	switch v.Algorithm {
	case "token-bucket", "pacer":
		g := gcd(v.Count, v.Period)
		l.Algorithm, l.Count, l.Period, l.Burst = TokenBucket, v.Count/g, v.Period/g, v.Burst
		if v.Algorithm == "pacer" {
			l.Algorithm = Pacer
		}
		if v.MaxQueue != nil {
			l.Queue, l.HasQueue = *v.MaxQueue, true
		}
		if v.MaxWait != nil {
			l.MaxWait, l.HasWait = *v.MaxWait, true
		}
	case "fixed-window":
		l.Algorithm = FixedWindow
		if v.Align == "clock" {
			l.Align = AlignClock
		}
	case "sliding-window":
		l.Algorithm = SlidingWindow
		l.Segment = v.Segment
		if v.Segment == 0 {
			l.Segment = v.Window / v.Segments
		}
		for _, x := range []Variant{Weighted, Strict, Lenient} {
			if x.String() == v.Variant {
				l.Variant = x
			}
		}
	case "sliding-log":
		l.Algorithm = SlidingLog
	}
	return l
}

// TestVectors replays the exact answers step by step, field by field.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../testdata/vectors/*.json")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d vector files, want at least 14 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f vectorFile
			if err := json.Unmarshal(data, &f); err != nil {
				t.Fatal(err)
			}
			for i, c := range f.Cases {
				store := map[string]State{}
				for j, s := range c.Steps {
					got := replay(store, c.Sets[s.Set], s)
					w := s.Want
					if w.Retry == nil {
						never := Never
						w.Retry = &never
					}
					if *got.Retry != *w.Retry || func() bool { g := got; g.Retry = w.Retry; return g != w }() {
						t.Fatalf("case %d step %d: %+v %+v\n got %+v retry %d\nwant %+v retry %d", i, j, c.Sets[s.Set], s, got, *got.Retry, w, *w.Retry)
					}
				}
			}
		})
	}
}

func replay(store map[string]State, set []vectorLimit, s vectorStep) want {
	steps := make([]Step, len(set))
	for i, v := range set {
		steps[i] = Step{Limit: v.limit(), Cost: s.N, State: store[v.Algorithm+v.Name]}
	}
	now := Instant{Now: s.At, Wall: s.At}
	var w want
	switch s.Op {
	case "take":
		w.Allowed = Take(steps, now)
	case "peek":
		w.Allowed = Peek(steps, now)
	case "give":
		Give(steps, now)
		w.Allowed = true
	case "atmost":
		w.Granted = AtMost(steps, now)
		w.Allowed = w.Granted > 0
	}
	for i, v := range set {
		if steps[i].Write {
			store[v.Algorithm+v.Name] = steps[i].State
			if steps[i].TTL == 0 {
				delete(store, v.Algorithm+v.Name)
			}
		}
	}
	o := steps[Binding(steps, w.Allowed)].Outcome
	w.Limit, w.Remaining, w.Retry, w.Reset, w.Delay = o.Limit, o.Remaining, &o.Wait, o.Reset, 0
	for i := range steps {
		w.Delay = max(w.Delay, steps[i].Outcome.Delay)
	}
	return w
}
