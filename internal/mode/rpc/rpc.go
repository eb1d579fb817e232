// Package rpc is the face for programs: commands come in as lines of JSON, responses and
// events go out as lines of JSON.
//
// The commands are those of the pi family's RPC mode, plus "burin/…" for everything else that a
// session handle offers; the table in commands.go lists them. Events have the family's shapes
// or, in JSON mode with input, those of docs/events.md.
//
// One goroutine reads lines, one runs the commands that change something, in order of arrival,
// and one submits messages. Slow commands run in their own goroutines. Events come from the
// session's feed, so a client that stops reading delays nobody: the feed drops pieces, and
// burin reads no more commands while too many are pending.
package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Wish says which session to open.
type Wish struct {
	First  bool   // the session that the flags describe
	Resume string // the session file to resume; "": a new session
	Parent string // the session that a new one was branched from
}

// Host is what commands need from the program around the face. Any goroutine may call its
// methods, which may block.
type Host interface {
	// Models returns the models and their keys; the first call opens them.
	Models() (*connect.Models, error)
	// FileCommands returns the commands defined in files.
	FileCommands() *files.Set
	// Skills returns the skills of the folder.
	Skills() *skill.Set
	// Archive returns the operations on whole sessions.
	Archive() (Archive, error)
}

// Archive has the operations on whole sessions that the face needs.
type Archive interface {
	// Branch copies a session up to an entry.
	Branch(ctx context.Context, which, entry string) (archive.Created, error)
	Export(ctx context.Context, o archive.ExportOptions) (archive.Exported, error)
}

var _ Archive = (*archive.Archive)(nil)

// Options of a face. In, Out, Open and Host are required.
type Options struct {
	In   io.Reader // lines; a read may outlive the face
	Out  io.Writer
	Open func(ctx context.Context, w Wish) (session.Handle, error)
	Host Host
	// Own is what the host does for burin's own commands in prompts.
	Own slash.Own
	// Scope has patterns for the models that cycle_model switches between; nil: all available.
	Scope []string
	// Events writes events as docs/events.md describes them, and keeps the face running after
	// the end of In until all work has settled. Without it, events have the family's shapes,
	// and the face ends with In.
	Events bool
	// Prompt is submitted first, unless it has no content.
	Prompt llm.Message
	// Patience is how long a question waits for a client that has not answered any so far; 0:
	// without limit.
	Patience time.Duration
}

// Limits.
const (
	MaxLine     = 64 << 20  // bytes of a line
	maxPending  = 128 << 20 // bytes of pending commands
	maxQueued   = 256       // commands that wait for earlier ones
	maxBeside   = 64        // commands that run concurrently
	maxSpooled  = 1 << 20   // bytes of command output that the client has not read
	idleTime    = 10 * time.Second
	farewell    = time.Second // for the client to read the last lines
	recheckTime = 100 * time.Millisecond
)

// Run serves the client until its input or ctx ends or nobody reads the output. The outcome is
// that of the last message submitted here. The error says why the session could not be opened
// or continued.
func Run(ctx context.Context, o Options) (agent.Outcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := &face{
		o: o, ctx: ctx, end: stop, ready: make(chan struct{}),
		out:  newOutput(o.Out, func(err error) { stop(errUnread) }),
		lane: make(chan *job, maxQueued), post: make(chan *job, maxQueued),
		known: commands(), room: newRoom(maxPending), beside: make(chan struct{}, maxBeside), doing: newTally(), posted: newTally(), calls: map[*job]context.CancelFunc{},
	}
	return f.run()
}

// ErrRefused means that a call was refused because the input had ended.
var ErrRefused = errors.New("a call was refused: nobody could be asked, as standard input had ended; --approval and --allow say what runs without a question")

// errUnread means that nobody reads the output any more.
var errUnread = errors.New("nobody reads the output")

// face serves one client. Everything that it started ends with ctx.
type face struct {
	o      Options
	ctx    context.Context
	end    context.CancelCauseFunc
	out    *output
	gate   sync.Mutex // held while a message is submitted and acknowledged, so its events come after the response
	lane   chan *job  // commands, in order
	post   chan *job  // messages, in order
	room   *room
	beside chan struct{} // one element for each concurrent command
	doing  *tally        // concurrent commands that end by themselves
	posted *tally        // messages
	moving sync.Mutex    // held while the face switches sessions

	known map[string]*command // by type

	ready  chan struct{} // closed when the first session is open, or could not be opened
	failed error         // why it could not be opened; valid once ready is closed

	mu    sync.Mutex
	here  *seat
	left  []session.Handle            // sessions that were left while others used them; they end with this process
	calls map[*job]context.CancelFunc // concurrent commands
	mine  []string                    // ids of messages submitted here, newest last
}

