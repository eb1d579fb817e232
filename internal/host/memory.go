package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/memory"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/memorize"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/model/catalog"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript/place"
)

// giveMemory tells a session what is remembered, and how it can read more, if memory is on.
// Otherwise not a file of it is touched.
func giveMemory(h *Host, o *Session, settings *config.Config) {
	if !remembers(settings) || o.Ground.NoFiles || o.Ground.Files != nil || o.External != nil {
		return
	}
	m := memory.Open(h.o.Paths.Data, o.Ground.Dir)
	o.URLs = maps.Clone(o.URLs)
	o.URLs["memory"] = m.Read
	for _, s := range m.Stores() {
		o.Mounts = append(slices.Clip(o.Mounts), bench.Mount{Address: s.Address("") + "/", Dir: func() (string, error) { return s.Dir(), nil }})
	}
	if text := m.Section(settings.Int(summaryLimit), countTokens); text != "" {
		o.Parts = append(slices.Clip(o.Parts), session.Part{Name: "memory", Text: text})
	}
}

func remembers(c *config.Config) bool { return c.Text("memory.backend") == "local" }

const summaryLimit = "memories.summaryInjectionTokenLimit"

func countTokens(text string) int {
	m := llm.UserText(text)
	return compact.Tokens(&m)
}

// Memory is what a person does with the memory of the folder.
type Memory struct {
	memory.Memory
	host     *Host
	settings *config.Config
}

// Memory is the memory of the folder, by the settings as they are now. Nothing of it is read yet.
func (h *Host) Memory() (*Memory, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	return &Memory{Memory: memory.Open(h.o.Paths.Data, h.o.Dir), host: h, settings: settings}, nil
}

// On reports whether burin remembers.
func (m *Memory) On() bool { return remembers(m.settings) }

// errMemoryOff says how to switch it on.
var errMemoryOff = errors.New("memory is off: burin config set memory.backend local turns it on")

// Add remembers a text, for the project or for the user.
func (m *Memory) Add(text string, user bool) (string, error) {
	if !m.On() {
		return "", errMemoryOff
	}
	a, err := m.host.Archive(nil)
	if err != nil {
		return "", err
	}
	v, err := a.Vault()
	if err != nil {
		return "", err
	}
	if v.Hide(text) != text {
		return "", errors.New("not remembered: this holds a password, token or key")
	}
	store := m.Store(user)
	if err := store.AddNote(text); err != nil {
		return "", err
	}
	return "Remembered in " + words.ShortPath(store.Path(memory.Notes)) + ". New sessions are told.", nil
}

// Store is the part for the project, or that for the user.
func (m *Memory) Store(user bool) memory.Store {
	if user {
		return m.User
	}
	return m.Project
}

// Clear forgets a part.
func (m *Memory) Clear(user bool) (string, error) {
	if err := m.Store(user).Clear(time.Now()); err != nil {
		return "", err
	}
	if user {
		return "Cleared what is remembered of you.", nil
	}
	return "Cleared. Sessions that are over by now are not read again; burin memory rebuild brings them back.", nil
}

// Update reads sessions that have changed and merges what is new. choice is the model to ask where
// the role smol has none. by says that a person asked for it, tell is told what happens.
func (m *Memory) Update(ctx context.Context, choice Choice, by bool, tell func(string)) (memorize.Report, error) {
	if !m.On() {
		return memorize.Report{}, errMemoryOff
	}
	// Encrypted sessions are never read: what is noted of them would lie in the clear.
	a := archive.New(archive.Options{
		Paths: m.host.o.Paths, Settings: m.settings, Keys: func(context.Context) place.Keys { return nil }, Version: m.host.o.Version,
	})
	v, err := a.Vault()
	if err != nil {
		return memorize.Report{}, err
	}
	k := memorize.Keeper{Options: memorize.Options{
		Memory: m.Memory, Sessions: a, Hide: v.Hide, Now: time.Now,
		Ask:  (&asker{host: m.host, settings: m.settings, choice: choice, memory: m.Project.Key()}).ask,
		Idle: time.Duration(m.settings.Int("memories.minRolloutIdleHours")) * time.Hour,
		Age:  time.Duration(m.settings.Int("memories.maxRolloutAgeDays")) * 24 * time.Hour,
		Most: m.settings.Int("memories.maxRolloutsPerStartup"),
	}}
	return k.Update(ctx, by, tell)
}

