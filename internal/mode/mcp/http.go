package mcp

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// maxSessions is how many sessions clients over HTTP have at a time; of more the oldest one ends.
const maxSessions = 64

// web serves clients over HTTP.
type web struct {
	server *Server
	token  string
	loose  *client // requests that belong to no session

	mu       sync.Mutex
	sessions map[string]*client
	order    []string // of their ids, the oldest first
}

// Handler serves clients over streamable HTTP that have the token, at any path.
func (s *Server) Handler(token string) http.Handler {
	return &web{server: s, token: token, loose: newClient(s, maxLoose), sessions: map[string]*client{}}
}

// local reports whether a host, with or without a port, is this machine.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && a.IsLoopback()
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	// A page that has its name lead to this machine reaches nothing, whatever it knows.
	origin := r.Header.Get("Origin")
	if u, err := url.Parse(origin); !local(r.Host) || origin != "" && (err != nil || !local(u.Host)) {
		http.Error(rw, "burin serves this machine only", http.StatusForbidden)
		return
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(w.token)) != 1 {
		rw.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(rw, "send the token that burin mcp serve has: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		return
	}
	rw.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case http.MethodPost:
		w.post(rw, r)
	case http.MethodDelete:
		id := r.Header.Get("Mcp-Session-Id")
		w.mu.Lock()
		c := w.remove(id)
		w.mu.Unlock()
		if c == nil {
			http.Error(rw, "no such session", http.StatusNotFound)
			return
		}
		c.cancelAll()
		rw.WriteHeader(http.StatusNoContent)
	default: // burin says nothing by itself
		rw.Header().Set("Allow", "POST, DELETE")
		http.Error(rw, "POST a message", http.StatusMethodNotAllowed)
	}
}

// remove forgets a session. The caller holds mu.
func (w *web) remove(id string) *client {
	c := w.sessions[id]
	if c != nil {
		delete(w.sessions, id)
		w.order = slices.DeleteFunc(w.order, func(o string) bool { return o == id })
	}
	return c
}

// begin begins a session.
func (w *web) begin() (id string, c *client) {
	id, c = rand.Text(), newClient(w.server, maxCalls)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == maxSessions {
		w.remove(w.order[0]).cancelAll()
	}
	w.sessions[id], w.order = c, append(w.order, id)
	return id, c
}

func (w *web) post(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxMessage))
	if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
		http.Error(rw, fmt.Sprintf("a message has at most %d MB", maxMessage>>20), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(rw, "the message did not arrive whole", http.StatusBadRequest)
		return
	}
	m, wrong := parse(body)
	if wrong != nil {
		reply(rw, http.StatusBadRequest, wrong)
		return
	}
	said := metaOf(m)
	given := r.Header.Get("Mcp-Protocol-Version")
	if given != "" && !older(given) || said.version != "" && !older(said.version) {
		w.stateless(rw, r, m, said)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	w.mu.Lock()
	c := w.sessions[id]
	w.mu.Unlock()
	switch {
	case m.Method == "initialize":
		id, c = w.begin()
		rw.Header().Set("Mcp-Session-Id", id)
	case id == "":
		http.Error(rw, "Mcp-Session-Id is missing: begin with initialize", http.StatusBadRequest)
		return
	case c == nil:
		http.Error(rw, "no such session: begin with initialize", http.StatusNotFound)
		return
	}
	if m.ID == nil {
		c.answer(r.Context(), m, func(*response) {})
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	ctx, end, ok := c.begin(r.Context(), string(m.ID))
	if !ok {
		reply(rw, http.StatusOK, &response{Version: "2.0", ID: m.ID, Error: errBusy})
		return
	}
	defer end()
	streams := m.Method == "tools/call" && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	event := events(rw)
	send := func(*response) {}
	if streams {
		send = event
	}
	a := c.answer(ctx, m, send)
	end() // its place is free before the client knows
	switch {
	case a == nil && !streams:
		rw.WriteHeader(http.StatusAccepted)
	case a == nil:
	case streams:
		event(a)
	default:
		reply(rw, http.StatusOK, a)
	}
}

// events writes messages to a stream. It may be used by several goroutines.
func events(rw http.ResponseWriter) func(*response) {
	var mu sync.Mutex
	return func(a *response) {
		line, err := json.Marshal(a)
		if err != nil {
			return // it is of our own types
		}
		mu.Lock()
		defer mu.Unlock()
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.Header().Set("X-Accel-Buffering", "no")
		fmt.Fprintf(rw, "event: message\ndata: %s\n\n", line)
		_ = http.NewResponseController(rw).Flush() // who is gone is noticed by the request's context
	}
}

// stateless answers a message that says which version it is of, and belongs to no session. A client that
// leaves cancels it.
func (w *web) stateless(rw http.ResponseWriter, r *http.Request, m request, said meta) {
	if m.ID == nil || m.Method == "" { // no notification means anything here
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	refuse := func(wrong *failure) {
		reply(rw, statusOf(wrong), &response{Version: "2.0", ID: m.ID, Error: wrong})
	}
	given := r.Header.Get("Mcp-Protocol-Version")
	if asked := cmp.Or(said.version, given); asked != newest && !older(asked) && (given == "" || given == asked) {
		refuse(unsupported(asked))
		return
	}
	if wrong := headersOf(r.Header, m, said); wrong != nil {
		refuse(wrong)
		return
	}
	if wrong := said.refusal(); wrong != nil {
		refuse(wrong)
		return
	}
	ctx, end, ok := w.loose.begin(r.Context(), rand.Text()) // ids are those of many clients
	if !ok {
		refuse(&failure{Code: codeBusy, Message: fmt.Sprintf("burin works on %d requests already", maxLoose)})
		return
	}
	defer end()
	send, streams := func(*response) {}, false
	if (m.Method == "tools/call" || m.Method == "subscriptions/listen") && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		event := events(rw)
		send = func(a *response) {
			streams = true
			event(a)
		}
	}
	a := w.loose.answer(ctx, m, send)
	end() // its place is free before the client knows
	switch {
	case a == nil: // the client is gone
	case streams:
		send(a)
	case a.Error != nil && a.Error.Code == codeMethod:
		reply(rw, http.StatusNotFound, a)
	default:
		reply(rw, http.StatusOK, a)
	}
}

func reply(rw http.ResponseWriter, status int, a *response) {
	line, err := json.Marshal(a)
	if err != nil {
		http.Error(rw, "the answer could not be written", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(line)
}
