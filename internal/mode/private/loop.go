// Package private is the loop of private projects. It runs in a worker of the browser, where it is
// the only one that has their keys: package session with a transcript that is sealed before it goes to
// the server, and models that the browser asks itself.
//
// # The protocol
//
// A page talks with it as with the server: [Request] has a method, a path and a body of /v1, and
// what comes back are the same bodies, events and problems. So a client for both needs two
// transports and nothing else. [Loop.Take] takes requests; what it answers goes to the post that the Loop was made with:
//
//	{"id":1,"method":"POST","path":"/v1/chats","body":{…}}  a request; the page chooses ids
//	{"id":1,"stop":true}                                    cancels it
//	{"id":1,"status":201,"body":{…}}                        the answer; from 400 on the body is a problem
//	{"id":1,"event":{"id":"CHAT@EPOCH.SEQ","data":{…}}}     of GET /v1/events, until its answer
//	{"id":1,"chunk":"…"}                                    output of a method, before its answer
//
// # What is sealed
//
// A project has a random key of 256 bits, wrapped with the pass phrase (Argon2id) and with a recovery
// key. Settings, and what stands around chats, are sealed as package vault seals records, bound to
// the project, the chat and the revision. Transcripts are sealed by package transcript/sealed under a
// key of their own chat, each record bound to its number and to the one before it; how many there were
// is sealed with what stands around the chat. So the server can't swap, change, reorder or drop
// records. It can give an older state of a whole chat or project, all of it from the same time, to a
// tab that has none open.
package private

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript"
)

// Request is what a page asks.
type Request struct {
	ID     int64           `json:"id"`
	Method string          `json:"method"`
	Path   string          `json:"path"` // with its query
	Body   json.RawMessage `json:"body,omitempty"`
	Stop   bool            `json:"stop,omitempty"`
}

// Reply is what a page is told.
type Reply struct {
	ID     int64   `json:"id"`
	Status int     `json:"status,omitempty"` // of the answer, which is the last for a request
	Body   any     `json:"body,omitempty"`
	Event  *Event  `json:"event,omitempty"`
	Chunk  *string `json:"chunk,omitempty"`
}

// Event is one of GET /v1/events.
type Event struct {
	ID   string `json:"id,omitempty"`
	Data any    `json:"data"`
}

// Loop has the projects and chats that are open in a tab. Any goroutine may use it.
type Loop struct {
	server *server
	post   func(Reply)

	mu       sync.Mutex
	projects map[string]*project // unlocked
	chats    map[string]*open
	opening  sync.Mutex // one chat at a time
	running  map[int64]context.CancelFunc
}

// New makes a loop that keeps what it seals at a server, asked with a client, and answers with post.
func New(url string, client *http.Client, post func(Reply)) *Loop {
	return &Loop{
		server: &server{url, client}, post: post,
		projects: map[string]*project{}, chats: map[string]*open{}, running: map[int64]context.CancelFunc{},
	}
}

// Take takes a request. It doesn't wait for the answer.
func (l *Loop) Take(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Stop {
		if cancel := l.running[r.ID]; cancel != nil {
			cancel()
		}
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.running[r.ID] = cancel
	go func() {
		body, err := l.serve(ctx, r)
		l.mu.Lock()
		delete(l.running, r.ID)
		l.mu.Unlock()
		cancel()
		answer := Reply{ID: r.ID, Status: http.StatusOK, Body: body}
		if err != nil {
			p := problemOf(err)
			answer.Status, answer.Body = p.Status, p
		} else if _, made := body.(created); made {
			answer.Status, answer.Body = http.StatusCreated, body.(created).body
		}
		l.post(answer)
	}()
}

// created is the body of a 201.
type created struct{ body any }

// problemOf is the problem of an error, with the status that the server gives it.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	code := ""
	if f := session.FailureOf(err); f != nil {
		code = f.Code
	}
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, remote.ErrParameters):
		status = http.StatusBadRequest
	case errors.Is(err, remote.ErrNoMethod), errors.Is(err, session.ErrNoAgent), errors.Is(err, session.ErrNoProgram):
		status = http.StatusNotFound
	case errors.Is(err, session.ErrBudget):
		status = http.StatusPaymentRequired
	case code != "":
		status = http.StatusConflict
	}
	return problem(status, code, "%v", err)
}

// into reads a body and does something with it.
func into[In, Out any](body json.RawMessage, do func(In) (Out, error)) (any, error) {
	var in In
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, problem(http.StatusBadRequest, "", "read the request: %v", err)
		}
	}
	return do(in)
}

