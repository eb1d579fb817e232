package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// maxBody is the size limit of a request in bytes.
const maxBody = 256 << 20

// Server is a scripted model behind HTTP. It remembers every request, so its
// memory grows with the conversation.
type Server struct {
	URL string // base URL of the listener, without a final slash; empty without one

	formats []wire.Server
	script  Script

	mu       sync.Mutex
	requests []*llm.Request
	raw      []Raw
	sent     map[int]int // bytes of the body, by turn
	errs     []error

	quit  chan struct{} // closed by Close; ends stalls and pauses
	once  sync.Once
	http  *http.Server
	ended chan struct{}  // closed when the listener's loop has returned
	conns sync.WaitGroup // connections that are open
}

// Raw is a request as it came over the wire.
type Raw struct {
	Method string
	URL    string // path and query
	Header http.Header
	Body   []byte
}

// New makes a server without a listener, for those who bring their own
// transport. Of several formats, the first that matches a request answers it.
// Close ends what is under way.
func New(s Script, formats ...wire.Server) *Server {
	return &Server{formats: formats, script: s, quit: make(chan struct{})}
}

// Serve listens on a free port of the loopback interface and plays s in format
// f, and in more of them side by side: the turns are shared.
func Serve(f wire.Server, s Script, more ...wire.Server) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted model: %w", err)
	}
	srv := New(s, append([]wire.Server{f}, more...)...)
	srv.URL = "http://" + l.Addr().String()
	srv.ended = make(chan struct{})
	srv.http = &http.Server{Handler: srv, ConnState: srv.track, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(srv.ended)
		_ = srv.http.Serve(l) // returns when closed
	}()
	return srv, nil
}

// track counts open connections so that Close can wait for them. New
// connections are announced by the listener's loop itself.
func (s *Server) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	}
}

// Close ends all answers, closes all connections and returns when nothing of
// the server runs any more. It may be called more than once.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.quit)
		if s.http != nil {
			s.http.Close()
		}
	})
	if s.http != nil {
		<-s.ended
		s.conns.Wait()
	}
}

// Requests are the requests so far, as the format's server half reads them.
func (s *Server) Requests() []*llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Raw are the same requests as they came over the wire.
func (s *Server) Raw() []Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.raw)
}

// Sent is how many bytes of its body the answer of a turn had when it ended, counted from 0. ok
// is false while it goes on.
func (s *Server) Sent(turn int) (bytes int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, ok = s.sent[turn]
	return bytes, ok
}

func (s *Server) wrote(turn, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[int]int{}
	}
	s.sent[turn] = bytes
}

// Err is what was wrong with the requests so far: those that no format takes or
// can read, those a Check refused, and those that came after the script's end.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

func (s *Server) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// record keeps a request and gives its number, counted from 0.
func (s *Server) record(req *llm.Request, raw Raw) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	s.raw = append(s.raw, raw)
	return len(s.requests) - 1
}

// ServeHTTP answers one request with the next turn. Where a fault breaks the
// connection it panics with http.ErrAbortHandler, which net/http understands.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(s.formats, func(f wire.Server) bool { return f.Match(r) })
	if at < 0 {
		err := fmt.Errorf("no format of the script takes %s %s", r.Method, r.URL.Path)
		s.note(err)
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	format := s.formats[at]
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client went away, or its connection is closed for sending too much
	}
	req, stream, err := format.DecodeRequest(r, body)
	if err != nil {
		s.refuse(w, format, fmt.Errorf("request cannot be read: %w", err))
		return
	}
	n := s.record(req, Raw{Method: r.Method, URL: r.URL.RequestURI(), Header: r.Header.Clone(), Body: bytes.Clone(body)})
	if n >= len(s.script.Turns) {
		s.refuse(w, format, fmt.Errorf("the script has ended: request %d, but %d turns", n+1, len(s.script.Turns)))
		return
	}
	turn := &s.script.Turns[n]
	if turn.Check != nil {
		if err := turn.Check(req); err != nil {
			s.refuse(w, format, fmt.Errorf("request %d: %w", n+1, err))
			return
		}
	}
	p := play{srv: s, turn: turn, n: n, format: format, req: req, r: r, w: &faultyWriter{ResponseWriter: w, fault: &turn.Fault}}
	p.run(stream)
}

// refuse answers with an error that is the client's fault.
func (s *Server) refuse(w http.ResponseWriter, f wire.Server, err error) {
	s.note(err)
	f.EncodeError(w, &llm.Error{Kind: llm.ErrInvalidRequest, Status: http.StatusBadRequest, Message: err.Error()})
}
