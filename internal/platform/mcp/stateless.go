package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// What each request says of itself since [newest], in its _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLog          = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Times of the question what a server speaks.
const (
	// probeTime is how long a server may take to say that it speaks [newest] before it is asked for an older
	// version, too. Older ones may say nothing to what they don't know, and programs take their time to start.
	probeTime = 3 * time.Second
	// memory is how long a server is taken for the older one that it was.
	memory = 7 * 24 * time.Hour
)

// errLost means that a program ended when it was asked for a version that it doesn't know.
var errLost = errors.New("the server ended before it said what it speaks")

// discovered is what a server says of itself.
type discovered struct {
	Versions     []string `json:"supportedVersions"`
	Capabilities capabilities
}

// capabilities of a server.
type capabilities struct {
	Logging     json.RawMessage `json:"logging"`
	Completions json.RawMessage `json:"completions"`
	Tools       changing        `json:"tools"`
	Prompts     changing        `json:"prompts"`
	Resources   changing        `json:"resources"`
}

// changing says whether a list changes.
type changing struct {
	ListChanged bool `json:"listChanged"`
}

// asksDuring are the requests that a server may answer with questions.
func asksDuring(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// about is what a request says of burin. A server may ask during a call what its caller can answer; lists
// are those for whoever can answer everything.
func about(o *Options, c *conn, version, method string, caller *Caller) map[string]any {
	can := map[string]any{"roots": struct{}{}}
	if !asksDuring(method) || caller != nil && caller.Elicit != nil {
		can["elicitation"] = elicits()
	}
	if o.Sampling && (!asksDuring(method) || caller != nil && caller.Sample != nil) {
		can["sampling"] = struct{}{}
	}
	m := map[string]any{
		metaVersion: version, metaCapabilities: can, metaClient: map[string]string{"name": "burin", "version": o.Version},
	}
	if c.logs && asksDuring(method) {
		m[metaLog] = "info"
	}
	return m
}

// elicits are the kinds of questions that a person answers.
func elicits() any { return map[string]any{"form": struct{}{}, "url": struct{}{}} }

// roots is the answer to roots/list.
func roots(dir string) any {
	all := []map[string]string{}
	if dir != "" {
		all = append(all, map[string]string{"uri": (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String(), "name": filepath.Base(dir)})
	}
	return map[string]any{"roots": all}
}

// older reports whether the server was an older one the last time, and not long ago.
func (l *Link) older() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spoke != "" && l.spoke != newest && l.pool.o.Now().Sub(l.spokeAt) < memory
}

// introduce finds out what the server speaks, and begins the connection. A server that nothing is known of
// is asked for the newest version first; one that says otherwise, or nothing, for an older one.
func (l *Link) introduce(ctx context.Context, c *conn, w *web) error {
	if l.older() || w != nil && w.ready != nil { // which the older kind of HTTP always is
		said, err := c.initialize(ctx, &l.pool.o)
		if err == nil {
			return begin(ctx, l, c, w, said)
		}
		login := (*LoginError)(nil)
		if ctx.Err() != nil || c.why() != nil || errors.As(err, &login) || w != nil && w.ready != nil {
			return err
		}
		if d, asked := c.discover(ctx); asked == nil && slices.Contains(d.Versions, newest) {
			c.speak(d)
			return nil
		}
		return err
	}
	probing, stop := context.WithCancel(ctx)
	defer stop()
	type found struct {
		d   discovered
		err error
	}
	discovering := make(chan found, 1)
	go func() {
		d, err := c.discover(probing)
		discovering <- found{d, err}
	}()
	type begun struct {
		said agreed
		err  error
	}
	initializing := make(chan begun, 1)
	initialize := func() {
		said, err := c.initialize(probing, &l.pool.o)
		initializing <- begun{said, err}
	}
	late := time.NewTimer(min(probeTime, l.server.timeout()/3))
	defer late.Stop()
	waits := late.C
	login := (*LoginError)(nil)
	var failed error // the question for an older version
	for {
		select {
		case f := <-discovering:
			discovering = nil
			newer, err := f.d.speaks(f.err)
			errors.As(f.err, &login)
			switch {
			case newer:
				c.speak(f.d)
				return nil
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return err
			case c.why() != nil:
				return fmt.Errorf("%w: %w", errLost, c.why())
			case failed != nil && login != nil:
				return login
			case failed != nil:
				return failed
			case waits != nil: // it isn't asked yet
				waits = nil
				go initialize()
			}
		case <-waits:
			waits = nil
			go initialize()
		case b := <-initializing:
			switch {
			case b.err == nil:
				return begin(ctx, l, c, w, b.said)
			case ctx.Err() != nil:
				return ctx.Err()
			case c.why() != nil && discovering != nil:
				return fmt.Errorf("%w: %w", errLost, c.why())
			case discovering == nil && login != nil:
				return login
			case discovering == nil:
				return b.err
			}
			failed = b.err // it may be a newer one that is slow
		}
	}
}

// speaks reports whether a server that was asked for the newest version speaks it. An error is that of
// a server which does, and wants something else or can't be talked to; else it is an older one.
func (d *discovered) speaks(err error) (bool, error) {
	login, said := (*LoginError)(nil), (*Error)(nil)
	switch {
	case err == nil && slices.Contains(d.Versions, newest):
		return true, nil
	case errors.As(err, &login) && !login.bare: // without a token older ones may refuse what they don't know
		return false, err
	case errors.As(err, &said) && (said.Code == headerMismatch || said.Code == missingCapability):
		return false, err
	case errors.As(err, &said) && said.Code == unsupportedVersion:
		d.Versions = said.supported()
	case err != nil:
		return false, nil //nolint:nilerr // whatever older servers say
	}
	if len(d.Versions) > 0 && !slices.ContainsFunc(d.Versions, func(v string) bool { return slices.Contains(versions, v) }) {
		return false, errVersion(strings.Join(d.Versions, ", "))
	}
	return false, nil
}

// errVersion is the error for servers that speak none of burin's versions.
func errVersion(theirs string) error {
	return fmt.Errorf("the server speaks version %q of the protocol; burin speaks %s, %s", prose.Short(prose.Inline(theirs), 100), newest, strings.Join(versions, ", "))
}

// discover asks what the server has, in the newest version, and again if it refuses that and says that it
// speaks it.
func (c *conn) discover(ctx context.Context) (d discovered, err error) {
	for range 2 {
		d = discovered{}
		// A server that doesn't know the question need not hear that nobody waits for the answer.
		err = c.callFor(ctx, pending{probe: newest, silent: true}, "server/discover", map[string]any{}, &d)
		if said := (*Error)(nil); !errors.As(err, &said) || !slices.Contains(said.supported(), newest) {
			break
		}
	}
	return d, err
}

// supported are the versions that a server speaks which doesn't speak that of a request; nil if the error is
// another one.
func (e *Error) supported() []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if e.Code == unsupportedVersion {
		_ = json.Unmarshal(e.Data, &data) // what it doesn't say is not there
	}
	return data.Supported
}

