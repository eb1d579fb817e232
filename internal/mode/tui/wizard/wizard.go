// Package wizard is the first-run setup: what was found on this machine, a key or a
// login, a model, signs and a theme, and what may run without a question.
//
// A [Wizard] is a pane of steps. Each can be skipped by Tab, Esc goes back, and Ctrl+C
// goes to the end, which says what is missing and how to get it. What it promises:
//
//   - Nothing is written before the person confirms a step by Enter; what was confirmed
//     stays when the wizard is left. Looks that were only tried are taken back.
//   - A key is never shown. It is held until its step is left, and given to Check and
//     SaveKey only.
//   - No step waits for the network or a disk with the keys of the person: what takes
//     time runs beside the face, says what it does, and Esc ends it.
//
// There is no splash and nothing moves. Where a model works already it opens only when the
// person asks for it ([Needed] says when a face offers it). Where none works, a face shows
// the one screen of Options.Quick: whatever is chosen there leads to a model that answers.
//
// Files: step.go goes from step to step, quick.go is the one screen, work.go runs what takes time, draw.go and
// page.go the looks, and each other file is a step.
package wizard

import (
	"context"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

// Version is what setupVersion of config.yml is set to when the wizard was gone
// through. It grows when a step is added that those should see who know the others.
const Version = 1

// Provider is one that can be asked for models.
type Provider struct {
	ID string
	// Ready says in a few words what makes it usable, as "variable OPENAI_API_KEY" or
	// "runs on this machine"; "" is nothing.
	Ready string
	Login bool // one can log in to it
}

// Model is one that can be chosen.
type Model struct {
	Ref    string // given to SetModel
	Name   string
	Detail string // a few words, as its window and price
}

// Options of a wizard. With Quick it is one screen instead of steps: the likeliest ways to
// a model that works. A step whose functions are nil is left out. Functions with a
// context run beside the face and end with it; so do SetModel, SetTheme, SetSymbols and
// SetApproval, which write a setting.
type Options struct {
	// Find looks what is on this machine, once.
	Find func(ctx context.Context) []discover.Finding

	// Providers says whom one can ask, the usual ones first. It is called again after
	// each change.
	Providers func(ctx context.Context) ([]Provider, error)
	// Check asks the provider whether it takes a key, by one cheap request; nil does
	// not. The error is one line for people.
	Check func(ctx context.Context, provider, key string) error
	// SaveKey stores a key.
	SaveKey func(ctx context.Context, provider, key string) error
	// Login logs in. The wizard shows what ui.Show is given and asks for what ui.Paste
	// wants; ui.Open is the caller's to set.
	Login func(ctx context.Context, provider string, ui oauth.UI) error

	// Models are those that can be used now, the best to begin with first.
	Models   func(ctx context.Context) ([]Model, error)
	Model    string // the Ref of the one in use
	SetModel func(ref string) error

	Theme    string // the name of the one in use
	ThemeDir string // of the person's own themes; "" is none
	Symbols  theme.Preset
	// Show draws with another theme and other signs from now on. It is called on the
	// face's goroutine, sets the Styles of the Env, and writes nothing.
	Show       func(*theme.Theme, theme.Preset)
	SetTheme   func(*theme.Theme) error
	SetSymbols func(theme.Preset) error

	Approval    string // ask, auto-edit or full
	SetApproval func(mode string) error

	// Quick shows the one screen for somebody without a usable model.
	Quick bool
	// Reason says on it why there is none, and Wanted names the provider of the model that
	// was asked for; both may be "".
	Reason, Wanted string
	// Demo shows a scripted model instead; nil leaves it out.
	Demo func()
	// OnTyped gets what is typed within a moment after the screen appears: it was meant
	// for the prompt. May be nil.
	OnTyped func(key.Event)

	// OnDone is called once; the face then takes the pane away.
	OnDone func(Result)
}

// Result is how a wizard ended.
type Result struct {
	// Finished says that the person came to the end step by step, and not by Ctrl+C.
	Finished bool
	// Ready says that a provider can be used.
	Ready bool
}

// Wizard is the pane.
type Wizard struct {
	env *pane.Env
	o   Options

	step   step
	body   pane.Pane // of the step; nil while it waits for what it shows
	head   int       // rows above it
	jumped bool      // by Ctrl+C
	ended  bool

	note   string // how the last action went
	failed bool   // the note is of a failure
	did    []deed // for the end

	task    *task // what runs; nil is nothing
	cancel  context.CancelFunc
	stopped bool // it was told to end

	usable    bool // a key was stored or a login made
	quick     *quick
	found     findings
	looked    bool
	providers []Provider
	known     bool   // providers were asked for
	chosen    string // the provider that was chosen last
	unchecked string // a key that its provider did not take; Enter stores it
}

var _ pane.Pane = (*Wizard)(nil)

// New makes a wizard and begins to look around.
func New(env *pane.Env, o Options) *Wizard {
	w := &Wizard{env: env, o: o, step: stepNone}
	w.quick = &quick{w: w, opened: env.Now()}
	w.next()
	return w
}

// Start is what decides whether the setup is mentioned at the start.
type Start struct {
	Interactive bool   // a person sits at a terminal, and no prompt was given
	Resuming    bool   // an earlier session is resumed
	Enabled     bool   // startup.setupWizard of the settings
	Seen        int    // setupVersion of the settings
	Skip        string // the variable BURIN_SKIP_SETUP
}

// Wanted reports whether the person wants help with the setup at all.
func Wanted(s Start) bool {
	switch s.Skip {
	case "", "0", "n", "N", "no", "NO", "false", "FALSE", "off", "OFF":
		return s.Enabled
	}
	return false
}

// Needed reports whether the setup is offered where a model works already. Somebody who
// resumes a session has been here before.
func Needed(s Start) bool {
	return Wanted(s) && s.Interactive && !s.Resuming && s.Seen < Version
}
