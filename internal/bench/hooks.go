package bench

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/shell"
	shelltools "github.com/burin-dev/burin/internal/tools/shell"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// Program is a command that runs beside the conversation, such as a hook.
type Program = shell.Aside

// Ended is how one ended.
type Ended = shell.AsideOutcome

// Hooks are programs of people and projects that run at certain moments of a session.
type Hooks interface {
	// Begin is called before the session begins, with what runs programs (nil: none can run), and
	// with what gives the files on disk that a call is about, and its command as it runs, with
	// paths in the place of addresses; what is empty is as the arguments say.
	Begin(run func(context.Context, Program) (Ended, error), behind func(*tool.Tool, json.RawMessage) (files []string, command string))
	// Asks says why a person must be asked about a call that rules or the mode would let run;
	// "" is that nobody must.
	Asks(call string) string
	// Answer may answer a question of permission in place of a person; ok is false where
	// nothing answers.
	Answer(ctx context.Context, q permit.Question) (a permit.Answer, ok bool)
	// End is called when the session has ended and programs can still run.
	End()
}

// beginHooks lets hooks run programs in this session's shells, under its sandbox.
func beginHooks(b *seat) {
	if b.Programs != nil && b.shells != nil {
		b.Programs(b.shells.Aside)
	}
	if b.Hooks == nil {
		return
	}
	about := func(t *tool.Tool, args json.RawMessage) ([]string, string) { return behind(b, t, args) }
	if b.shells == nil {
		b.Hooks.Begin(nil, about)
	} else {
		b.Hooks.Begin(b.shells.Aside, about)
	}
	b.onClose(func() error { b.Hooks.End(); return nil })
}

// behind gives the files on disk that a call reads or writes, and its command as it runs where
// it names addresses: hooks that guard files know paths only.
func behind(b *seat, t *tool.Tool, args json.RawMessage) (files []string, command string) {
	var said struct{ Path, Command string }
	if json.Unmarshal(args, &said) != nil {
		return nil, ""
	}
	if t.Name == "bash" && b.paths != nil {
		if line, err := shelltools.Expand(b.paths, said.Command); err == nil && line != said.Command {
			command = line
			_, _ = t.Accesses(args) // which the tool remembers: it runs as nothing else than what hooks were told
		}
	}
	if !strings.Contains(said.Path, ":") { // neither an address nor a path with lines
		return nil, command
	}
	access, err := t.Accesses(args)
	if err != nil {
		return nil, command
	}
	for _, a := range access {
		if a.Kind != tool.AccessRead && a.Kind != tool.AccessWrite {
			continue
		}
		if file := onDisk(b, a.Target); file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files, command
}

// onDisk is the file that a call touches; "" if it is none.
func onDisk(b *seat, target string) string {
	scheme, rest, isAddress := strings.Cut(target, "://")
	switch {
	case target == "" || b.dir == "":
		return ""
	case !isAddress || b.ws.Mounted(target):
		name, err := b.ws.Resolve(target)
		if err != nil {
			return ""
		}
		if b.ws.Mounted(name) {
			return b.ws.Real(name)
		}
		if file := filepath.FromSlash(name); filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(b.dir, filepath.FromSlash(name))
	case scheme == "artifact" && b.kept != nil:
		file, _ := transcript.NewArtifacts(folderOf(b)).File(rest)
		return file
	case b.Trees[scheme] != nil:
		return b.Trees[scheme].Path(target)
	}
	return ""
}

// authorize judges a call. Hooks have their say about what would be asked, and about what
// would run; what is refused stays refused.
func authorize(ctx context.Context, b *seat, r permission.Request) error {
	asker := b.approver()
	if b.Hooks == nil {
		return b.policy.Authorize(ctx, r, asker)
	}
	first := hookAsker{b.Hooks, asker}
	if err := b.policy.Authorize(ctx, r, first); err != nil {
		return err
	}
	why := b.Hooks.Asks(r.Call)
	if why == "" {
		return nil
	}
	d := b.policy.Decide(r)
	if d.Verdict != permission.Allow { // a person has allowed it just now
		return nil
	}
	d.Verdict, d.Reason, d.Rule = permission.Question, why, nil
	answer, err := first.Ask(ctx, r, d)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &permission.Refused{Request: r, Decision: d, Note: "The question could not be asked: " + err.Error()}
	case !answer.Allow:
		return &permission.Refused{Request: r, Decision: d, Note: answer.Note}
	}
	return nil
}

// hookAsker asks hooks before it asks a person.
type hookAsker struct {
	hooks  Hooks
	person permission.Asker // nil: nobody can be asked
}

func (h hookAsker) Ask(ctx context.Context, r permission.Request, d permission.Decision) (permission.Answer, error) {
	if a, ok := h.hooks.Answer(ctx, permit.Question{Request: r, Decision: d}); ok {
		return a, nil
	}
	if h.person == nil {
		return permission.Answer{}, errors.New("nobody is there to answer it")
	}
	return h.person.Ask(ctx, r, d)
}
