// Package rpc is the face for programs: commands come in as lines of JSON, responses and
// events go out as lines of JSON.
//
// The commands are those of the pi family's RPC mode, and "burin/…" for everything else that
// a handle offers. The table in commands.go has all of them. Events go out in the family's
// shapes or, for the JSON mode with input, as docs/events.md has them.
//
// One goroutine reads, one runs the commands that change something, in the order in which
// they came, and one hands in messages. Commands that take long run beside them. Events are
// read from the session's feed, so a client that stops reading holds up nobody: the feed
// drops pieces, and reading stops when too much waits to be done.
package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Wish says which session to open.
type Wish struct {
	First  bool   // the one that the flags describe
	Resume string // the file of a session to continue; "" is a new one
	Parent string // of a new one: the session that it comes from
}

// Host is the program around the face, as far as commands need it. Its methods may be called
// from any goroutine, and take their time.
type Host interface {
	// Models are the models and the keys to them, opened at the first call.
	Models() (*connect.Models, error)
	// FileCommands are the commands that are files.
	FileCommands() *files.Set
	// Archive is what is done with sessions as a whole.
	Archive() (Archive, error)
}

// Archive is what the face does with sessions as a whole.
type Archive interface {
	// Branch copies a session up to an entry.
	Branch(ctx context.Context, which, entry string) (archive.Created, error)
	Export(ctx context.Context, o archive.ExportOptions) (archive.Exported, error)
}

var _ Archive = (*archive.Archive)(nil)

// Options of a face. In, Out, Open and Host are required.
type Options struct {
	In   io.Reader // lines; its reads need not end with the face
	Out  io.Writer
	Open func(ctx context.Context, w Wish) (session.Handle, error)
	Host Host
	// Scope are patterns of the models that cycle_model goes through; nil: all usable ones.
	Scope []string
	// Events writes events as docs/events.md has them, and stays after the end of In until
	// all work has settled. Without it, events have the family's shapes, and the end of In
	// ends the face.
	Events bool
	// Prompt is submitted first; without content it is none.
	Prompt llm.Message
	// Patience is how long a question waits for a client that has not answered any yet; 0:
	// for as long as it takes.
	Patience time.Duration
}

// Limits.
const (
	MaxLine     = 64 << 20  // bytes of a line
	maxPending  = 128 << 20 // bytes of lines that were read and are not done
	maxQueued   = 256       // commands that wait for those before them
	maxBeside   = 64        // commands that run beside the others
	maxSpooled  = 1 << 20   // bytes of output that a slow client has not read
	idleTime    = 10 * time.Second
	farewell    = time.Second // that the last lines may take to be read
	recheckTime = 100 * time.Millisecond
)

// Run serves the client until its input ends, ctx does, or nobody reads the output. The
// outcome is that of the last message that was submitted here and has settled. The error is
// why the session could not be opened or continued.
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

// face is one client. What is done for it ends with ctx.
type face struct {
	o      Options
	ctx    context.Context
	end    context.CancelCauseFunc
	out    *output
	gate   sync.Mutex // held while a message is handed in and acknowledged: its events come behind that
	lane   chan *job  // commands in their order
	post   chan *job  // messages in their order
	room   *room
	beside chan struct{} // has as many as run beside the others
	doing  *tally        // commands that do, but for those that have no end of their own
	posted *tally        // messages that were read
	moving sync.Mutex    // held while the face goes to another session

	known map[string]*command // by type

	ready  chan struct{} // closed when the first session is open, or could not be opened
	failed error         // why it could not be; good then

	mu    sync.Mutex
	here  *seat
	left  []session.Handle            // sessions that others use, and that end with this process
	calls map[*job]context.CancelFunc // commands that run beside the others
	mine  []string                    // ids of messages that were submitted here, newest last
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

// leave ends the face: what waits is settled where that is wanted, sessions are closed, and
// the last lines are written.
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

// closeTime is how long the end may take: as long as a session takes for it at most, and
// the client to read the last lines.
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

// settle waits until nothing goes on that was begun.
func (f *face) settle(s *seat) {
	feed := s.h.Events(session.Cursor{})
	for f.ctx.Err() == nil && f.goesOn(s.h) {
		f.pause(feed)
	}
	f.caughtUp(s)
}

// goesOn reports whether something is under way, or will be by itself.
func (f *face) goesOn(h session.Handle) bool {
	if h.Facts().Working {
		return true
	}
	q, err := h.Queue().Waiting(f.ctx)
	return err == nil && !q.Held && len(q.Steering)+len(q.FollowUps) > 0
}

// pause waits for an event, or a moment: not all that ends is told by one.
func (f *face) pause(feed session.Feed) {
	ctx, cancel := context.WithTimeout(f.ctx, recheckTime)
	defer cancel()
	_, _ = feed.Next(ctx) // what it is does not matter
}

// caughtUp waits until the client has been sent what has happened.
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
			return // it reads no more
		}
	}
}

// outcome is that of the last message that was submitted here.
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
	if err != nil { // it is held, and waits for a person
		return agent.Outcome{Reason: agent.ReasonAborted, Err: session.ErrUnsent}
	}
	return out
}
