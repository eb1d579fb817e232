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

// CommandResult is how a person's own command ended.
type CommandResult struct {
	Output    string `json:"output"`   // cleaned, bounded like the output of tools; a notice at its end says what is left out
	ExitCode  int    `json:"exitCode"` // -1 if it has none
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"` // Output is not all
	Artifact  string `json:"artifact"`  // where all of it is, "artifact://…"; "" if Output is all, or nothing keeps it
	Dir       string `json:"dir"`       // where the shell is now, absolute
	EntryID   string `json:"entryId"`   // of the transcript
}

var (
	errNoShell   = errors.New("this session runs no commands")
	errNoCommand = errors.New("no command to run")
)

// Run runs a command of the person's own, in the folder and with the exported
// variables of the session's shell. Nobody is asked about it and no sandbox holds it:
// the person typed it. The folder that it ends in is that of the commands to come. It
// ends with ctx, and then has no exit code and no error; an error means that it did not
// run, [ErrNotBegun] that it was stopped before.
//
// The model reads command and output with the next request, unless private is set;
// the transcript has them either way, without secrets. Pieces of output are hidden
// each by itself, as pieces of answers are.
//
// While nothing else is under way, the command is it: a prompt meanwhile is refused,
// Abort ends the command, and what it changes is a turn of the undo journal. While a
// prompt runs the command is like one in another window, so that a person can look
// around while the model works: it is in no turn, Abort ends the prompt and not the
// command, and the model reads of it with its next request.
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
	s.fitter.refresh()
	s.openTurn("!" + s.veil.hide(command))
	r, err := s.runCommand(alone, command, private, true, output)
	if err == nil && !private {
		if !s.fitter.adopt(r.EntryID) {
			s.outdated()
		}
	}
	return r, err
}

// runBeside runs a command while something else is under way.
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

// runCommand runs a command and puts it into the transcript.
func (s *Session) runCommand(ctx context.Context, command string, private, journal bool, output func(string)) (CommandResult, error) {
	show := func(chunk string) {
		chunk = s.veil.hide(chunk)
		if output != nil {
			output(chunk)
		}
		s.rec.emit(Event{Event: agent.Event{Type: CommandOutput}, Text: chunk})
	}
	shown := s.veil.hide(command)
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
			return r, ErrNotBegun // the shell says no more than that its context has ended
		}
		return r, s.veil.err(err)
	}
	r.Output = s.veil.hide(r.Output)
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

// commands are the person's own commands that run.
type commands struct {
	mu    sync.Mutex
	stops map[*context.CancelFunc]struct{}
}

// begin gives the context of a command.
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

// outdated says that the transcript has what the loop has not: the next request has
// it, whatever is under way.
func (s *Session) outdated() {
	s.fitter.outdate()
	if _, end, err := s.stage.begin(context.Background()); err == nil {
		s.fitter.refresh()
		end()
	}
}
