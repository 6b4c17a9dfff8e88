package loopback

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/headgate/headgate/replay/overload/model"
)

type httpClient = *http.Client

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxInflight}}
}

var errRate = errors.New("loopback: more requests a second than MaxRate")

// send starts requests as a Poisson process, independently of the responses.
func (p *player) send(ctx context.Context, c *model.Config) error {
	random := rand.New(rand.NewPCG(c.Seed, 2))
	for at := 0.0; ; {
		rate := c.Clients[0].Rate.At(int64(at))
		if rate > MaxRate {
			return errRate
		}
		if rate <= 0 {
			at += 1000
		} else {
			at += random.ExpFloat64() * 1e6 / rate
		}
		if at >= float64(c.Length) {
			return nil
		}
		if rate <= 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(p.started.Add(time.Duration(at) * time.Microsecond))):
		}
		p.begin(ctx)
	}
}

// begin starts a request, unless too many are in progress.
func (p *player) begin(ctx context.Context) {
	select {
	case p.places <- struct{}{}:
	default:
		p.end(func(c *Count) { c.Unsent++ })
		return
	}
	p.all.Go(func() {
		defer func() { <-p.places }()
		ctx, cancel := context.WithTimeout(ctx, p.deadline)
		defer cancel()
		switch status, err := p.get(ctx); {
		case err != nil:
			p.end(func(c *Count) { c.Late++ })
		case status == http.StatusOK:
			p.end(func(c *Count) { c.Good++ })
		default:
			p.end(func(c *Count) { c.Denied++ })
		}
	})
}

// get reads the whole response and returns its status.
func (p *player) get(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }() // the body was read to the end
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}