func (l *Loop) serve(ctx context.Context, r Request) (any, error) {
	path, raw, _ := strings.Cut(r.Path, "?")
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, problem(http.StatusBadRequest, "", "path: %v", err)
	}
	parts := strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	id := ""
	if len(parts) > 1 {
		id = parts[1]
		parts[1] = "*"
	}
	switch what := r.Method + " " + strings.Join(parts, "/"); what {
	case "GET projects":
		return l.listed(ctx)
	case "POST projects":
		return into(r.Body, func(in NewProject) (any, error) {
			made, err := l.newProject(ctx, in)
			return created{made}, err
		})
	case "GET projects/*":
		return l.one(ctx, id)
	case "PATCH projects/*":
		return l.change(ctx, id, r.Body)
	case "DELETE projects/*":
		l.lock(id)
		return struct{}{}, l.server.do(ctx, http.MethodDelete, "/projects/"+id, nil, nil)
	case "POST projects/*/unlock":
		return into(r.Body, func(in Unlock) (Project, error) { return l.unlock(ctx, id, in) })
	case "POST projects/*/passphrase":
		return into(r.Body, func(in Unlock) (MadeProject, error) { return l.rewrap(ctx, id, in) })
	case "POST projects/*/lock":
		l.lock(id)
		return struct{}{}, nil
	case "GET chats":
		return l.listChats(ctx, query.Get("project"))
	case "POST chats":
		return into(r.Body, func(in NewChat) (any, error) { return l.newChat(ctx, in) })
	case "GET events":
		return nil, l.events(ctx, r.ID, query)
	default:
		return l.serveChat(ctx, r, what, id, query)
	}
}

