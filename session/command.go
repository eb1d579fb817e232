package session

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/transcript"
)

// CommandResult is how a person's own command ended.
type CommandResult struct {
	Output    string // cleaned, bounded like the output of tools; a notice at its end says what is left out
	ExitCode  int    // -1 if it has none
	Cancelled bool
	Truncated bool   // Output is not all
	Artifact  string // where all of it is, "artifact://…"; "" if Output is all, or nothing keeps it
	Dir       string // where the shell is now, absolute
	EntryID   string // of the transcript
}

var (
	errNoShell   = errors.New("this session runs no commands")
	errNoCommand = errors.New("there is no command to run")
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
	switch {
	case s.o.Command == nil:
		return CommandResult{}, errNoShell
	case strings.TrimSpace(command) == "":
		return CommandResult{}, errNoCommand
	}
	alone, end, err := s.wake(ctx)
	if errors.Is(err, ErrBusy) {
		return s.runBeside(ctx, command, private, output)
	}
	if err != nil {
		return CommandResult{}, err
	}
	defer end()
	s.refresh()
	s.openTurn("!" + s.hide(command))
	r, err := s.runCommand(alone, command, private, true, output)
	if err == nil && !private {
		s.adopt(r.EntryID)
	}
	return r, err
}

// runBeside runs a command while something else is under way.
func (s *Session) runBeside(ctx context.Context, command string, private bool, output func(string)) (CommandResult, error) {
	ctx, end, err := s.beside(ctx)
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
		if output != nil {
			output(s.hide(chunk))
		}
	}
	shown := s.hide(command)
	s.hub.emit(Event{Event: agent.Event{Type: CommandStart}, Text: shown})
	began := s.o.Now()
	r, err := s.o.Command(ctx, command, journal, show)
	if err != nil {
		s.hub.emit(Event{Event: agent.Event{Type: CommandEnd}, Text: shown})
		if ctx.Err() != nil {
			return r, ErrNotBegun // the shell says no more than that its context has ended
		}
		return r, s.hideError(err)
	}
	r.Output = s.hide(r.Output)
	x := transcript.Execution{
		Command: shown, Output: r.Output, Cancelled: r.Cancelled, Truncated: r.Truncated, Full: r.Artifact,
		Excluded: private, Timestamp: began.UnixMilli(),
	}
	if r.ExitCode >= 0 {
		x.ExitCode = &r.ExitCode
	}
	r.EntryID = s.append(transcript.NewExecution(x))
	s.hub.emit(Event{Event: agent.Event{Type: CommandEnd}, EntryID: r.EntryID, Text: shown})
	return r, nil
}

// openTurn opens a turn of the undo journal, and counts it.
func (s *Session) openTurn(label string) {
	s.mu.Lock()
	s.turn++
	turn := s.turn
	s.mu.Unlock()
	if s.o.BeginTurn == nil {
		return
	}
	if err := s.o.BeginTurn(turnID(turn), firstLine(label)); err != nil {
		s.warn("changes of this turn cannot be undone: " + err.Error())
	}
}

// adopt gives the loop the message of an entry that was just appended. Nothing else is
// under way.
func (s *Session) adopt(id string) {
	e, err := s.log.Entry(id)
	if err != nil || e.Message == nil {
		s.outdated()
		return
	}
	s.agent.Replace(append(s.agent.Messages(), *e.Message))
}

// outdated says that the transcript has what the loop has not: the next request has
// it, whatever is under way.
func (s *Session) outdated() {
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
	if _, end, err := s.begin(context.Background()); err == nil {
		s.refresh()
		end()
	}
}

// beside is begin for what goes on beside prompts: its context ends with the session,
// and Close waits for it.
func (s *Session) beside(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	s.tasks.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(errStopped) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.tasks.Done()
	}, nil
}
