package burin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// boxes are the sandboxes of the modes that were used so far. One that is not in use
// any more stays: a command that began in it may still run.
type boxes struct {
	mu     sync.Mutex
	used   map[sandbox.Mode]*sandbox.Sandbox
	closed bool
}

// sandboxMode is how commands are confined in a mode. Without an own wish that follows
// the mode: what looks must not write, what is asked about may write in the workspace,
// what runs without a question is not confined.
func (b *builder) sandboxMode(mode permission.Mode) (sandbox.Mode, error) {
	switch own := sandbox.Mode(b.Sandbox); own {
	case sandbox.ReadOnly, sandbox.WorkspaceWrite, sandbox.Full:
		return own, nil
	case "":
	default:
		return "", fmt.Errorf("there is no sandbox %q: want read-only, workspace-write or full", b.Sandbox)
	}
	switch mode {
	case permission.Plan:
		return sandbox.ReadOnly, nil
	case permission.Full:
		return sandbox.Full, nil
	}
	return sandbox.WorkspaceWrite, nil
}

// confine gives the confinement of commands in a mode, nil if there is none, and says
// for the model what they may do; "" if nothing holds them.
func (b *builder) confine(mode permission.Mode) (*sandbox.Sandbox, string, error) {
	how, err := b.sandboxMode(mode)
	if err != nil || how == sandbox.Full {
		return nil, "", err
	}
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	box := b.boxes.used[how]
	if box == nil {
		if box, err = sandbox.Start(sandbox.Policy{
			Mode: how, Workspace: b.dir, Writable: b.writable(), Secret: b.secrets(), Hosts: b.Hosts,
		}); err != nil {
			return nil, "", err
		}
		if b.boxes.closed {
			return nil, "", errors.Join(session.ErrClosed, box.Close())
		}
		if b.boxes.used == nil {
			b.boxes.used = map[sandbox.Mode]*sandbox.Sandbox{}
		}
		b.boxes.used[how] = box
		if missing := strings.TrimSpace(box.Missing()); missing != "" {
			b.Warn(missing)
		}
	}
	if !sandbox.Available().Files {
		return box, "", nil // the person has been told, the model must not rely on it
	}
	words := "they can read files but not change any, and have no network"
	if how == sandbox.WorkspaceWrite {
		words = "they can write in the workspace, temporary folders and build caches only, and have no network"
	}
	if len(b.Hosts) > 0 {
		words += " but for " + strings.Join(b.Hosts, ", ")
	}
	return box, words + ".", nil
}

func (b *boxes) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var all error
	for _, box := range b.used {
		all = errors.Join(all, box.Close())
	}
	return all
}

// setMode puts a mode to work: the rules, the files that tools may write, and the
// confinement of commands that start from now on. It gives the model's words for it.
// The session sees to it that one call comes after the other.
func (b *builder) setMode(name string) (words string, err error) {
	mode := permission.Mode(name)
	if known := []permission.Mode{permission.Plan, permission.Ask, permission.AutoEdit, permission.Full}; !slices.Contains(known, mode) {
		return "", fmt.Errorf("there is no mode %q: want plan, ask, auto-edit or full", name)
	}
	box, confined, err := b.confine(mode)
	if err != nil {
		return "", fmt.Errorf("confine commands for the mode %s: %w", mode, err)
	}
	b.policy.SetMode(mode)
	b.ws.SetReadOnly(mode == permission.Plan)
	if box == nil {
		b.shells.SetSandbox(nil) // and not a nil pointer that looks like a sandbox
	} else {
		b.shells.SetSandbox(box)
	}
	if confined == "" {
		confined = "they are not confined."
	}
	return fmt.Sprintf("The user has set the permission mode to %s. %s Commands: %s This replaces what was said of the mode before.", mode, modeWords(mode), confined), nil
}

func modeWords(mode permission.Mode) string {
	switch mode {
	case permission.Plan:
		return "You can look but not change anything; the outcome is a plan."
	case permission.Ask:
		return "The user is asked before files change or commands run."
	case permission.AutoEdit:
		return "Edits in the workspace run; the user is asked before commands that change things."
	case permission.Full:
		return "Calls run without a question."
	}
	return ""
}

// restoreMode takes up the plan mode that a session was left in. Any other mode is that
// of flags and configuration: who starts the program says how much it may do now, and
// a file must not widen that. Plan only narrows it, and a plan that nobody has agreed
// to yet should not be carried out because the program was started anew. It is for
// faces that can leave the mode (Options.KeepPlan); to run a plan with another mode on
// the command line stays possible.
func (b *builder) restoreMode() {
	if !b.KeepPlan || b.Resume == "" {
		return
	}
	e := b.log.Last(b.log.Leaf(),
		func(n transcript.Node) bool { return n.Type == transcript.TypeMode },
		func(*transcript.Entry) bool { return true })
	if e != nil && e.Mode == string(permission.Plan) {
		b.Approval = string(permission.Plan)
	}
}