func (f *face) run() (agent.Outcome, error) {
	defer f.out.close()
	if f.o.Events {
		f.out.send(session.EventHead())
	}
	go f.open()
	lanes := make(chan struct{})
	go func() { defer close(lanes); f.work() }()
	read := make(chan struct{})
	go func() { defer close(read); f.read() }()
	if len(f.o.Prompt.Content) > 0 {
		f.submitFirst()
	}
	select {
	case <-read:
		close(f.lane)
		select {
		case <-lanes:
		case <-f.ctx.Done():
		}
	case <-f.ctx.Done():
	}
	select {
	case <-f.ready:
	case <-f.ctx.Done():
		select { // a session that is being opened is closed, not left behind
		case <-f.ready:
		case <-time.After(farewell):
		}
	}
	return f.leave()
}

// open opens the first session.
func (f *face) open() {
	h, err := f.o.Open(f.ctx, Wish{First: true})
	if err != nil {
		f.failed = err
		f.end(err)
	} else {
		f.sit(h)
	}
	close(f.ready)
}

// leave ends the face. With Events it lets all work settle first; then it closes the sessions
// and writes the last lines.
func (f *face) leave() (out agent.Outcome, err error) {
	s := f.seat()
	if s == nil {
		select {
		case <-f.ready:
			return out, f.failed
		default: // it is still being opened
			return out, context.Cause(f.ctx)
		}
	}
	if f.o.Events {
		s.asks.close()
		f.doing.wait(f.ctx)
		f.settle(s)
		out = f.outcome(s)
	} else {
		ctx, cancel := context.WithTimeout(f.ctx, farewell)
		f.doing.wait(ctx)
		cancel()
	}
	failed := context.Cause(f.ctx)
	f.end(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = f.close(s)
		<-s.done
		f.out.flush()
	}()
	select {
	case <-done:
	case <-time.After(closeTime):
	}
	switch {
	case err != nil:
	case s.asks.refused() > 0 && out.Err == nil:
		err = ErrRefused
	case errors.Is(failed, context.Canceled), errors.Is(failed, errUnread):
	default:
		err = failed
	}
	return out, err
}

// closeTime limits how long closing the sessions and writing the last lines may take.
const closeTime = 8 * time.Second

// close closes all sessions.
func (f *face) close(s *seat) error {
	s.stop()
	f.mu.Lock()
	all := append([]session.Handle{s.h}, f.left...)
	f.mu.Unlock()
	var err error
	for _, h := range all {
		err = errors.Join(err, h.Close())
	}
	return err
}

// settle waits until all work is done.
func (f *face) settle(s *seat) {
	feed := s.h.Events(session.Cursor{})
	for f.ctx.Err() == nil && f.busy(s.h) {
		f.pause(feed)
	}
	f.caughtUp(s)
}

// busy reports whether something is running or queued to run.
func (f *face) busy(h session.Handle) bool {
	if h.Facts().Working {
		return true
	}
	q, err := h.Queue().Waiting(f.ctx)
	return err == nil && !q.Held && len(q.Steering)+len(q.FollowUps) > 0
}

// pause waits for an event, or a moment: not every end has an event.
func (f *face) pause(feed session.Feed) {
	ctx, cancel := context.WithTimeout(f.ctx, recheckTime)
	defer cancel()
	_, _ = feed.Next(ctx) // any event will do
}

// caughtUp waits until the client has been sent everything so far.
func (f *face) caughtUp(s *seat) {
	upTo := s.h.Events(session.Cursor{}).Cursor().Seq
	for f.ctx.Err() == nil {
		seq, more := s.read()
		if seq+1 >= upTo {
			return
		}
		select {
		case <-more:
		case <-s.done:
			return
		case <-f.ctx.Done():
		case <-time.After(farewell):
			return // the client has stopped reading
		}
	}
}

// outcome returns the outcome of the last message submitted here.
func (f *face) outcome(s *seat) (out agent.Outcome) {
	f.mu.Lock()
	mine := f.mine
	f.mu.Unlock()
	if len(mine) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(f.ctx, farewell)
	defer cancel()
	out, err := s.h.Conversation().Wait(ctx, mine[len(mine)-1])
	if err != nil { // the message is held in the queue
		return agent.Outcome{Reason: agent.ReasonAborted, Err: session.ErrUnsent}
	}
	return out
}