// asker asks the model for small tasks, or the default one where there is none. It doesn't fall
// back to a dearer one: what fails is read with the next update. Requests count for the folder
// and the month, under a name of their own.
type asker struct {
	host     *Host
	settings *config.Config
	choice   Choice
	memory   string // names it in the ledger

	model session.Opened // Client is nil: nobody has looked for it
	meter session.Meter
	turn  string
}

func (a *asker) find(ctx context.Context) error {
	if a.model.Client != nil {
		return nil
	}
	account, err := a.host.Ledger(ctx)
	if err != nil {
		return err
	}
	o := Session{Choice: a.choice}
	o.Warn, o.Note = a.host.o.Warn, func(string) {}
	if err := a.host.findModel(ctx, &o, a.settings); err != nil {
		return err
	}
	found := session.Opened{Model: o.Model, Client: o.Client, Level: o.Thinking.Level}
	if selector := o.Roles[catalog.RoleSmol]; selector != "" {
		if found, err = o.Models.Open(ctx, selector); err != nil {
			return fmt.Errorf("modelRoles.smol: %w", err)
		}
	}
	a.model, a.turn = found, time.Now().UTC().Format("20060102T150405.000")
	a.meter = &meter{ledger: account, project: a.host.o.Dir, limits: limitsOf(a.settings)}
	return nil
}

func (a *asker) ask(ctx context.Context, system, prompt string, maxTokens int) (answer memorize.Answer, err error) {
	if err := a.find(ctx); err != nil {
		return memorize.Answer{Known: true}, err
	}
	model := a.model.Model
	if most := model.MaxOutput; most > 0 {
		maxTokens = min(maxTokens, most)
	}
	m, err := session.Once{
		Client: a.model.Client, Meter: a.meter, Retry: retryOf(a.settings),
		Planned: session.Planned{Session: memorySession(a.memory), Turn: a.turn, Purpose: session.ForMemory},
		Request: llm.Request{
			Model: model, System: system, Messages: []llm.Message{llm.UserText(prompt)}, MaxTokens: maxTokens,
			Cache: llm.CacheHint{Retention: llm.CacheOff}, Thinking: llm.Thought{Level: a.model.Level},
		},
	}.Ask(ctx)
	answer.Known = m == nil // nothing was sent
	if m != nil && m.Usage != nil && m.Usage.Cost != nil {
		answer.Cost, answer.Known = m.Usage.Cost.Total, !m.Usage.Cost.Unknown
	}
	switch {
	case err != nil:
	case m.StopReason == llm.StopLength:
		err = &llm.Error{Kind: llm.ErrAnswerLimit, Message: fmt.Sprintf("the answer of %s has more than %d tokens", model.Ref(), maxTokens)}
	default:
		answer.Text = m.Text()
	}
	return answer, err
}

// memorySession is what the ledger calls the requests about a memory.
func memorySession(key string) string { return "memory-" + key }

// UpdateInBackground updates the memory while the person works, if it is on. It ends with the host.
// note and warn are told how it went, a line each, if there is something to tell.
func (m *Memory) UpdateInBackground(choice Choice, note, warn func(string)) {
	if !m.On() {
		return
	}
	background(m.host, func(ctx context.Context) {
		r, err := m.Update(ctx, choice, false, func(string) {})
		switch {
		case errors.Is(err, memory.ErrBusy) || ctx.Err() != nil: // another does it, or the person leaves
		case err != nil:
			warn("memory is not up to date: " + words.Error(err) + "; burin memory update tries again")
		case r.Read > 0 || r.Merged:
			note(Remembered(r))
		}
	})
}

