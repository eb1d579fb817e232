package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/mode/tui"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// background is the flags of a session without a face.
type background struct {
	on    bool
	owner bool // this process is the one in the background
}

const ownerFlag = "background-owner"

func (b *background) register(f *pflag.FlagSet) {
	f.BoolVar(&b.on, "background", false, "work without a terminal: print the session's id and return; burin attach joins it")
	f.BoolVar(&b.owner, ownerFlag, false, "be the process in the background")
	_ = f.MarkHidden(ownerFlag) // it is there
}

// started is a line that the process in the background writes until its session is open.
type started struct {
	Say  string `json:"say,omitempty"` // for the person
	ID   string `json:"id,omitempty"`  // the session is open
	Path string `json:"path,omitempty"`
}

// inBackground starts a process that owns a session, or is that process.
func inBackground(ctx context.Context, p *program, a askFlags, b background, args []string) error {
	if err := a.check(); err != nil {
		return err
	}
	if a.noSession {
		return usage("--no-session and --background contradict each other: no one could join it")
	}
	if b.owner {
		return ownInBackground(ctx, p, a, args)
	}
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	in := p.in
	if p.piped(ctx) == nil {
		in = nil
	}
	s, err := startOwner(ctx, p, h.Paths(), os.Args[1:], in)
	if err != nil {
		return err
	}
	h.Crumb(p.terminalID(), h.Dir(), s.Path)
	fmt.Fprintln(p.out, s.ID)
	sayJoin(ctx, p, s.ID)
	return nil
}

// sayJoin says how to come back to a background session, and what a logout does to it.
func sayJoin(ctx context.Context, p *program, id string) {
	fmt.Fprintf(p.err, "burin attach %s joins it, burin logs %[1]s shows it, burin stop %[1]s ends it.\n", id)
	if line := afterLogout(owner.FindLogout(ctx)); line != "" {
		fmt.Fprintln(p.err, line)
	}
}

// detached continues the session of a terminal's face that has ended in the background.
func detached(ctx context.Context, p *program, paths config.Paths, path string, d *tui.Detached) error {
	h, err := owner.Place{Data: paths.Data, Getenv: p.getenv}.Glance(ctx, path)
	if err == nil { // it was another process's all the time
		sayJoin(ctx, p, h.Facts().ID)
		return h.Close()
	}
	args, err := sameFlags(p)
	if err != nil {
		return err
	}
	args = append(args, "--resume="+path)
	if d.Mode != "" {
		args = append(args, "--approval="+d.Mode)
	}
	if d.Working {
		args = append(args, "--", "Continue: you were interrupted because the session has moved to the background.")
	}
	s, err := startOwner(ctx, p, paths, args, nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.err, "The session continues in the background.")
	sayJoin(ctx, p, s.ID)
	return nil
}

// sameFlags are the flags of this command line that hold for a session that continues. Its model,
// and how much may run without a question, it has itself.
func sameFlags(p *program) ([]string, error) {
	root := (&program{getenv: p.getenv}).root()
	cmd, rest, err := root.Find(os.Args[1:])
	if err != nil {
		return nil, err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return nil, err
	}
	args := written(cmd.Flags(), func(name string) bool {
		own := []string{"continue", "resume", "session", "seal", "model", "models", "thinking", "approval", "mode", "config"}
		return root.Flags().Lookup(name) != nil && !slices.Contains(own, name)
	})
	for _, file := range p.overlays { // from where burin started
		args = append(args, "--config="+file)
	}
	return args, nil
}

// afterLogout says what a logout does to a background session; "" where that isn't known.
func afterLogout(l owner.Logout) string {
	switch {
	case !l.Known():
		return ""
	case l.Survived():
		return "It survives a logout."
	case l.Managed:
		return "A logout ends it. loginctl enable-linger lets it stay."
	}
	return "A logout ends it, because KillUserProcesses is on here. To keep it, run loginctl enable-linger and start it with systemd-run --user --scope."
}

// startOwner starts the process and waits until its session is open. in is its standard input;
// nil is none.
func startOwner(ctx context.Context, p *program, paths config.Paths, args []string, in *os.File) (started, error) {
	log, err := openLog(filepath.Join(paths.State, "logs", "background.log"))
	if err != nil {
		return started{}, err
	}
	defer log.Close()
	if in == nil {
		if in, err = os.Open(os.DevNull); err != nil {
			return started{}, err
		}
		defer in.Close()
	}
	from, to, err := os.Pipe()
	if err != nil {
		return started{}, err
	}
	defer from.Close()
	child, err := owner.Detached(append([]string{"--" + ownerFlag, "--background"}, args...), in, to, log)
	to.Close() //nolint:errcheck // it is the child's
	if err != nil {
		return started{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = child.Kill() })() // it may have ended
	for lines := json.NewDecoder(from); ; {
		var s started
		if err := lines.Decode(&s); err != nil {
			break
		}
		switch {
		case s.ID != "":
			return s, child.Release()
		case s.Say != "":
			fmt.Fprintf(p.err, "burin: %s\n", s.Say)
		}
	}
	state, err := child.Wait()
	switch {
	case ctx.Err() != nil:
		return started{}, ctx.Err()
	case err == nil && state.ExitCode() > 0:
		return started{}, silentError(state.ExitCode())
	}
	return started{}, fmt.Errorf("the background process has ended; see %s", words.ShortPath(log.Name()))
}

