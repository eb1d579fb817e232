package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Getter asks an API on the web, past the same guard as fetch.
type Getter struct{ client *client }

// NewGetter makes one.
func NewGetter(o Options) *Getter { return &Getter{newClient(o)} }

// Get gives the body of an answer. One of more than 10 MB is an error.
func (g *Getter) Get(ctx context.Context, address, accept string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Accept", accept)
	resp, err := g.client.do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return 0, nil, plain(err)
	}
	if len(body) > maxPage {
		return 0, nil, fmt.Errorf("the answer has more than %d MB", maxPage>>20)
	}
	return resp.StatusCode, body, nil
}
