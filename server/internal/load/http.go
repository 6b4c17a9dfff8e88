package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// httpTarget sends requests to the HTTP port of a server.
type httpTarget struct {
	client *http.Client
	take   string
}

func newHTTP(u *url.URL) httpTarget {
	transport := &http.Transport{MaxIdleConnsPerHost: MaxCallers, MaxConnsPerHost: MaxCallers}
	return httpTarget{client: &http.Client{Transport: transport}, take: u.JoinPath("/v1/allow").String()}
}

// takeBody is the body of /v1/allow.
type takeBody struct {
	Key    string `json:"key"`
	Policy string `json:"policy,omitempty"`
	Limit  string `json:"limit,omitempty"`
}

func (t httpTarget) open(_ context.Context, c *Config) (client, error) {
	a := httpClient{target: t, body: takeBody{Policy: c.Policy}}
	if c.Policy == "" {
		a.body.Limit = c.Limit.String()
	}
	return a, nil
}

func (t httpTarget) storeTime() bool { return false }

func (t httpTarget) Close() error {
	t.client.CloseIdleConnections()
	return nil
}

type httpClient struct {
	target httpTarget
	body   takeBody
}

func (a httpClient) take(ctx context.Context, key string) (bool, time.Time, error) {
	a.body.Key = key
	body, err := json.Marshal(a.body)
	if err != nil {
		return false, time.Time{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.target.take, bytes.NewReader(body))
	if err != nil {
		return false, time.Time{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.target.client.Do(request)
	if err != nil {
		return false, time.Time{}, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	switch {
	case err != nil:
		return false, time.Time{}, err
	case response.StatusCode == http.StatusOK, response.StatusCode == http.StatusTooManyRequests:
		var decided struct {
			Allowed *bool `json:"allowed"`
		}
		if err := json.Unmarshal(answer, &decided); err != nil || decided.Allowed == nil {
			return false, time.Time{}, fmt.Errorf("the answer is no decision: %.200s", answer)
		}
		return *decided.Allowed, time.Time{}, nil
	default:
		return false, time.Time{}, fmt.Errorf("%s: %.200s", response.Status, bytes.TrimSpace(answer))
	}
}

func (a httpClient) close() {}