// silentError ends the program with an exit code; what went wrong was said.
type silentError int

func (e silentError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// maxLog is the size from which on the log begins anew.
const maxLog = 1 << 20

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the background log: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Truncate(path, 0) // then it is longer
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the background log: %w", err)
	}
	return f, nil
}

// voice is what a process in the background says: to who started it until its session is
// open, then to its log.
type voice struct {
	mu  sync.Mutex
	to  io.Writer // who started it
	log io.Writer
	id  string // of the session that is open
}

func (v *voice) say(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.id == "" {
		_ = json.NewEncoder(v.to).Encode(started{Say: line}) // who has gone hears nothing
		return
	}
	fmt.Fprintf(v.log, "%s %s %s\n", time.Now().Format(time.RFC3339), v.id, line)
}

func (v *voice) opened(id, path string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.id = id
	return json.NewEncoder(v.to).Encode(started{ID: id, Path: path})
}

// ownInBackground opens a session, runs the prompt, if there is one, and stays until it is
// told to end or has had nothing to do for a while.
func ownInBackground(ctx context.Context, p *program, a askFlags, args []string) error {
	v := &voice{to: p.out, log: p.err}
	p.err, p.out = &lines{tell: v.say}, io.Discard
	prompt, err := print.Prompt(args, p.piped(ctx), usesServer(p))
	if err != nil && !errors.Is(err, print.ErrNoPrompt) {
		return err
	}
	return hold(ctx, p, a, prompt, holding{
		say: v.say, opened: v.opened,
		questions: func(settings *config.Config) session.DeskOptions {
			return session.DeskOptions{Wait: waits(settings), Timeout: seconds(settings, "ask.timeout")}
		},
		settled: func(t *session.SettledTurn) {
			if t.Error != "" && t.Reason != agent.ReasonAborted {
				v.say(prose.Line(t.Error))
			}
		},
		wait: func(ctx context.Context, b *owner.Background, settings *config.Config) {
			v.say("ends: " + string(b.Wait(ctx, seconds(settings, "background.idle"))))
		},
	})
}

func seconds(settings *config.Config, key string) time.Duration {
	return time.Duration(settings.Int(key)) * time.Second
}

// holding is how a process without a face holds a session.
type holding struct {
	say       func(line string)           // what a person should know
	opened    func(id, path string) error // others can join it now
	questions func(*config.Config) session.DeskOptions
	settled   func(*session.SettledTurn) // a prompt has ended
	refused   func(error)                // a call was refused; may be nil
	always    bool                       // notify of work that was short, too, or can't begin
	wait      func(context.Context, *owner.Background, *config.Config)
}

// hold opens a session that this process owns without a face, runs the prompt, if there is one,
// and closes the session after its wait.
func hold(ctx context.Context, p *program, a askFlags, prompt llm.Message, how holding) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // some log their users out so
	defer stop()
	h, err := p.hostFor(&a, how.say)
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	settings, err := h.Settings()
	if err != nil {
		return err
	}
	notices := newNotices(p, settings, how.always)
	defer func() { notices.close(err) }()
	o := a.wish()
	if o.Resume, err = p.resumes(ctx, h, a.agentFlags, nil); err != nil {
		return err
	}
	o.KeepPlan = true
	o.Desk = session.NewDesk(how.questions(settings))
	o.Refused = how.refused
	o.Emit = func(e session.Event) {
		notices.event(&e)
		if t, ok := e.Data.(*session.SettledTurn); ok {
			how.settled(t)
		}
	}
	leave := o.Desk.Attend() // faces will come: the model may ask them
	defer leave()
	s, err := h.Open(ctx, o)
	if errors.Is(err, transcript.ErrLocked) && !place.Parse(o.Resume).Server() {
		return fmt.Errorf("session %s is open in another burin: join it with burin attach", words.ShortPath(o.Resume))
	}
	if err != nil {
		return err
	}
	place := owner.Place{Data: h.Paths().Data, Getenv: p.getenv}
	b, err := place.Background(s)
	if err != nil {
		return errors.Join(fmt.Errorf("no one could join a background session: %w", err), s.Close())
	}
	defer b.Close() //nolint:errcheck // it is closed below, and this is for errors
	notices.of(b)
	leave()
	s.Announce()
	if len(prompt.Content) > 0 {
		if _, err := b.Conversation().Submit(ctx, session.Input{Message: prompt}); err != nil {
			return err
		}
	}
	facts := b.Facts()
	if err := how.opened(facts.ID, facts.Path); err != nil {
		return err
	}
	how.wait(ctx, b, settings)
	return b.Close()
}

// waits reports whether questions wait until somebody joins. They do unless the settings say
// otherwise: a background session is there to be joined.
func waits(settings *config.Config) bool {
	return settings.Text("ask.unattended") == "wait" || settings.Source("ask.unattended").Kind == config.ByDefault
}

// lines tells what is written, a line at a time.
type lines struct {
	mu   sync.Mutex
	part []byte
	tell func(string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.tell(strings.TrimPrefix(string(line), "burin: "))
		l.part = rest
	}
}
