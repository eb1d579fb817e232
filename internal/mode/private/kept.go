package private

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/burin-dev/burin/transcript"
)

// Problem is an error in the shape of the server's: RFC 9457.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }

// problem makes one.
func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{http.StatusText(status), status, fmt.Sprintf(format, args...), code}
}

// errAltered means that what the server gave is not what a browser of this project has kept.
var errAltered = problem(http.StatusConflict, "altered", "the server gives other data than was kept: something was changed, dropped or set back there. A backup of the server may have what is missing")

// server is where sealed data is kept.
type server struct {
	url    string
	client *http.Client
}

// do sends a request of /v1/private, and reads the answer into out.
func (s *server) do(ctx context.Context, verb, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, verb, s.url+"/v1/private"+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return problem(http.StatusServiceUnavailable, "", "the server can't be reached: %v", err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return problem(http.StatusServiceUnavailable, "", "read the server's answer: %v", err)
	}
	if answer.StatusCode >= 300 {
		p := &Problem{Status: answer.StatusCode, Title: answer.Status}
		_ = json.Unmarshal(data, p) // what is no problem has its status
		return p
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// store keeps the records of one chat. All of them are in memory, sealed; what is added is sent
// to the server first.
type store struct {
	ctx     context.Context
	server  *server
	chat    string
	lease   string
	records [][]byte
	kept    atomic.Int64 // how many there are
	unsure  bool         // whether the server has what was sent last
}

var _ transcript.Store = (*store)(nil)

func (s *store) path() string { return "/chats/" + s.chat + "/records" }

// read reads the records that aren't here yet.
func (s *store) read() error {
	for {
		var some struct {
			Records [][]byte `json:"records"`
			Total   int      `json:"total"`
		}
		path := s.path()
		if len(s.records) > 0 {
			path += "?from=" + strconv.Itoa(len(s.records))
		}
		if err := s.server.do(s.ctx, http.MethodGet, path, nil, &some); err != nil {
			return err
		}
		s.records = append(s.records, some.Records...)
		s.kept.Store(int64(len(s.records)))
		if len(s.records) >= some.Total {
			return nil
		}
		if len(some.Records) == 0 {
			return errAltered
		}
	}
}

// Records implements [transcript.Store].
func (s *store) Records(yield func(transcript.Ref, []byte) error) error {
	if err := s.sure(); err != nil {
		return err
	}
	for i, r := range s.records {
		if err := yield(transcript.Ref{Pos: int64(i), Len: int32(len(r))}, r); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [transcript.Store].
func (s *store) Read(ref transcript.Ref) ([]byte, error) {
	if ref.Pos < 0 || ref.Pos >= int64(len(s.records)) {
		return nil, errors.New("no such record")
	}
	return bytes.Clone(s.records[ref.Pos]), nil
}

// sure finds out what the server has, where an answer was lost.
func (s *store) sure() error {
	if !s.unsure {
		return nil
	}
	err := s.read()
	s.unsure = err != nil
	return err
}

// Append implements [transcript.Store].
func (s *store) Append(records ...[]byte) ([]transcript.Ref, error) {
	if err := s.sure(); err != nil {
		return nil, err
	}
	refs := make([]transcript.Ref, 0, len(records))
	for _, r := range records {
		if err := transcript.CheckRecord(r); err != nil {
			return nil, err
		}
		refs = append(refs, transcript.Ref{Pos: int64(len(s.records) + len(refs)), Len: int32(len(r))})
	}
	if len(records) == 0 {
		return refs, nil
	}
	err := s.server.do(s.ctx, http.MethodPost, s.path(), map[string]any{"lease": s.lease, "at": len(s.records), "records": records}, nil)
	if err == nil {
		for _, r := range records {
			s.records = append(s.records, bytes.Clone(r))
		}
		s.kept.Store(int64(len(s.records)))
		return refs, nil
	}
	p, answered := errors.AsType[*Problem](err)
	s.unsure = !answered || p.Status >= 500
	return nil, fmt.Errorf("keep what was said: %w", err)
}

// Sync implements [transcript.Store]: the server has answered when a record is safe.
func (s *store) Sync() error { return nil }

// Replace implements [transcript.Store]. The server only takes more records: what it has given back
// wrongly is not repaired, but refused.
func (s *store) Replace(iter.Seq[[]byte]) error { return errAltered }

// Close implements [transcript.Store].
func (s *store) Close() error { return nil }
