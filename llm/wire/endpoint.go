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

// Default timeouts of a stream. A thinking model may be silent for long
// before its first event; none is silent for two minutes in the middle. Signs of
// life without content are what a provider sends while a request waits its turn or a
// model thinks unseen, and neither takes longer than half an hour.
const (
	DefaultFirstEvent = 100 * time.Second
	DefaultIdle       = 120 * time.Second
	DefaultNoContent  = 30 * time.Minute
)

// maxErrorBody is how much of an error answer is read, in bytes.
const maxErrorBody = 64 << 10

// Endpoint is where and how a codec sends its requests. Codecs embed it in
// their options. The zero value of each field has a usable meaning.
type Endpoint struct {
	BaseURL string            // without the operation's path; empty = the provider's own
	Headers map[string]string // sent with each request; they win over the codec's own
	// Key returns the credential of one request; nil or "" sends none. It is called
	// once per request, so a key may change between requests.
	Key func(ctx context.Context) (string, error)
	// Client is the HTTP client to use; nil = [DefaultClient].
	Client *http.Client
	// FirstEvent and Idle limit how long the other side may be silent before its
	// first frame and after it, while the reader waits; 0 = the default, negative
	// = no limit. There is no limit on the whole.
	FirstEvent time.Duration
	Idle       time.Duration
	// NoContent limits how long the other side may send nothing but signs of life,
	// such as comments and pings, while the reader waits; 0 = the default, negative =
	// no limit.
	NoContent time.Duration
	Transform Transform
}

// Transform shapes requests for endpoints that mimic a provider imperfectly.
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
		noContent: orDefault(e.NoContent, DefaultNoContent),
		answered:  make(chan struct{}),
	}
	s.builder.Limit(llm.AnswerLimit(c.Request))
	s.watchdog = time.AfterFunc(time.Hour, func() {
		switch {
		case s.starved.Load():
			cancel(errNoContent)
		case s.begun.Load():
			cancel(errIdle)
		default:
			cancel(errFirstEvent)
		}
	})
	s.watch(0) // until somebody waits
	go s.send(e)
	return llm.Prefilled(s, c.Request)
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
	errNoContent  = errors.New("no content")
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

	// Time without content counts only while the reader waits for the body.
	noContent time.Duration
	starved   atomic.Bool // the watchdog waits for content, not for a sign of life
	received  int         // by the builder, when content last came
	waited    time.Duration
	empty     int // bytes since then

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

// Next returns the next event, reading frames as needed.
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
	f, err := s.frames.Next()
	s.begun.Store(true)
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

// begin waits for the head of the answer and reports whether frames follow.
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
	packed := s.packed()
	if s.resp.StatusCode/100 != 2 {
		var body []byte
		if packed == "" {
			body, _ = io.ReadAll(io.LimitReader(s.resp.Body, maxErrorBody))
		}
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
	if packed != "" {
		s.builder.Fail(&llm.Error{Kind: llm.ErrInvalidRequest, Message: fmt.Sprintf(
			"%s answered with a stream packed by %s, which was not asked for: turn compression off there, or in the proxy between", s.resp.Request.URL.Host, packed)})
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

// packed names the compression of the answer, if it has one. None was asked for, and
// none is undone: a small body would become a large one.
func (s *stream) packed() string {
	switch name := strings.ToLower(strings.TrimSpace(s.resp.Header.Get("Content-Encoding"))); name {
	case "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress":
		return name
	}
	return "" // some servers name an encoding of characters here
}

// maxEmpty is how many bytes may come without content. A flood of signs of life
// leaves no time to wait for.
const maxEmpty = 2 * MaxFrame

// alive reads the body of the answer. Every piece of it shows that the other
// side is there, also comments, which providers send while a request waits its
// turn; but not for ever.
type alive struct{ s *stream }

func (a alive) Read(p []byte) (int, error) {
	s := a.s
	limit := s.first
	if s.begun.Load() {
		limit = s.idle
	}
	if s.noContent <= 0 {
		s.watch(limit)
		defer s.watch(0)
		return s.resp.Body.Read(p)
	}
	if n := s.builder.Received(); n != s.received {
		s.received, s.waited, s.empty = n, 0, 0
	}
	left := s.noContent - s.waited
	if left <= 0 || s.empty > maxEmpty {
		s.cancel(errNoContent)
		return 0, errNoContent
	}
	starved := limit <= 0 || left < limit
	if starved {
		limit = left
	}
	s.starved.Store(starved)
	s.watch(limit)
	began := time.Now()
	n, err := s.resp.Body.Read(p)
	s.watch(0)
	s.waited += time.Since(began)
	s.empty += n
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
	case errors.Is(cause, errNoContent):
		return &llm.Error{Kind: llm.ErrStalled, Message: fmt.Sprintf("the answer brought only signs of life and no content (limit: %s or %d MiB)", s.noContent, maxEmpty>>20)}
	default:
		return &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: cause}
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, ErrFrameTooLarge) {
		return &llm.Error{Kind: llm.ErrAnswerLimit, Message: "answer ended: " + err.Error(), Err: err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &llm.Error{Kind: llm.ErrTransport, Message: "the connection ended before the answer did", Err: err}
	}
	return TransportError(err)
}

// Close ends the exchange at once. It may run while another goroutine is in
// Next, which then sees the canceled context.
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
