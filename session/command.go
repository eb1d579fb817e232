package session

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/transcript"
)

// CommandResult is the result of a command of the user's own.
type CommandResult struct {
	Output    string `json:"output"`   // cleaned, and limited like the output of tools; a notice at its end says what is left out
	ExitCode  int    `json:"exitCode"` // -1 if there is none
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"` // Output is incomplete
	Artifact  string `json:"artifact"`  // the complete output, "artifact://…"; "" if Output is complete, or nothing stores it
	Dir       string `json:"dir"`       // the shell's current folder, absolute
	EntryID   string `json:"entryId"`   // in the transcript
}

var (
	errNoShell   = errors.New("this session runs no commands")
	errNoCommand = errors.New("no command to run")
)

// Run runs a command of the user's own, in the folder and with the exported variables of the
// session's shell. It needs no permission and no sandbox confines it, because the user typed
// it. Later commands start in the folder in which it ends. If ctx ends it, it has no exit code
// and no error. An error means that it did not run; [ErrNotBegun] means that it was stopped
// before it started.
//
// The model reads the command and its output with the next request, unless private is set. The
// transcript has both in any case, without secrets. Secrets are hidden in each piece of output
// separately, as in pieces of answers.
//
// If nothing else runs, the command occupies the session: a prompt is refused meanwhile, Abort
// ends the command, and its changes are a turn of the undo journal. While a prompt runs, the
// command is like one in another window, so that the user can look around while the model
// works: it belongs to no turn, Abort ends the prompt and not the command, and the model reads
// it with its next request.
func (s *Session) Run(ctx context.Context, command string, private bool, output func(chunk string)) (CommandResult, error) {
	if strings.TrimSpace(command) == "" {
		return CommandResult{}, errNoCommand
	}
	alone, end, err := s.stage.wake(ctx)
	if errors.Is(err, ErrBusy) {
		return s.runBeside(ctx, command, private, output)
	}
	if err != nil {
		return CommandResult{}, err
	}
	defer end()
	s.compactor.refresh()
	s.openTurn("!" + s.redactor.hide(command))
	r, err := s.runCommand(alone, command, private, true, output)
	if err == nil && !private {
		if !s.compactor.adopt(r.EntryID) {
			s.outdated()
		}
	}
	return r, err
}

// runBeside runs a command while something else is running.
func (s *Session) runBeside(ctx context.Context, command string, private bool, output func(string)) (CommandResult, error) {
	ctx, end, err := s.stage.beside(ctx)
	if err != nil {
		return CommandResult{}, err
	}
	defer end()
	r, err := s.runCommand(ctx, command, private, false, output)
	if err == nil && !private {
		s.outdated()
	}
	return r, err
}

// runCommand runs a command and records it in the transcript.
func (s *Session) runCommand(ctx context.Context, command string, private, journal bool, output func(string)) (CommandResult, error) {
	show := func(chunk string) {
		chunk = s.redactor.hide(chunk)
		if output != nil {
			output(chunk)
		}
		s.rec.emit(Event{Event: agent.Event{Type: CommandOutput}, Text: chunk})
	}
	shown := s.redactor.hide(command)
	s.rec.emit(Event{Event: agent.Event{Type: CommandStart}, Text: shown})
	began := s.o.Now()
	ctx, end := s.own.begin(ctx)
	defer end()
	id := "!" + rand.Text()[:8]
	s.programs.begin(id, command)
	defer s.programs.end(id)
	r, err := s.o.Ground.Run(ctx, command, journal, show)
	if err != nil {
		s.rec.emit(Event{Event: agent.Event{Type: CommandEnd}, Text: shown})
		if errors.Is(err, errors.ErrUnsupported) {
			return r, errNoShell
		}
		if ctx.Err() != nil {
			return r, ErrNotBegun // the shell only reports that its context has ended
		}
		return r, s.redactor.err(err)
	}
	r.Output = s.redactor.hide(r.Output)
	x := transcript.Execution{
		Command: shown, Output: r.Output, Cancelled: r.Cancelled, Truncated: r.Truncated, Full: r.Artifact,
		Excluded: private, Timestamp: began.UnixMilli(),
	}
	if r.ExitCode >= 0 {
		x.ExitCode = &r.ExitCode
	}
	r.EntryID = s.rec.append(transcript.NewExecution(x))
	s.rec.emit(Event{Event: agent.Event{Type: CommandEnd}, EntryID: r.EntryID, Text: shown})
	return r, nil
}

// commands are the user's own running commands.
type commands struct {
	mu    sync.Mutex
	stops map[*context.CancelFunc]struct{}
}

// begin returns the context of a command.
func (c *commands) begin(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stops == nil {
		c.stops = map[*context.CancelFunc]struct{}{}
	}
	c.stops[&stop] = struct{}{}
	return ctx, func() {
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.stops, &stop)
	}
}

// stop stops all of them.
func (c *commands) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for stop := range c.stops {
		(*stop)()
	}
}

// openTurn opens a turn of the undo journal, and counts it.
func (s *Session) openTurn(label string) {
	turn := s.money.next()
	s.answers.begin()
	if err := s.o.Ground.BeginTurn(turn, firstLine(label)); err != nil {
		s.rec.warn("changes of this turn cannot be undone: " + err.Error())
	}
}

// outdated notes that the transcript has something that the loop doesn't have yet; the next
// request will include it.
func (s *Session) outdated() {
	s.compactor.outdate()
	if _, end, err := s.stage.begin(context.Background()); err == nil {
		s.compactor.refresh()
		end()
	}
}
