package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"

	"github.com/burin-dev/burin/llm/wire"
)

// web is a server that is reached over HTTP.
type web struct {
	conn   *conn
	client *http.Client
	server *Server
	life   context.Context
	end    context.CancelFunc
	reads  sync.WaitGroup

	mu      sync.Mutex
	post    string // where messages go; of older servers, what the stream says
	session string
	version string // "" before it is agreed upon
	ready   chan struct{}
}

var errStatus = errors.New("the server does not speak the protocol at this address")

// reach prepares the connection to a server.
func reach(c *conn, s *Server, transport http.RoundTripper, kind string) (*web, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an address such as https://example.com/mcp", s.URL)
	}
	w := &web{conn: c, server: s, post: s.URL}
	w.client = &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != u.Host || r.URL.Scheme != u.Scheme {
			return errors.New("the server wants to send the request to another host")
		}
		if len(via) > 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	w.life, w.end = context.WithCancel(context.Background())
	c.transport = w
	if kind != SSE {
		return w, nil
	}
	w.ready = make(chan struct{})
	resp, err := w.get()
	if err != nil {
		w.end()
		return nil, err
	}
	w.reads.Go(func() {
		w.read(resp)
		c.fail(errEnded)
	})
	return w, nil
}

// request makes a request with the server's headers.
func (w *web) request(ctx context.Context, method, to string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range w.server.Headers {
		r.Header.Set(name, value)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	if w.version != "" {
		r.Header.Set("Mcp-Protocol-Version", w.version)
	}
	return r, nil
}

// get opens the stream of what the server says by itself.
func (w *web) get() (*http.Response, error) {
	r, err := w.request(w.life, http.MethodGet, w.server.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := w.client.Do(r)
	if err != nil {
		return nil, plain(err)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, statusError(resp)
	}
	return resp, nil
}

// listen follows what the server says by itself, if it says anything.
func (w *web) listen() {
	w.reads.Go(func() {
		if resp, err := w.get(); err == nil {
			w.read(resp)
		}
	})
}

// read takes the messages of a stream.
func (w *web) read(resp *http.Response) {
	defer resp.Body.Close()
	events := wire.NewSSE(resp.Body)
	for {
		f, err := events.Next()
		if err != nil {
			return
		}
		if string(f.Event) == "endpoint" && w.ready != nil {
			w.moved(string(f.Data))
			continue
		}
		if len(f.Data) <= maxMessage {
			w.conn.take(f.Data)
		}
	}
}

// moved notes where an older server wants messages. It must be the same host, which gets the
// headers.
func (w *web) moved(to string) {
	base, err := url.Parse(w.server.URL)
	if err != nil {
		return
	}
	u, err := base.Parse(to)
	if err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
		w.conn.fail(errors.New("the server wants messages at another host"))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.post = u.String()
	select {
	case <-w.ready:
	default:
		close(w.ready)
	}
}

func (w *web) send(ctx context.Context, line []byte) (bool, error) {
	if w.ready != nil {
		select {
		case <-w.ready:
		case <-w.conn.done:
			return false, w.conn.why()
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(w.life, stop)()
	w.mu.Lock()
	to := w.post
	w.mu.Unlock()
	r, err := w.request(ctx, http.MethodPost, to, line)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := w.client.Do(r)
	if err != nil {
		return false, plain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		err := statusError(resp)
		w.mu.Lock()
		known := w.session != ""
		w.mu.Unlock()
		if resp.StatusCode == http.StatusNotFound && known {
			w.conn.fail(errExpired)
			err = errExpired
		}
		return false, err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && len(id) < 1000 {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case w.ready != nil:
		return false, nil // the answer comes on the stream
	case kind == "text/event-stream":
		w.read(resp)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	default:
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
		if err != nil {
			return false, plain(err)
		}
		if len(body) > maxMessage {
			return false, fmt.Errorf("the answer has more than %d MB", maxMessage>>20)
		}
		w.conn.take(body)
	}
	return true, nil
}

// agree notes the version of the protocol that both speak.
func (w *web) agree(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
}

func (w *web) close() {
	w.mu.Lock()
	session := w.session
	w.mu.Unlock()
	if session != "" {
		ctx, stop := context.WithTimeout(context.Background(), farewell)
		defer stop()
		if r, err := w.request(ctx, http.MethodDelete, w.server.URL, nil); err == nil {
			if resp, err := w.client.Do(r); err == nil {
				resp.Body.Close()
			}
		}
	}
	w.conn.fail(errClosed)
	w.end()
	w.reads.Wait()
}

func (w *web) words() string { return "" }

// statusError is the error of a response.
func statusError(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return &LoginError{resp.Status}
	case resp.StatusCode/100 == 2:
		return errStatus
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: it answers %s", errStatus, resp.Status)
	}
	return fmt.Errorf("the server answers %s", resp.Status)
}

// plain is an error of a request without its address, which may hold a token.
func plain(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