// Remembered says what an update did.
func Remembered(r memorize.Report) string {
	if r.Read+r.Failed == 0 && !r.Merged {
		return "Memory is up to date."
	}
	var b strings.Builder
	if r.Merged {
		b.WriteString("Memory updated: ")
	}
	fmt.Fprintf(&b, "%s read", prose.Count(r.Read, "session"))
	if r.Failed > 0 {
		fmt.Fprintf(&b, ", %d could not be read", r.Failed)
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, ", %d left for the next update", r.Left)
	}
	fmt.Fprintf(&b, "; cost %s.", costOf(r.Cost, r.Known))
	return b.String()
}

func costOf(c llm.USD, known bool) string {
	switch {
	case known:
		return c.String()
	case c == 0:
		return "unknown"
	}
	return "≥ " + c.String()
}

// Spent is what the memory of the project has cost, and in how many requests.
func (m *Memory) Spent(ctx context.Context) (cost string, requests int64, err error) {
	account, err := m.host.Ledger(ctx)
	if err != nil {
		return "", 0, err
	}
	t, err := account.Report(ctx, ledger.Query{By: ledger.ByPurpose, Session: memorySession(m.Project.Key())})
	if err != nil {
		return "", 0, err
	}
	return costOf(t.Total.Cost, t.Total.Unknown == 0), t.Total.Requests, nil
}

// View shows what is remembered, where, and what it has cost, as Markdown.
func (m *Memory) View(ctx context.Context) (string, error) {
	st, err := m.Project.State()
	if err != nil {
		return "", err
	}
	cost, requests, err := m.Spent(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if m.On() {
		fmt.Fprintf(&b, "Memory is on for %s.", words.ShortPath(m.Project.Root()))
	} else {
		fmt.Fprintf(&b, "Memory is off for %s. burin config set memory.backend local turns it on.", words.ShortPath(m.Project.Root()))
	}
	if !st.Updated.IsZero() {
		fmt.Fprintf(&b, " Last update: %s.", words.Stamp(st.Updated))
	}
	fmt.Fprintf(&b, " Cost so far: %s in %s.\n\n", cost, prose.Count(int(requests), "request"))
	listed := false
	for _, s := range m.Stores() {
		for _, name := range append([]string{memory.Long, memory.Summary, memory.Notes}, s.Skills()...) {
			if size, ok := s.Size(name); ok {
				fmt.Fprintf(&b, "- `%s` (%s bytes): %s\n", s.Address(name), prose.Tokens(size), words.ShortPath(s.Path(name)))
				listed = true
			}
		}
	}
	if !listed {
		b.WriteString("Nothing is remembered yet.\n")
	}
	if told := m.Told(m.settings.Int(summaryLimit), countTokens); told != "" {
		b.WriteString("\nNew sessions are told:\n\n" + told + "\n")
	}
	return b.String(), nil
}

// MemoryCommand does what a person writes behind /memory, and gives Markdown for them. choice is
// as for [Memory.Update].
func (h *Host) MemoryCommand(ctx context.Context, choice Choice, arg string) (string, error) {
	m, err := h.Memory()
	if err != nil {
		return "", err
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(arg), " ")
	user := false
	if flag, text, _ := strings.Cut(strings.TrimSpace(rest), " "); flag == "--user" {
		user, rest = true, text
	}
	command, known := map[string]string{
		"": "view", "view": "view", "show": "view", "add": "add", "update": "update", "path": "path",
		"clear": "clear", "reset": "clear", "rebuild": "rebuild", "enqueue": "rebuild",
	}[word]
	switch {
	case !known:
		return "", fmt.Errorf("unknown command %q: write /memory view, add, update, clear, rebuild or path", prose.Short(word, 40))
	case command != "add" && strings.TrimSpace(rest) != "":
		return "", fmt.Errorf("%q is one word too many: write /memory %s", prose.Short(rest, 40), word)
	}
	switch command {
	case "add":
		return m.Add(rest, user)
	case "update":
		r, err := m.Update(ctx, choice, true, func(string) {})
		if err != nil {
			return "", err
		}
		return Remembered(r), nil
	case "clear":
		return m.Clear(user)
	case "rebuild":
		if err := m.Project.Rebuild(); err != nil {
			return "", err
		}
		return "The next update merges everything again.", nil
	case "path":
		return words.ShortPath(m.Store(user).Dir()), nil
	}
	return m.View(ctx)
}
