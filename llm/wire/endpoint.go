package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Default time-outs of a stream. A thinking model may be silent for long
// before its first event; none is silent for two minutes in the middle.
const (
	DefaultFirstEvent = 100 * time.Second
	DefaultIdle       = 120 * time.Second
)

// maxErrorBody is how much of an error answer is read, in bytes.
const maxErrorBody = 64 << 10

// Endpoint is where and how a codec sends its requests. Codecs embed it in
// their options. The zero value of each field has a usable meaning.
type Endpoint struct {
	BaseURL string            // without the operation's path; empty = the vendor's own
	Headers map[string]string // sent with each request; they win over the codec's own
	// Key gives the credential of one request; nil or "" sends none. It is called
	// once per request, so a key may change between requests.
	Key func(ctx context.Context) (string, error)
	// Client is the HTTP client to use; nil = [DefaultClient].
	Client *http.Client
	// FirstEvent and Idle limit how long the other side may be silent before its
	// first frame and after it, while the reader waits; 0 = the default, negative
	// = no limit. There is no limit on the whole.
	FirstEvent time.Duration
	Idle       time.Duration
	Transform  Transform
}

// Transform shapes requests for endpoints that mimic a vendor imperfectly.
type Transform struct {
	// StripHeaders are removed from the codec's and the endpoint's headers,
	// case-insensitively.
	StripHeaders []string
	// SetHeaders are set after stripping; an empty value removes the header.
	SetHeaders map[string]string
	// ExtraBody is merged shallowly into the body, after the request's own Extra.
	// Keys that carry the conversation are ignored.
	ExtraBody map[string]any
}

// Decoder turns the frames of one answer into a message. One is made per answer.
type Decoder interface {
	// Decode reports what the frame holds to b. An error ends the stream; an
	// [*llm.Error] is passed on as it is, any other becomes a transport error.
	// After b.Done or b.Fail no more frames come.
	Decode(f Frame, b *llm.Builder) error
	// End is called when the connection ended in a regular way before b.Done
	// or b.Fail. It calls b.Done if the answer is complete nevertheless;
	// otherwise the stream ends with a transport error.
	End(b *llm.Builder)
}

// Call is one exchange, prepared by a codec.
type Call struct {
	Request *llm.Request
	API     llm.API
	// Build makes the HTTP request. It runs at once, in the background, with the
	// context that bounds the exchange.
	Build func(ctx context.Context) (*http.Request, error)
	// Frames reads the framing of the answer; nil = [NewFrames].
	Frames  func(io.Reader) FrameReader
	Decoder Decoder
	// Classify refines the sorting of an HTTP error; nil = [Classify].
	Classify func(status int, header http.Header, body []byte) *llm.Error
}

// Stream starts the exchange and returns its stream. The request goes out at
// once, in the background; the answer is read only as the reader pulls.
func (e *Endpoint) Stream(ctx context.Context, c Call) llm.Stream {
	m := llm.Message{API: c.API}
	if c.Request.Model != nil {
		m.Provider, m.Model = c.Request.Model.Provider, c.Request.Model.ID
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{
		call: c, ctx: ctx, cancel: cancel, builder: llm.NewBuilder(m),
		first: orDefault(e.FirstEvent, DefaultFirstEvent), idle: orDefault(e.Idle, DefaultIdle),
		answered: make(chan struct{}),
	}
	s.watchdog = time.AfterFunc(time.Hour, func() {
		if s.begun.Load() {
			cancel(errIdle)
		} else {
			cancel(errFirstEvent)
		}
	})
	s.watch(0) // until somebody waits
	go s.send(e)
	return s
}

// orDefault is d, def where d is 0, and 0 (no limit) where d is negative.
func orDefault(d, def time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return def
	}
	return d
}

// Why the context of an exchange ended, apart from the caller's own reasons.
var (
	errFirstEvent = errors.New("no first event")
	errIdle       = errors.New("idle")
	errClosed     = errors.New("closed by the reader")
	errOver       = errors.New("over")
)

type stream struct {
	call    Call
	ctx     context.Context
	cancel  context.CancelCauseFunc
	builder *llm.Builder

	watchdog    *time.Timer // cancels ctx when a frame is too long in coming
	first, idle time.Duration
	begun       atomic.Bool // the first frame is there

	answered chan struct{} // closed when resp or err is set
	resp     *http.Response
	err      error

	frames  FrameReader
	release sync.Once
}

// watch allows d for the next frame; 0 is no limit.
func (s *stream) watch(d time.Duration) {
	if d > 0 {
		s.watchdog.Reset(d)
	} else {
		s.watchdog.Stop()
	}
}