// speak notes that the connection is in the newest version.
func (c *conn) speak(d discovered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stateless = newest
	c.completes, c.logs = d.Capabilities.Completions != nil, d.Capabilities.Logging != nil
	c.changes = map[string]any{}
	for name, list := range map[string]changing{
		"toolsListChanged": d.Capabilities.Tools, "promptsListChanged": d.Capabilities.Prompts, "resourcesListChanged": d.Capabilities.Resources,
	} {
		if list.ListChanged {
			c.changes[name] = true
		}
	}
}

// forget is for a server that isn't what it was.
func (l *Link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoke = ""
}

// unwanted reports whether a server may not send a message in the newest version: it is a request, or a change
// that nobody has asked for. It notes where a subscription begins and ends.
func (c *conn) unwanted(m *incoming) (ignored bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stateless == "" {
		return false
	}
	if m.ID != nil {
		return true
	}
	var p struct {
		Request uint64 `json:"requestId"`
		Meta    struct {
			Subscription uint64 `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p) // what isn't a number isn't a request of burin's
	switch m.Method {
	case "notifications/progress", "notifications/message":
		return false
	case "notifications/cancelled": // the server ends a subscription
		if w := c.waiting[p.Request]; w != nil && w.heard != nil {
			delete(c.waiting, p.Request)
			w.answer <- &incoming{Result: json.RawMessage("{}")}
		}
		return true
	}
	if p.Meta.Subscription == 0 || p.Meta.Subscription != c.subscribed {
		return true
	}
	if m.Method == "notifications/subscriptions/acknowledged" {
		if w := c.waiting[c.subscribed]; w != nil {
			select {
			case w.heard <- struct{}{}:
			default: // it was told before
			}
		}
		return true
	}
	return false
}

// subscribe begins to follow the changes of the server's lists, if it tells any.
func subscribe(l *Link, c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(c.changes) == 0 || l.closed {
		return
	}
	c.follows = make(chan struct{})
	l.asking.Go(func() { follow(l, c) })
}

// followed waits until the server tells changes, if it does, or for headStart.
func (c *conn) followed(ctx context.Context) {
	if c.follows == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, headStart)
	defer stop()
	select {
	case <-c.follows:
	case <-c.done:
	case <-ctx.Done():
	}
}

// follow keeps a subscription until the connection or the server ends it. One that breaks is begun again, and
// what changed meanwhile is asked for.
func follow(l *Link, c *conn) {
	begun, failed := 0, 0
	heard := make(chan struct{}, 1)
	first := sync.OnceFunc(func() { close(c.follows) })
	defer first() // nobody waits for what doesn't come
	for {
		ended := make(chan error, 1)
		go func() { // it ends with the connection
			ended <- c.callFor(context.Background(), pending{heard: heard}, "subscriptions/listen", map[string]any{"notifications": c.changes}, nil)
		}()
		var err error
		var began time.Time
		for waits := true; waits; {
			select {
			case err = <-ended:
				waits = false
			case <-heard:
				began = time.Now()
				first()
				if begun++; begun > 1 {
					l.changed(c)
					l.refresh(c)
				}
			}
		}
		if !began.IsZero() && time.Since(began) >= longPause { // a shorter one is not worth much
			failed = 0
		}
		said, login := (*Error)(nil), (*LoginError)(nil)
		if failed++; err == nil || errors.As(err, &said) || errors.As(err, &login) || c.why() != nil || failed > maxBroken {
			return
		}
		t := time.NewTimer(pause << (failed - 1))
		select {
		case <-t.C:
		case <-c.done:
			t.Stop()
			return
		}
	}
}

// changed notes that the resources or prompts of the server are others: it is asked again when somebody
// wants to know.
func (l *Link) changed(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.offered == c {
		l.offered = nil
	}
}

// Limits of requests that a server answers with questions.
const (
	maxRounds = 10
	rest      = 200 * time.Millisecond // before a server is asked again that has asked nothing
)

// rounds sends a request until the server has no more questions. caller answers them.
func (l *Link) rounds(ctx context.Context, c *conn, w pending, method string, params map[string]any, result any) error {
	if c.stateless == "" || !asksDuring(method) {
		return c.callFor(ctx, w, method, params, result)
	}
	asked := w
	if asked.caller == nil {
		asked.caller = &Caller{}
	}
	for round := 1; ; round++ {
		var raw json.RawMessage
		if err := c.callFor(ctx, w, method, params, &raw); err != nil {
			return err
		}
		var said struct {
			Type     string `json:"resultType"`
			Requests map[string]struct {
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			} `json:"inputRequests"`
			State json.RawMessage `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &said); err != nil {
			return fmt.Errorf("read the answer to %s: %w", method, err)
		}
		switch {
		case said.Type == "" || said.Type == "complete":
			if err := json.Unmarshal(raw, result); err != nil {
				return fmt.Errorf("read the answer to %s: %w", method, err)
			}
			return nil
		case said.Type != "input_required":
			return fmt.Errorf("the server answers with a result of type %q, which burin doesn't know", prose.Short(prose.Inline(said.Type), 40))
		case round == maxRounds:
			return fmt.Errorf("the server has asked %d times and still wants to know more", maxRounds)
		case len(said.Requests) > maxAsked:
			return fmt.Errorf("the server asks %d things at a time; burin answers up to %d", len(said.Requests), maxAsked)
		}
		params = maps.Clone(params)
		delete(params, "inputResponses")
		delete(params, "requestState")
		if len(said.State) > 0 && string(said.State) != "null" {
			params["requestState"] = said.State // as it is: it says nothing to burin
		}
		if len(said.Requests) == 0 {
			t := time.NewTimer(rest << round)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return ctx.Err()
			}
			continue
		}
		answers := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(said.Requests)) {
			r := said.Requests[name]
			answer, failed := l.answer(ctx, c, &asked, r.Method, r.Params)
			if failed != nil {
				return fmt.Errorf("the server asks in the middle of the call, and gets no answer: %w", failed)
			}
			answers[name] = answer
		}
		params["inputResponses"] = answers
	}
}