// serveChat serves what is about one chat.
func (l *Loop) serveChat(ctx context.Context, r Request, what, id string, query url.Values) (any, error) {
	switch what {
	case "GET chats/*":
		p, err := l.projectOf(ctx, id)
		if err != nil {
			return nil, err
		}
		return l.chat(ctx, p, id)
	case "PATCH chats/*":
		p, err := l.projectOf(ctx, id)
		if err != nil {
			return nil, err
		}
		return l.changeChat(ctx, p, id, func(a *About) error {
			kept := a.Kept
			err := json.Unmarshal(r.Body, a)
			a.Kept = kept
			return err
		})
	case "DELETE chats/*":
		l.mu.Lock()
		c := l.chats[id]
		l.mu.Unlock()
		if c != nil {
			l.close(c)
		}
		return struct{}{}, l.server.do(ctx, http.MethodDelete, "/chats/"+id, nil, nil)
	case "GET sessions/*":
		c, err := l.joined(ctx, id, query.Get("take") == "true")
		if err != nil {
			return nil, err
		}
		return struct {
			Header transcript.Header `json:"header"`
			Facts  session.Facts     `json:"facts"`
			Cursor session.Cursor    `json:"cursor"`
		}{c.face.Transcript().Header(), c.face.Facts(), c.face.Events(session.Cursor{}).Cursor()}, nil
	case "POST sessions/*/close":
		l.mu.Lock()
		c := l.chats[id]
		l.mu.Unlock()
		if c != nil {
			l.close(c)
		}
		return struct{}{}, nil
	}
	name, ok := strings.CutPrefix(what, "POST sessions/*/")
	if !ok {
		return nil, problem(http.StatusNotFound, "", "nothing is at %s here: private projects have no more than docs/private.md says", r.Path)
	}
	c, err := l.joined(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return remote.Do(ctx, c.face, name, r.Body, func(text string) { l.post(Reply{ID: r.ID, Chunk: &text}) })
}

// NewChat says how a chat begins.
type NewChat struct {
	Project string         `json:"project"`
	Title   string         `json:"title,omitempty"`
	Model   string         `json:"model,omitempty"`
	Message *session.Input `json:"message,omitempty"` // is submitted at once
}

// BegunChat is a chat that has begun.
type BegunChat struct {
	Chat    Chat             `json:"chat"`
	Receipt *session.Receipt `json:"receipt,omitempty"`
}

func (l *Loop) newChat(ctx context.Context, n NewChat) (any, error) {
	p, err := l.unlocked(n.Project)
	if err != nil {
		return nil, err
	}
	var b BegunChat
	if b.Chat, err = l.putChat(ctx, p, Chat{ID: newID(), About: About{Title: n.Title, Model: n.Model}}); err != nil || n.Message == nil {
		return created{b}, err
	}
	c, err := l.joined(ctx, b.Chat.ID, false)
	if err != nil {
		return nil, err
	}
	receipt, err := c.face.Conversation().Submit(ctx, *n.Message)
	b.Receipt = &receipt
	return created{b}, err
}

func (l *Loop) listChats(ctx context.Context, id string) ([]Chat, error) {
	p, err := l.unlocked(id)
	if err != nil {
		return nil, err
	}
	var raw []rawChat
	if err := l.server.do(ctx, http.MethodGet, "/projects/"+id+"/chats", nil, &raw); err != nil {
		return nil, err
	}
	all := make([]Chat, len(raw))
	for i := range raw {
		all[i], err = p.openChat(raw[i], raw[i].ID)
		if errors.Is(err, errAltered) { // the others can be read
			all[i] = raw[i].Chat
			all[i].About, all[i].Unreadable, err = About{}, "damaged", nil
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// projectOf finds the unlocked project of a chat. What the server says of it is checked when the
// chat is opened.
func (l *Loop) projectOf(ctx context.Context, chat string) (*project, error) {
	var raw rawChat
	if err := l.server.do(ctx, http.MethodGet, "/chats/"+url.PathEscape(chat), nil, &raw); err != nil {
		return nil, err
	}
	return l.unlocked(raw.Project)
}

// joined gives a chat that is open here, and opens it otherwise.
func (l *Loop) joined(ctx context.Context, id string, take bool) (*open, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	l.mu.Lock()
	c := l.chats[id]
	l.mu.Unlock()
	if c != nil {
		return c, nil
	}
	p, err := l.projectOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if c, err = l.openChat(ctx, p, id, take); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chats[id] = c
	return c, nil
}

// close ends a chat here. What runs is stopped.
func (l *Loop) close(c *open) {
	l.mu.Lock()
	if l.chats[c.id] != c {
		l.mu.Unlock()
		return
	}
	delete(l.chats, c.id)
	l.mu.Unlock()
	_ = c.face.Close()
	_ = c.session.Close() // what it could not write was not acknowledged
	c.note(l)
	c.release(l)
	c.stop()
}

// lock closes the chats of a project and forgets its key.
func (l *Loop) lock(id string) {
	l.mu.Lock()
	var all []*open
	for _, c := range l.chats {
		if c.project.id == id {
			all = append(all, c)
		}
	}
	l.mu.Unlock()
	for _, c := range all {
		l.close(c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.projects, id)
}

// events tells the events of a chat until it or ctx ends.
func (l *Loop) events(ctx context.Context, request int64, query url.Values) error {
	which := query["session"]
	if len(which) != 1 {
		return problem(http.StatusBadRequest, "", "session: name one session in each stream, not %d", len(which))
	}
	id, at, found := strings.Cut(which[0], "@")
	var from session.Cursor
	if found {
		epoch, seq, _ := strings.Cut(at, ".")
		n, err := strconv.ParseUint(seq, 10, 64)
		if err != nil || epoch == "" {
			return problem(http.StatusBadRequest, "", "session: %q is not in the form ID@EPOCH.SEQ", which[0])
		}
		from = session.Cursor{Epoch: epoch, Seq: n}
	}
	c, err := l.joined(ctx, id, false)
	if err != nil {
		return err
	}
	face := c.session.Face("browser", query.Get("answers") == "true")
	defer face.Close() //nolint:errcheck // it only leaves
	feed := face.Events(from)
	cursor := func() string { return fmt.Sprintf("%s@%s.%d", id, feed.Cursor().Epoch, feed.Cursor().Seq) }
	var told session.Facts
	tell := func(at string, first bool) {
		now := face.Facts()
		if first || !told.Same(&now) {
			told = now
			l.post(Reply{ID: request, Event: &Event{at, struct {
				Session string         `json:"session"`
				Facts   *session.Facts `json:"facts"`
			}{id, &now}}})
		}
	}
	tell(cursor(), true)
	for {
		e, err := feed.Next(ctx)
		if err != nil {
			l.post(Reply{ID: request, Event: &Event{Data: struct {
				Session string           `json:"session"`
				Ended   *session.Failure `json:"ended"`
			}{id, session.FailureOf(err)}}})
			return nil
		}
		if e.Type != agent.MessageUpdate && e.Type != agent.ToolUpdate && e.Type != session.CommandOutput {
			tell("", false)
		}
		l.post(Reply{ID: request, Event: &Event{cursor(), struct {
			Session string        `json:"session"`
			Event   session.Event `json:"event"`
		}{id, e}}})
	}
}
