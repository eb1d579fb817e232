// Package server is the face for programs and pages: an HTTP API over the sessions of this
// machine, those of its terminals too. What a session can do is the table of methods that
// [remote] has for every connection; docs/serve.md says what a client sees, and openapi.json is
// made from the same table.
//
// Each request comes from a person: with a token, which has rights, or from a browser that is
// signed in. The sessions of this machine are for admins, who may do there what its owner may.
// The server therefore answers nobody else, listens where only this machine reaches it unless
// it has a certificate, and refuses requests whose Host or Origin is another's, which a page of
// the web would send.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/private"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/chats"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// Limits.
const (
	maxBody     = remote.MaxLine // bytes of a request; a larger one gets 413
	maxStreams  = 10_000         // event streams and attached clients at a time; more get 503
	maxFollowed = 100            // sessions of one event stream; more get 400
	writeTime   = 30 * time.Second
	headerTime  = 10 * time.Second
	beat        = 15 * time.Second // between comments on a stream without events
	reconnect   = 2 * time.Second  // after which clients of a server that ended connect again
	leastOpen   = 100              // handles among which those of ended sessions are not looked for
	recheck     = 5 * time.Second  // between looks whether the token of a request that goes on is still good
)

// ErrUnknown means that there is no such session.
var ErrUnknown = errors.New("unknown session")

// Who is who sends a request.
type Who struct {
	people.Who
	Peer bool // another server of the same database: it may join chats that are open here, and nothing else
}

// Options of a server. Those that may be nil say so.
type Options struct {
	Version string
	// Changes is what is new in this version and those before it, as Markdown.
	Changes string
	// People are those who may use it.
	People *people.People
	// Token is that of the owner, and PeerToken that of other servers of the same database. They are
	// in no database; "" is none.
	Token, PeerToken string
	// Host reports whether the server answers to a name, besides those of this machine. nil is no.
	Host func(name string) bool
	// Proxies are the addresses whose headers say who the client is.
	Proxies []netip.Prefix
	// Log is told of each request, without what it says. nil is not.
	Log *slog.Logger
	// Ready says why the server can't work; nil is that it can.
	Ready func(ctx context.Context) error
	// Drain waits until the sessions can end without a loss, or for as long as it may. nil is not.
	Drain func(ctx context.Context)
	// Open says how many sessions the server has open.
	Open func() int
	// Machines lists the sessions of other machines.
	Machines func(ctx context.Context) []Machine
	// List lists the sessions, newest first; limit is how many at most, 0 is all.
	List func(ctx context.Context, limit int) ([]Listed, error)
	// Projects keeps the projects and chats of people.
	Projects *project.Store
	// Finder finds what was said in chats.
	Finder *project.Finder
	// Attachments keeps files that people attach to chats.
	Attachments *project.Attachments
	// Private keeps what browsers sealed of private projects.
	Private *private.Store
	// Busy reports whether something is done in a chat, and End ends it if it is open.
	Busy func(chat string) bool
	End  func(ctx context.Context, chat string)
	// Export gives what writes all that is kept of a person, as a ZIP archive.
	Export func(ctx context.Context, by people.By, person string) (write func(io.Writer) error, err error)
	// Vault has the keys of people.
	Vault *vault.Vault
	// Used says what a person uses of their limits.
	Used func(ctx context.Context, person string) (quota.Used, error)
	// Spent says what a person has spent in the last days.
	Spent func(ctx context.Context, person string, days int) ([]quota.Spent, error)
	// Models lists the models that a person may use.
	Models func(ctx context.Context, person string) ([]host.Usable, error)
	// MayUse says why a person may not use the model of a selector.
	MayUse func(ctx context.Context, person, selector string) error
	// May says why somebody has no access to a session; the error is [ErrUnknown] for those who
	// don't even hear that there is one.
	May func(ctx context.Context, who Who, id string) error
	// Face opens or joins a session, with a handle whose Close leaves it. The error is [ErrUnknown]
	// if there is none. May was asked before.
	Face func(ctx context.Context, who Who, id string, v chats.Visit) (session.Handle, error)
	// Moved reports whether a session that ended here, or whose owner has gone, is at another
	// server, or about to be.
	Moved func(ctx context.Context, id string) bool
	// New begins a session.
	New func(ctx context.Context, who Who, n New) (Created, error)
	// Fork begins a session with a copy of another one's entries up to one of them, "" for all, in the
	// same folder. The error is [ErrUnknown] if there is none with that id.
	Fork func(ctx context.Context, id, entry string) (Created, error)
	// Watch has changed called when what the sessions of this machine do may have changed, until leave.
	// nil is not.
	Watch func(changed func()) (leave func())
	// Folders lists the folders in which a browser may begin sessions, or those in one of them.
	Folders func(ctx context.Context, path string) (Folders, error)
	// Providers are those with whose accounts people sign in.
	Providers []*oidc.Provider
	// Storage serves clients of GremlinOFA. nil is not.
	Storage *gremlin.API
	// Connections are the providers of models.
	Connections Connections
	// Push tells browsers what happened while nobody looked. nil is not.
	Push *push.Store
}

