package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm/wire"
)

// web is a server that is reached over HTTP.
type web struct {
	conn   *conn
	client *http.Client
	server *Server
	tokens Tokens // nil: none are sent
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
func reach(ctx context.Context, c *conn, s *Server, o Options, kind string) (*web, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an address such as https://example.com/mcp", s.URL)
	}
	w := &web{conn: c, server: s, post: s.URL}
	if s.Logins() {
		w.tokens = o.Tokens
	}
	w.client = &http.Client{Transport: o.HTTP, CheckRedirect: func(r *http.Request, via []*http.Request) error {
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
	stop := context.AfterFunc(ctx, w.end) // the stream outlives the attempt
	resp, err := w.get(w.life, "")
	if !stop() && err == nil {
		resp.Body.Close()
		err = ctx.Err()
	}
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
func (w *web) request(ctx context.Context, method, to string, body []byte, headers map[string]string) (*http.Request, error) {
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
	if headers != nil {
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		return r, nil
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

// maxTries is how often a request is sent: once more with a renewed token.
const maxTries = 2

// do sends a request with the token of a login, if there is one. What the server refuses for its
// token is sent again with a newer one: the server has not looked at it.
func (w *web) do(ctx context.Context, method, to string, p parcel, accept, last string) (*http.Response, error) {
	token := ""
	if w.tokens != nil {
		var err error
		if token, err = w.tokens.Token(ctx, w.server); err != nil {
			return nil, err
		}
	}
	for try := 1; ; try++ {
		r, err := w.request(ctx, method, to, p.line, p.headers)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", accept)
		if last != "" {
			r.Header.Set("Last-Event-Id", last)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := w.client.Do(r)
		if err != nil {
			return nil, plain(err)
		}
		if w.tokens == nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, nil
		}
		resp.Body.Close()
		next, wanted, err := w.tokens.Refused(ctx, w.server, token, resp.StatusCode, resp.Header.Values("WWW-Authenticate"))
		if err != nil {
			return nil, err
		}
		if next == "" || next == token || try == maxTries {
			return nil, &LoginError{Status: resp.Status, Name: w.server.Name, Wanted: wanted, bare: token == ""}
		}
		token = next
	}
}

// Ask sends a server the first requests of a connection without a token, until one of them is refused, and
// gives the status and the challenges of the last answer.
func Ask(ctx context.Context, s Server, transport http.RoundTripper) (status int, challenges []string, err error) {
	ctx, stop := context.WithTimeout(ctx, s.timeout())
	defer stop()
	o := Options{HTTP: transport}
	w, err := reach(ctx, newConn(), &s, o, HTTP)
	if err != nil {
		return 0, nil, err
	}
	defer w.end()
	ask := func(method, verb, accept string, stateless bool, params map[string]any) (bool, error) {
		p := parcel{}
		if verb == http.MethodPost {
			if p.line, err = json.Marshal(message{Version: "2.0", ID: json.RawMessage("1"), Method: method, Params: params}); err != nil {
				return false, err
			}
		}
		if stateless {
			p.headers = headersOf(newest, method, params, nil)
		}
		resp, err := w.do(ctx, verb, s.URL, p, accept, "")
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		status, challenges = resp.StatusCode, resp.Header.Values("WWW-Authenticate")
		return status == http.StatusUnauthorized || status == http.StatusForbidden, nil
	}
	const either = "application/json, text/event-stream"
	if s.Type == SSE {
		_, err = ask("", http.MethodGet, "text/event-stream", false, nil)
		return status, challenges, err
	}
	// Some let everyone begin a connection, and no further.
	meta := about(&o, w.conn, newest, "server/discover", nil)
	if refused, err := ask("server/discover", http.MethodPost, either, true, map[string]any{"_meta": meta}); refused || err != nil {
		return status, challenges, err
	}
	_, err = ask("initialize", http.MethodPost, either, false, hello("", false))
	return status, challenges, err
}

// get opens the stream of what the server says by itself, or the rest of one after the event last.
func (w *web) get(ctx context.Context, last string) (*http.Response, error) {
	resp, err := w.do(ctx, http.MethodGet, w.server.URL, parcel{}, "text/event-stream", last)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, statusError(resp)
	}
	return resp, nil
}

// headStart is how long burin waits for the stream of what a server says by itself before it asks for
// anything: some servers ask in return there, and what they say before the stream is open is lost.
// Others don't answer until they have something to say.
const headStart = 500 * time.Millisecond

// listen follows what the server says by itself, if it says anything. It returns when the server has
// answered, or after headStart.
func (w *web) listen(ctx context.Context) {
	open := make(chan struct{})
	w.reads.Go(func() {
		resp, err := w.get(w.life, "")
		close(open)
		if err == nil {
			w.follow(w.life, resp, true)
		}
	})
	ctx, stop := context.WithTimeout(ctx, headStart)
	defer stop()
	select {
	case <-open:
	case <-ctx.Done():
	}
}

// Limits of resumed streams.
const (
	pause     = time.Second // before a stream is resumed, unless the server says how long
	longPause = time.Minute
	maxBroken = 5 // attempts that fail one after the other
	maxEvent  = 1000
)

// follow reads a stream. One with ids is resumed when the server ends it, until ctx ends.
func (w *web) follow(ctx context.Context, resp *http.Response, resume bool) {
	wait, last := pause, ""
	for failed := 0; ; {
		if resp != nil {
			events := w.read(resp)
			if id := events.ID(); id != "" && len(id) <= maxEvent {
				last = id
			}
			if given, ok := events.Retry(); ok {
				wait = min(given, longPause)
			}
		}
		if !resume || last == "" || failed == maxBroken {
			return
		}
		t := time.NewTimer(max(wait<<failed, 10*time.Millisecond))
		select {
		case <-ctx.Done():
		case <-w.life.Done():
		case <-t.C:
		}
		t.Stop()
		if ctx.Err() != nil || w.life.Err() != nil {
			return
		}
		var err error
		if resp, err = w.get(ctx, last); err != nil {
			resp, failed = nil, failed+1
			continue
		}
		failed = 0
	}
}

// read takes the messages of a stream.
func (w *web) read(resp *http.Response) *wire.SSE {
	defer resp.Body.Close()
	events := wire.NewSSE(resp.Body)
	for {
		f, err := events.Next()
		if err != nil {
			return events
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

func (w *web) send(ctx context.Context, p parcel) (bool, error) {
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
	resp, err := w.do(ctx, http.MethodPost, to, p, "application/json, text/event-stream", "")
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		err := statusError(resp)
		if p.headers != nil {
			return false, w.refused(resp, p, err)
		}
		w.mu.Lock()
		known := w.session != ""
		w.mu.Unlock()
		if resp.StatusCode == http.StatusNotFound && known {
			w.conn.fail(errExpired)
			err = errExpired
		}
		return false, err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && len(id) < 1000 && p.headers == nil {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case w.ready != nil:
		return false, nil // the answer comes on the stream
	case kind == "text/event-stream":
		w.follow(ctx, resp, p.request && p.headers == nil)
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

// maxRefusal is how much is read of an answer that is an error, in bytes.
const maxRefusal = 64 << 10

// refused is why a server has refused a message that says which version it is of: the error in its answer,
// or otherwise. A server that doesn't know what it knew is another one now.
func (w *web) refused(resp *http.Response, p parcel, otherwise error) error {
	var m incoming
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err == nil && json.Unmarshal(body, &m) == nil && m.Error != nil {
		otherwise = m.Error
	}
	if changed := m.Error == nil && errors.Is(otherwise, errStatus) || m.Error != nil && m.Error.Code == unsupportedVersion; changed && !p.probe {
		w.conn.fail(errExpired)
		return errExpired
	}
	return otherwise
}

// agree notes the version of the protocol that both speak.
func (w *web) agree(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
}

func (w *web) close() {
	w.conn.left() // servers may let a session end only with its requests
	w.mu.Lock()
	session := w.session
	w.mu.Unlock()
	if session != "" {
		ctx, stop := context.WithTimeout(context.Background(), farewell)
		defer stop()
		if resp, err := w.do(ctx, http.MethodDelete, w.server.URL, parcel{}, "*/*", ""); err == nil {
			resp.Body.Close()
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
		return &LoginError{Status: resp.Status}
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
