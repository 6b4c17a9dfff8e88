package adminapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxAnswer is the maximum size of an answer in bytes. A client does not read further.
const maxAnswer = 64 << 20

// Client calls a server.
type Client struct {
	// URL is the URL of the admin listener, without a path.
	URL string
	// Token authenticates the caller. If it is "", no token is sent.
	Token string
	HTTP  *http.Client
}

// Send makes a call and returns its answer, both decoded and as the server wrote it. If body is nil, the request has
// no body. For an unsuccessful answer, the error is an [*Error]. Its Detail is "" if the answer is not from a
// Headgate server.
func (c Call[Body, Answer]) Send(ctx context.Context, client *Client, body *Body) (answer *Answer, text json.RawMessage, err error) {
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		sent = bytes.NewReader(data)
	}
	if text, err = client.send(ctx, c.Pattern, sent); err != nil {
		return nil, nil, err
	}
	answer = new(Answer)
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, nil, fmt.Errorf("the answer of %s: %w", client.URL, err)
	}
	return answer, text, nil
}

func (c *Client) send(ctx context.Context, pattern string, body io.Reader) (json.RawMessage, error) {
	method, path, _ := strings.Cut(pattern, " ")
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	answer, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil || answer.StatusCode == http.StatusOK {
		return data, err
	}
	problem := new(Error)
	if json.Unmarshal(data, problem) != nil {
		problem = new(Error)
	}
	problem.Status = answer.StatusCode
	return nil, problem
}