// Listed is a session in a list.
type Listed struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Folder   string    `json:"folder"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	// State is working, waiting (for an answer) or idle for a session that a process has open,
	// and missing otherwise.
	State    string  `json:"state,omitempty"`
	Question string  `json:"question,omitempty"` // that waits for an answer
	Cost     llm.USD `json:"cost,omitempty"`     // of an open session
	// Since is when the prompt of an open session began, or something was said last.
	Since  time.Time       `json:"since,omitzero"`
	Parent string          `json:"parent,omitempty"` // the id of the session from which it was forked
	Agents []session.Agent `json:"agents,omitempty"` // sub-agents of an open session that work or will
}

// Machine is another machine with its sessions.
type Machine struct {
	Name     string   `json:"name"`
	Address  string   `json:"address"` // where its own pages are, which open its sessions at /s/ID
	Sessions []Listed `json:"sessions"`
	Problem  string   `json:"problem,omitempty"` // why they aren't known
}

// New says how a session begins.
type New struct {
	Folder   string `json:"folder"`             // absolute
	Model    string `json:"model,omitempty"`    // a selector; "" is the default model
	Thinking string `json:"thinking,omitempty"` // off, minimal, low, medium, high, xhigh
	Mode     string `json:"mode,omitempty"`     // of approval
}

// Created is a session that has begun.
type Created struct {
	ID string `json:"id"`
}

// Server answers requests.
type Server struct {
	o       Options
	mux     *http.ServeMux
	streams chan struct{}
	counts  counts
	keys    *keys

	ctx  context.Context // of the streams
	stop context.CancelFunc
	past context.Context // canceled
	mu   sync.Mutex
	open map[string]session.Handle // for single requests, by id
	many int                       // of open, at which those that have ended are looked for
}

// New makes a server.
func NewServer(o Options) *Server {
	s := &Server{o: o, mux: http.NewServeMux(), streams: make(chan struct{}, maxStreams), open: map[string]session.Handle{}, keys: newKeys(o.Vault)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	past, cancel := context.WithCancel(context.Background())
	cancel()
	s.past = past
	for _, r := range s.routes() {
		s.mux.Handle(r.verb+" "+r.path, &r)
	}
	for _, p := range slices.Concat(s.accounts().pages(), appPages(), framed(s.o.Version), secluded{s.o.Private, s.o.Version}.pages()) {
		s.mux.Handle(p.path, p)
	}
	return s
}

// Serve answers on a listener until ctx ends. Then it takes no more requests, tells streams that it
// goes, waits for Drain, and lets requests that are under way finish for a moment.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ConnContext: expire}
	h.ErrorLog = log.New(io.Discard, "", 0) // that a device doesn't trust a certificate is between the two
	if s.o.Log != nil {
		h.ErrorLog = slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn)
	}
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	s.stop()
	_ = l.Close() // the server closes it, too
	h.SetKeepAlivesEnabled(false)
	if s.o.Drain != nil {
		s.o.Drain(context.WithoutCancel(ctx))
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := h.Shutdown(late); err != nil {
		_ = h.Close() // whoever still waits is cut off
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, handle := range s.open {
		_ = handle.Close() // it only leaves
	}
	clear(s.open)
	return nil
}

// Handler checks who asks, and answers.
func (s *Server) Handler() http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = s.identified(r)
		if s.answered(w, r, origins) {
			return
		}
		began := time.Now()
		to, pattern := s.mux.Handler(r)
		r, leave := s.admit(w, r, to)
		if r == nil {
			return
		}
		defer leave()
		seen := &measured{ResponseWriter: w}
		told := &problems{ResponseWriter: seen, asked: r}
		defer func() { s.note(r, seen.status, told.cause, began) }()
		defer told.tell("what is there is another one than the request says")
		w = told
		if ofPeople(to) {
			r.Body = http.MaxBytesReader(w, r.Body, maxAccount)
			_ = http.NewResponseController(w).SetReadDeadline(began.Add(accountTime)) // where there is none, the sender may take longer
		} else {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		if pattern == "" {
			s.nowhere(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// answered sets what all answers have, and answers what needs no right and what nobody may ask;
// false: it is neither.
//
// It and admit are functions of their own because the caller stays on the stack of a stream.
func (s *Server) answered(w http.ResponseWriter, r *http.Request, origins *http.CrossOriginProtection) bool {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Content-Security-Policy", "default-src 'none'")
	head.Set("X-Content-Type-Options", "nosniff")
	if secure(r) && !local(hostOf(r.Host)) { // of this machine's names other servers have pages, too
		head.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if !s.named(r.Host) {
		fail(w, http.StatusMisdirectedRequest, "", fmt.Errorf("this server does not answer to %q: burin serve --host adds a name", r.Host))
		return true
	}
	if s.stored(w, r) {
		return true
	}
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := origins.Check(r); err != nil {
		fail(w, http.StatusForbidden, "", errors.New("a page of another origin may not ask this server"))
		return true
	}
	if r.URL.Path == "/healthz" && r.Method == http.MethodGet {
		fmt.Fprintln(w, "ok")
		return true
	}
	if r.URL.Path == "/readyz" && r.Method == http.MethodGet {
		if err := s.o.Ready(r.Context()); err != nil || s.ctx.Err() != nil { // who may not ask isn't told why
			fail(w, http.StatusServiceUnavailable, "", errors.New("the server can't work now: burin serve --check says why"))
			return true
		}
		fmt.Fprintln(w, "ok")
		return true
	}
	return false
}

// admit finds who sends a request for what to serves. They are in the request that it returns, which
// ends when they may not go on, and with leave. nil: they may not, and were told.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, to http.Handler) (admitted *http.Request, leave func()) {
	who, err := s.who(w, r)
	if err != nil {
		if s.o.Log != nil && r.Context().Err() == nil {
			s.o.Log.Error("who asks", "error", err.Error())
		}
		unable(w, err)
		return nil, nil
	}
	p, form := to.(page)
	if err := sameOrigin(r, who, form); err != nil {
		fail(w, http.StatusForbidden, "", err)
		return nil, nil
	}
	o, operation := to.(*route)
	switch {
	case who.Rights != "" || operation && o.open || p.open:
		ctx, cancel := context.WithCancel(context.WithValue(r.Context(), whoKey{}, who))
		unwatch := s.watch(r, who, cancel)
		return r.WithContext(ctx), func() { unwatch(); cancel() }
	case form:
		http.Redirect(w, r, "/signin", http.StatusSeeOther)
	default:
		s.counts.wrong.Add(1)
		w.Header().Set("WWW-Authenticate", `Bearer realm="burin"`)
		fail(w, http.StatusUnauthorized, "", errors.New("send a token of this server: Authorization: Bearer TOKEN; burin serve says where its own is, and burin admin token add makes others. In a browser, sign in at /signin"))
	}
	return nil, nil
}

// ofPeople reports whether what to serves is about people.
func ofPeople(to http.Handler) bool {
	if o, ok := to.(*route); ok {
		return o.people
	}
	_, form := to.(page)
	return form
}

// nowhere answers a request that nothing is there for.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	var takes []string
	for _, verb := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = verb
		if _, pattern := s.mux.Handler(other); pattern != "" {
			takes = append(takes, verb)
		}
	}
	if takes != nil {
		w.Header().Set("Allow", strings.Join(takes, ", "))
		fail(w, http.StatusMethodNotAllowed, "", fmt.Errorf("%s takes %s", r.URL.Path, strings.Join(takes, ", ")))
		return
	}
	fail(w, http.StatusNotFound, "", fmt.Errorf("nothing is at %s: /v1/openapi.json lists what there is", r.URL.Path))
}

// named reports whether the server answers to a Host header: a page whose name an attacker lets
// point to 127.0.0.1 sends its own.
func (s *Server) named(host string) bool {
	host = hostOf(host)
	return local(host) || s.o.Host != nil && s.o.Host(host)
}

// hostOf is the name in a Host header.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// local reports whether a name is this machine's.
func local(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// enter counts a stream; false: there are too many.
func (s *Server) enter(w http.ResponseWriter) (leave func(), ok bool) {
	select {
	case s.streams <- struct{}{}:
		return func() { <-s.streams }, true
	default:
		fail(w, http.StatusServiceUnavailable, "", fmt.Errorf("there are %d streams already", maxStreams))
		return nil, false
	}
}

// handle gives the handle for single requests in a session. It is shared and stays.
func (s *Server) handle(r *http.Request, id string) (session.Handle, error) {
	ctx := r.Context()
	if err := s.o.May(ctx, sender(r), id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	h := s.open[id]
	s.mu.Unlock()
	if h != nil {
		if !s.over(h) {
			return h, nil
		}
		s.forget(id, h)
	}
	h, err := s.o.Face(ctx, sender(r), id, chats.Visit{Name: "burin serve"})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.open[id]; other != nil {
		_ = h.Close() // it only leaves
		return other, nil
	}
	s.open[id] = h
	if len(s.open) > s.many {
		for id, h := range s.open {
			if s.over(h) {
				delete(s.open, id)
			}
		}
		s.many = max(2*len(s.open), leastOpen)
	}
	return h, nil
}

// Ended drops the handle of a session that has ended, which would keep all of it in memory.
func Ended(s *Server, id string) {
	s.mu.Lock()
	h := s.open[id]
	s.mu.Unlock()
	if h != nil {
		s.forget(id, h)
	}
}

// over reports whether a session has ended here, or its owner has gone: it may go on elsewhere.
func (s *Server) over(h session.Handle) bool {
	if c := remote.Behind(h); c != nil {
		return c.Gone()
	}
	err := s.state(h)
	return errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrOwnerGone)
}

// state is why a session says nothing more.
func (s *Server) state(h session.Handle) error {
	_, err := h.Events(session.Cursor{}).Next(s.past)
	return err
}

// forget drops a handle whose session has ended, or whose owner has gone.
func (s *Server) forget(id string, h session.Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == h {
		delete(s.open, id)
	}
	_ = h.Close() // it only leaves
}
