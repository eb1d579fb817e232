package mcp

import (
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

	mu       sync.Mutex
	sessions map[string]*client
	order    []string // of their ids, the oldest first
}

// Handler serves clients over streamable HTTP that have the token, at any path.
func (s *Server) Handler(token string) http.Handler {
	return &web{server: s, token: token, sessions: map[string]*client{}}
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
	id, c = rand.Text(), newClient(w.server)
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
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" && !slices.Contains(versions, v) {
		http.Error(rw, "Mcp-Protocol-Version: burin speaks "+strings.Join(versions, ", "), http.StatusBadRequest)
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
	var mu sync.Mutex // of what is written
	streams := m.Method == "tools/call" && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	event := func(a *response) {
		line, err := json.Marshal(a)
		if err != nil {
			return // it is of our own types
		}
		mu.Lock()
		defer mu.Unlock()
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(rw, "event: message\ndata: %s\n\n", line)
		_ = http.NewResponseController(rw).Flush() // who is gone is noticed by ctx
	}
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
