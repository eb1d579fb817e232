package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/wall"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// boxes are the sandboxes that the sessions of a bench have used so far. One that is not
// in use any more stays: a command that began in it may still run.
type boxes struct {
	mu     sync.Mutex
	used   map[string]*sandbox.Sandbox // by mode and walls
	closed bool
}

// box is the sandbox of that name. start starts it if there is none yet.
func (b *boxes) box(name string, start func() (*sandbox.Sandbox, error)) (box *sandbox.Sandbox, started bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch box = b.used[name]; {
	case b.closed:
		return nil, false, session.ErrClosed
	case box != nil:
		return box, false, nil
	}
	if box, err = start(); err != nil {
		return nil, false, err
	}
	if b.used == nil {
		b.used = map[string]*sandbox.Sandbox{}
	}
	b.used[name] = box
	return box, true, nil
}

func (b *boxes) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var all error
	for _, box := range b.used {
		all = errors.Join(all, box.Close())
	}
	b.used = nil
	return all
}

// boxed is which sandbox the commands of a session get.
type boxed struct {
	mu  sync.Mutex
	now string // by its name in boxes
}

// sandboxMode is how commands are confined in a mode. Without an own wish that follows
// the mode: what looks must not write, what is asked about may write in the workspace,
// what runs without a question is not confined.
func (b *seat) sandboxMode(mode permission.Mode) (sandbox.Mode, error) {
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

// walls keep commands from files: those that rules refuse and, in a sandbox, those that
// git and burin execute.
func (b *seat) walls(how sandbox.Mode) []wall.Wall {
	walls := b.policy.Walls()
	if how == sandbox.WorkspaceWrite {
		walls = append(walls, b.autorun.Walls()...)
		if b.UserHome != "" { // what runs in builds outside, beside the caches that builds in here write
			for _, name := range []string{".gradle/init.gradle", ".gradle/init.gradle.kts", ".gradle/init.d", ".gradle/gradle.properties", ".m2/settings.xml", ".m2/extensions.xml"} {
				walls = append(walls, wall.Wall{Glob: wall.Quote(filepath.ToSlash(filepath.Join(b.UserHome, name))) + "/**", Write: true})
			}
		}
	}
	return walls
}

// confine gives the confinement of commands in a mode, nil if there is none, and says
// for the model what they may do; "" if nothing holds them.
func (b *seat) confine(mode permission.Mode) (*sandbox.Sandbox, string, error) {
	how, err := b.sandboxMode(mode)
	if err != nil {
		return nil, "", err
	}
	walls := b.walls(how)
	open, writable := b.paths.reached()
	name, err := boxName(how, walls, open)
	if err != nil {
		return nil, "", err
	}
	b.box.mu.Lock()
	defer b.box.mu.Unlock()
	b.box.now = name
	if how == sandbox.Full && len(walls) == 0 {
		return nil, "", nil
	}
	box, started, err := b.boxes.box(name, func() (*sandbox.Sandbox, error) {
		return sandbox.Start(sandbox.Policy{
			Mode: how, Workspace: b.dir, Writable: append(b.writable(), writable...), Secret: b.secrets(), Readable: open, Hosts: b.Hosts, Walls: walls, Configs: b.autorun.Configs(),
		})
	})
	if err != nil {
		return nil, "", err
	}
	if started {
		if missing := strings.TrimSpace(box.Missing()); missing != "" {
			b.Warn(missing)
		}
	}
	b.policy.SetWalled(box.Walled())
	refused := ""
	if len(b.policy.Walls()) > 0 && box.Walled() {
		refused = " They cannot reach the files that rules refuse."
	}
	if how == sandbox.Full {
		return box, strings.TrimSpace(refused), nil
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
	return box, words + "." + refused, nil
}

// boxName tells sandboxes apart.
func boxName(how sandbox.Mode, walls []wall.Wall, open []string) (string, error) {
	key, err := json.Marshal(struct {
		Walls []wall.Wall
		Open  []string
	}{walls, open})
	if err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	return string(how) + string(key), nil
}

// followRules confines the commands that start from now on by the rules on files that
// hold now, since one may have been added or taken back, and opens to them the folders behind
// addresses that they name.
func (b *seat) followRules() error {
	if b.shells == nil {
		return nil
	}
	how, err := b.sandboxMode(b.policy.Mode())
	if err != nil {
		return err
	}
	open, _ := b.paths.reached()
	name, err := boxName(how, b.walls(how), open)
	if err != nil {
		return err
	}
	b.box.mu.Lock()
	same := b.box.now == name
	b.box.mu.Unlock()
	if same {
		return nil
	}
	box, _, err := b.confine(b.policy.Mode())
	if err != nil {
		return fmt.Errorf("confine commands by the rules that have changed: %w", err)
	}
	b.putToWork(box)
	return nil
}

// putToWork confines the commands that start from now on.
func (b *seat) putToWork(box *sandbox.Sandbox) {
	if box == nil {
		b.shells.SetSandbox(nil) // and not a nil pointer that looks like a sandbox
		return
	}
	b.shells.SetSandbox(box)
}

// SetMode implements [session.Ground]. It puts a mode to work: the rules, the files that
// tools may write, and the confinement of commands that start from now on. The session
// makes one call after the other.
func (g ground) SetMode(name string) (words string, err error) {
	b := g.seat
	mode := permission.Mode(name)
	if known := []permission.Mode{permission.Plan, permission.Ask, permission.AutoEdit, permission.Full}; !slices.Contains(known, mode) {
		return "", fmt.Errorf("there is no mode %q: want plan, ask, auto-edit or full", name)
	}
	if b.borrowed && mode != b.policy.Mode() {
		return "", errors.New("a sub-agent works in the mode of its session: change it there")
	}
	if b.shells == nil {
		b.policy.SetMode(mode)
		b.ws.SetReadOnly(mode == permission.Plan)
		return fmt.Sprintf("The user has set the permission mode to %s. %s This replaces what was said of the mode before.", mode, modeWords(b, mode)), nil
	}
	box, confined, err := b.confine(mode)
	if err != nil {
		return "", fmt.Errorf("confine commands for the mode %s: %w", mode, err)
	}
	b.policy.SetMode(mode)
	b.ws.SetReadOnly(mode == permission.Plan)
	b.putToWork(box)
	if confined == "" {
		confined = "they are not confined."
	}
	return fmt.Sprintf("The user has set the permission mode to %s. %s Commands: %s This replaces what was said of the mode before.", mode, modeWords(b, mode), confined), nil
}

func modeWords(b *seat, mode permission.Mode) string {
	switch mode {
	case permission.Plan:
		if b.handsOver {
			return "You can look but not change anything; the outcome is a plan, which you hand over with exit_plan."
		}
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
func (b *seat) restoreMode() {
	if !b.KeepPlan || b.Resume == "" {
		return
	}
	e := b.log.Last(b.log.Leaf(),
		func(n transcript.Node) bool { return n.Type == transcript.TypeMode },
		func(*transcript.Entry) bool { return true })
	if e != nil && e.Mode == string(permission.Plan) && b.Approval != string(permission.Plan) {
		b.afterPlan, b.Approval = b.Approval, string(permission.Plan)
	}
}