// send does the exchange up to the head of the answer.
func (s *stream) send(e *Endpoint) {
	defer close(s.answered)
	req, err := s.call.Build(s.ctx)
	if err != nil {
		s.err = err
		return
	}
	client := e.Client
	if client == nil {
		client = DefaultClient()
	}
	s.resp, s.err = client.Do(req)
}

// Next gives the next event, reading frames as needed.
func (s *stream) Next() (llm.Event, bool) {
	for {
		if ev, ok := s.builder.Next(); ok {
			if ev.Type == llm.EventDone {
				s.finish()
			} else if ev.Type == llm.EventError {
				s.Close()
			}
			return ev, true
		}
		if s.builder.Ended() {
			return llm.Event{}, false
		}
		s.advance()
	}
}

// advance waits for one frame and decodes it.
func (s *stream) advance() {
	if s.frames == nil && !s.begin() {
		return
	}
	if s.begun.Load() {
		s.watch(s.idle)
	}
	f, err := s.frames.Next()
	s.begun.Store(true)
	s.watch(0)
	switch {
	case s.ctx.Err() != nil:
		s.builder.Fail(s.failure(s.ctx.Err()))
	case err == io.EOF:
		s.call.Decoder.End(s.builder)
		if !s.builder.Ended() {
			s.builder.Fail(s.failure(io.ErrUnexpectedEOF))
		}
	case err != nil:
		s.builder.Fail(s.failure(err))
	default:
		if err := s.call.Decoder.Decode(f, s.builder); err != nil {
			s.builder.Fail(s.failure(err))
		}
	}
}

// begin waits for the head of the answer and says whether frames follow.
func (s *stream) begin() bool {
	s.watch(s.first) // from now on somebody waits
	select {
	case <-s.answered:
	case <-s.ctx.Done():
		s.builder.Fail(s.failure(s.ctx.Err()))
		return false
	}
	if s.err != nil {
		s.builder.Fail(s.failure(s.err))
		return false
	}
	if s.resp.StatusCode/100 != 2 {
		body, _ := io.ReadAll(io.LimitReader(s.resp.Body, maxErrorBody))
		if s.ctx.Err() != nil {
			s.builder.Fail(s.failure(s.ctx.Err()))
			return false
		}
		classify := s.call.Classify
		if classify == nil {
			classify = Classify
		}
		s.builder.Fail(classify(s.resp.StatusCode, s.resp.Header, body))
		return false
	}
	if strings.HasPrefix(s.resp.Header.Get("Content-Type"), "text/html") {
		s.builder.Fail(&llm.Error{Kind: llm.ErrInvalidRequest, Message: s.resp.Request.URL.Host + " answered with a web page: is the base URL right?"})
		return false
	}
	if s.call.Frames != nil {
		s.frames = s.call.Frames(alive{s})
	} else {
		s.frames = NewFrames(alive{s})
	}
	return true
}

// alive reads the body of the answer. Every piece of it shows that the other
// side is there, also comments, which vendors send while a request waits its
// turn.
type alive struct{ s *stream }

func (a alive) Read(p []byte) (int, error) {
	n, err := a.s.resp.Body.Read(p)
	if n > 0 && a.s.begun.Load() {
		a.s.watch(a.s.idle)
	} else if n > 0 {
		a.s.watch(a.s.first)
	}
	return n, err
}

// failure says what ended the exchange.
func (s *stream) failure(err error) *llm.Error {
	switch cause := context.Cause(s.ctx); {
	case cause == nil:
	case errors.Is(cause, errFirstEvent):
		return &llm.Error{Kind: llm.ErrStalled, Message: fmt.Sprintf("no answer began within %s", s.first)}
	case errors.Is(cause, errIdle):
		return &llm.Error{Kind: llm.ErrStalled, Message: fmt.Sprintf("the answer stood still for %s", s.idle)}
	default:
		return &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: cause}
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &llm.Error{Kind: llm.ErrTransport, Message: "the connection ended before the answer did", Err: err}
	}
	return TransportError(err)
}

// Close ends the exchange at once. It may run while another goroutine is in
// Next, which then sees the cancelled context.
func (s *stream) Close() error {
	s.release.Do(func() {
		s.cancel(errClosed)
		s.watchdog.Stop()
		go func() {
			<-s.answered
			if s.resp != nil {
				s.resp.Body.Close()
			}
		}()
	})
	return nil
}

// finish frees the connection of a complete answer. What is left of the body,
// normally a few bytes, is read so that the connection can be used again.
func (s *stream) finish() {
	s.release.Do(func() {
		s.watch(drainTime)
		go func() {
			_, _ = io.CopyN(io.Discard, s.resp.Body, drainBytes)
			s.resp.Body.Close()
			s.watchdog.Stop()
			s.cancel(errOver)
		}()
	})
}

// How much of a finished answer is waited for.
const (
	drainTime  = time.Second
	drainBytes = 16 << 10
)
