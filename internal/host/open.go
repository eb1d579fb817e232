package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/crew"
	"github.com/burin-dev/burin/internal/host/hooks"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// Session says which session to open. What is set in it holds over the settings; of lists
// it is added to theirs.
type Session struct {
	bench.Session
	Ground bench.Options // what the session stands on
	// Skills are patterns of the only skills to use, in place of those of the settings; NoSkills
	// leaves all out.
	Skills   []string
	NoSkills bool
	NoLSP    bool // use no language servers
	// Passed are MCP servers for this session only, which an editor passes. They are trusted like the
	// user's own, and win over those of files that have the same name.
	Passed []mcpserver.Definition
	Choice Choice // which model, where Client and Model are not given
	// Note is told which model was found, where nobody has named it; nil: Warn is.
	Note func(string)
	// Keyless is told that there is no key for the model, and the session is opened all the
	// same, for a person to read or to choose another model. nil: that is an error.
	Keyless func(*credential.NotFoundError)
	// Wakes says that results of agents in the background may begin a turn at any time. Otherwise
	// a turn ends only when these agents have ended, which faces want that go with it.
	Wakes bool

	agent  *hooks.Agent     // whose session it is, for hooks; nil: a person's
	agents *subagent.Set    // its only agents, which the host itself starts and which change nothing; nil: those of the folder, for its model
	hired  func(*crew.Crew) // is given what runs them; nil: nobody is
}

// Choice says which model to ask, as flags do.
type Choice struct {
	Model   string   // provider/id, id, part of a name or role, with :level; "": that of the session or of the settings
	Models  []string // to choose from, first one first
	BaseURL string   // server address, for a model that is not configured
	API     string   // wire format of BaseURL
	APIKey  string   // for the model's provider
}

// given reports whether a model is asked for.
func (c *Choice) given() bool { return c.Model != "" || len(c.Models) > 0 || c.BaseURL != "" }

// shared is a bench with how many sessions are on it.
type shared struct {
	*bench.Bench
	sessions int
}

// Open opens a session in this process, on a bench that it shares with the sessions of
// this host that stand on the same ground. Client and Model are found if they are not
// given, and so is all else that isn't set.
func (h *Host) Open(ctx context.Context, o Session) (*session.Session, error) {
	given := o
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	if o.Warn == nil {
		o.Warn = h.o.Warn
	}
	if o.Note == nil {
		o.Note = o.Warn
	}
	if o.Under == nil {
		h.commands.Store(nil) // they may have changed since the session before
	}
	giveSkills := h.lookForSkills(&o) // while the model and its key are found
	if err := h.findModel(ctx, &o, settings); err != nil {
		return nil, err
	}
	if err := h.complete(&o, settings); err != nil {
		return nil, err
	}
	if o.Meter == nil {
		account, err := h.Ledger(ctx)
		if err != nil {
			return nil, err
		}
		o.Meter = &meter{ledger: account, project: o.Ground.Dir, resumed: o.Resume != "", limits: limitsOf(settings)}
	}
	if err := readyKeys(ctx, h, &o); err != nil {
		return nil, err
	}
	giveSkills()
	giveMemory(h, &o, settings)
	begin := addHooks(h, &o, settings)
	wake := giveServers(h, &o, settings)
	giveLanguageServers(h, &o, settings)
	bind := giveAgents(h, &o, given, settings)
	b, leave, err := h.bench(o.Ground)
	if err != nil {
		return nil, err
	}
	closed := o.Closed
	o.Closed = func() error {
		err := leave()
		if closed != nil {
			err = errors.Join(err, closed())
		}
		return err
	}
	s, err := b.Start(ctx, o.Session)
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	bind(s)
	begin(s)
	wake()
	return s, nil
}

// bench gives the bench for a ground. It lives as long as there is a session on it.
func (h *Host) bench(o bench.Options) (b *bench.Bench, leave func() error, err error) {
	key, err := json.Marshal(o)
	if err != nil {
		return nil, nil, fmt.Errorf("open the workspace: %w", err)
	}
	name := string(key)
	if o.Files != nil {
		name = "" // it is nobody else's
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.benches[name]
	if s == nil || name == "" {
		b, err := bench.Open(o)
		if err != nil {
			return nil, nil, err
		}
		s = &shared{Bench: b}
		if name != "" {
			h.benches[name] = s
		}
	}
	s.sessions++
	return s.Bench, func() error {
		h.mu.Lock()
		s.sessions--
		last := s.sessions == 0
		if last && name != "" {
			delete(h.benches, name)
		}
		h.mu.Unlock()
		if !last {
			return nil
		}
		return s.Close()
	}, nil
}

// complete sets what o leaves open.
func (h *Host) complete(o *Session, settings *config.Config) error {
	g, paths := &o.Ground, h.o.Paths
	g.Dir = cmp.Or(g.Dir, h.o.Dir)
	g.ConfigDir = cmp.Or(g.ConfigDir, paths.Config)
	if o.agents == nil { // else there is nothing to undo
		g.StateDir = cmp.Or(g.StateDir, paths.Data)
	}
	g.PermissionFile = cmp.Or(g.PermissionFile, h.permissionFile())
	if g.UserHome == "" {
		g.UserHome, _ = os.UserHomeDir() // without one there is nothing of the user's to look for
	}
	g.Allow = slices.Concat(settings.Permissions.Allow, g.Allow)
	g.Deny = slices.Concat(settings.Permissions.Deny, g.Deny)
	g.Sandbox = cmp.Or(g.Sandbox, settings.Sandbox.Mode)
	g.Hosts = slices.Concat(settings.Sandbox.Hosts, g.Hosts)
	g.Writable = slices.Concat(settings.Sandbox.Writable, g.Writable)
	g.Shell = cmp.Or(g.Shell, settings.ShellPath)
	g.UserShell = cmp.Or(g.UserShell, settings.UserShellPath)
	if own := settings.SearXNG; g.SearXNG.URL == "" {
		g.SearXNG = bench.SearXNG{
			URL: cmp.Or(own.Endpoint, h.o.Getenv("SEARXNG_ENDPOINT")), Token: own.Token, User: own.BasicUsername, Password: own.BasicPassword,
			Categories: own.Categories, Language: own.Language,
		}
		if settings.Source("searxng.endpoint").Kind == config.ByProject { // the user's proof of who asks is for their own server
			g.SearXNG.Token, g.SearXNG.User, g.SearXNG.Password = "", "", ""
		}
	}
	g.NoSecrets = g.NoSecrets || settings.Secrets.Enabled != nil && !*settings.Secrets.Enabled
	if g.Environ == nil {
		g.Environ = os.Environ()
	}
	if !g.NoSecrets {
		entries, err := archive.LoadSecrets(filepath.Join(g.Dir, ".burin"), paths.Config)
		if err != nil {
			return err
		}
		g.SecretEntries = append(g.SecretEntries, entries...)
	}
	if g.Warn == nil {
		g.Warn = o.Warn
	}
	if g.HTTP == nil {
		var err error
		if g.HTTP, err = webOf(h); err != nil {
			return err
		}
	}
	o.Approval = cmp.Or(o.Approval, settings.Approval)
	o.EditEngine = cmp.Or(o.EditEngine, settings.Edit.Mode)
	o.EditVariants = settings.Edit.ModelVariants
	o.Without = append(o.Without, switchedOff(settings)...)
	o.MaxTimeout = cmp.Or(o.MaxTimeout, settings.Int("tools.maxTimeout"))
	o.NoBackground = o.NoBackground || !settings.Bool("async.enabled")
	o.MaxJobs = cmp.Or(o.MaxJobs, settings.Int("async.maxJobs"))
	if settings.Bool("bash.autoBackground.enabled") {
		o.AutoBackground = cmp.Or(o.AutoBackground, time.Duration(settings.Int("bash.autoBackground.thresholdMs"))*time.Millisecond)
	}
	o.Steering = cmp.Or(o.Steering, agent.QueueMode(settings.Text("steeringMode")))
	o.FollowUp = cmp.Or(o.FollowUp, agent.QueueMode(settings.Text("followUpMode")))
	o.Interrupt = cmp.Or(o.Interrupt, agent.InterruptMode(settings.Text("interruptMode")))
	if o.Retry == (session.Retry{}) {
		o.Retry = retryOf(settings)
	}
	if o.Compaction == (compact.Settings{}) {
		o.Compaction = compactionOf(settings)
	}
	o.NoPromote = o.NoPromote || settings.ContextPromotion.Enabled != nil && !*settings.ContextPromotion.Enabled
	if o.Reminders == 0 {
		o.Reminders = remindersOf(settings)
	}
	switch {
	case o.Under != nil: // its session has one
		o.Advisor = session.AdvisorOff
	case o.Advisor == "":
		o.Advisor, o.AdvisorBudget = advisorOf(settings)
	}
	o.NoGoals = o.NoGoals || !settings.Bool("goal.enabled")
	if o.Tooling == (bench.Tooling{}) {
		o.Tooling = toolingOf(settings)
	}
	o.LargeImages = o.LargeImages || !settings.Bool("images.autoResize")
	o.NoImages = o.NoImages || settings.Images.BlockImages
	o.WebSearch = cmp.Or(o.WebSearch, settings.Providers.WebSearch)
	if o.AnswerTime == 0 {
		o.AnswerTime = time.Duration(settings.Int("ask.timeout")) * time.Second
	}
	if g := &o.Ground; g.GrantsLast == 0 {
		g.GrantsLast = time.Duration(settings.Int("permissions.grantDays")) * 24 * time.Hour
	}
	o.Titles = o.Under == nil && (o.Titles || settings.Titles.Model)
	o.SessionDir = cmp.Or(o.SessionDir, archive.Root(settings, paths))
	o.Seal = o.Seal || settings.Sessions.Encrypt
	if o.Expand == nil {
		e := &expander{host: h, desk: o.Desk}
		given := o.Programs
		o.Expand, o.Turn, o.Programs = e.expand, e.turn, func(run func(context.Context, bench.Program) (bench.Ended, error)) {
			e.begin(run)
			if given != nil {
				given(run)
			}
		}
	}
	o.Sources = h.sourcesAt(g.Dir)
	givePrompts(o)
	h.rules(o, settings)
	return nil
}

// webOf is a host's way to the web for tools.
func webOf(h *Host) (http.RoundTripper, error) {
	client, err := wire.NewClient(wire.OptionsFromEnv(h.o.Getenv))
	if err != nil {
		return nil, err
	}
	return client.Transport, nil
}

// readyKeys gives the keys of a session that is about to begin, and asks for that of a
// new one before anything else is on the screen.
func readyKeys(ctx context.Context, h *Host, o *Session) error {
	if o.Keys == nil {
		o.Keys = h.o.Keys(ctx)
	}
	if o.Keys != nil && o.Seal && o.Resume == "" && !o.NoSession {
		_, err := o.Keys(place.Wanted{})
		return err
	}
	return nil
}

// findModel chooses the model of a session, and how it is asked, as far as that is not
// given.
func (h *Host) findModel(ctx context.Context, o *Session, settings *config.Config) error {
	if o.External != nil || o.Client != nil && o.Model != nil {
		return nil
	}
	models, err := h.Models()
	if err != nil {
		return err
	}
	others := opener{models: models, blind: settings.Images.BlockImages}
	level := o.Thinking.Level
	var own *catalog.Model // whose client is made here; nil: none
	if o.Model == nil {
		choice, err := h.choose(ctx, models, o)
		if err != nil {
			return err
		}
		if key := o.Choice.APIKey; key != "" {
			models.Keys.Override(choice.Model.Provider, credential.Secret(key))
		}
		retention, err := models.CacheRetention()
		if err != nil {
			return err
		}
		if o.Cache.Retention == "" {
			o.Cache.Retention = retention
		}
		if o.Client == nil {
			own = choice.Model
			if o.Client, err = models.Client(choice.Model, ""); err != nil {
				return err
			}
		}
		o.Model, others.first = &choice.Model.Model, choice.Model
		if unsent := choice.Model.Tuning.Unsent; len(unsent) > 0 {
			is, it := "is", "it"
			if len(unsent) > 1 {
				is, it = "are", "them"
			}
			o.Warn(fmt.Sprintf("%s %s not sent: %s does not take %s", strings.Join(unsent, ", "), is, choice.Model.Provider, it))
		}
		if level == llm.LevelDefault {
			level = choice.Level
		}
	} else {
		found, err := models.Choose(ctx, catalog.Wish{Selector: o.Model.Ref()})
		if err != nil {
			return err
		}
		if o.Client, err = models.Client(found.Model, ""); err != nil {
			return err
		}
	}
	if o.Models == nil {
		o.Models = others
		assign(h, o, models, settings)
	}
	if own != nil {
		if err := keyFor(ctx, models, own, o); err != nil {
			return err
		}
	}
	if level == llm.LevelDefault {
		level = settings.DefaultThinkingLevel
	}
	o.Thinking.Level = level
	return nil
}

// keyFor makes sure that there is a key for a session's first model, unless others go on for it.
func keyFor(ctx context.Context, models *connect.Models, m *catalog.Model, o *Session) error {
	if len(o.Fallbacks[catalog.RoleDefault])+len(o.Fallbacks[m.Ref()]) > 0 {
		return nil
	}
	none := models.Missing(ctx, m)
	switch {
	case none == nil:
		return nil
	case o.Keyless == nil:
		return none
	}
	o.Keyless(none)
	return nil
}

// assign says which models have which roles, and which go on for others.
func assign(h *Host, o *Session, models *connect.Models, settings *config.Config) {
	resolver := models.Catalog.Resolver
	o.KeepModel = o.KeepModel || o.Choice.given() && h.o.Roles[catalog.RolePlan] == ""
	roles := map[string]string{}
	for _, role := range []string{catalog.RoleSmol, catalog.RolePlan, catalog.RoleVision, catalog.RoleTranscribe, catalog.RoleAdvisor} {
		if role == catalog.RoleVision && settings.Images.BlockImages {
			continue
		}
		if selector, _ := resolver.RoleSelector(role); selector != "" {
			roles[role] = "burin/" + role
		}
	}
	maps.Copy(roles, o.Roles)
	o.Roles = roles
	if o.Fallbacks != nil || len(settings.Retry.FallbackChains) == 0 || !settings.Bool("retry.modelFallback") {
		return
	}
	// A chain is that of a role, and so of the model that has the role, or of a model. Where
	// several are a model's, its own wins, then that of the role default.
	o.Fallbacks = map[string][]string{}
	known := resolver.Roles()
	keys := slices.Sorted(maps.Keys(settings.Retry.FallbackChains))
	slices.SortStableFunc(keys, func(a, b string) int {
		rank := func(key string) int {
			switch {
			case !slices.Contains(known, key):
				return 0
			case key == catalog.RoleDefault:
				return 1
			}
			return 2
		}
		return cmp.Compare(rank(a), rank(b))
	})
	for _, key := range keys {
		chain := settings.Retry.FallbackChains[key]
		selector := key
		if slices.Contains(known, key) {
			o.Fallbacks[key] = chain
			if set, _ := resolver.RoleSelector(key); set == "" {
				continue
			}
			selector = "burin/" + key
		}
		choice, err := resolver.Resolve(selector)
		if err != nil {
			o.Warn("retry.fallbackChains: " + words.Error(err))
			continue
		}
		if ref := choice.Model.Ref(); o.Fallbacks[ref] == nil {
			o.Fallbacks[ref] = chain
		}
	}
}

// opener finds models for a session.
type opener struct {
	models *connect.Models
	first  *catalog.Model // that the session begins with, perhaps at an address of its own; nil: it was given
	blind  bool           // no model gets images
}

// Open implements [session.Opener].
func (o opener) Open(ctx context.Context, selector string) (session.Opened, error) {
	choice, err := o.models.Choose(ctx, catalog.Wish{Selector: selector})
	if err != nil {
		return session.Opened{}, err
	}
	client, err := o.models.Client(choice.Model, "")
	if err != nil {
		return session.Opened{}, err
	}
	model := &choice.Model.Model
	if o.blind {
		model = bench.Blind(model)
	}
	return session.Opened{Model: model, Client: client, Level: choice.Level}, nil
}

// Larger implements [session.Opener].
func (o opener) Larger(m *llm.Model) string {
	known, ok := o.models.Catalog.Registry.Lookup(m.Provider, m.ID)
	if o.first != nil && m.Ref() == o.first.Ref() {
		known, ok = o.first, true
	}
	if !ok {
		return ""
	}
	if known, ok = catalog.Promotion(o.models.Catalog.Registry, known); !ok {
		return ""
	}
	return known.Ref()
}

// newestOpener opens models as models.yml has them now, for sessions that stay open while it changes.
type newestOpener struct {
	session.Opener
	host  *Host
	was   *connect.Models // those of Opener
	blind bool
}

// Open implements [session.Opener].
func (o newestOpener) Open(ctx context.Context, selector string) (session.Opened, error) {
	if now, err := o.host.Models(); err == nil && now != o.was {
		return opener{models: now, blind: o.blind}.Open(ctx, selector)
	}
	return o.Opener.Open(ctx, selector)
}

// choose finds the model to ask: of a session that is gone on with, its own, unless
// another is asked for.
func (h *Host) choose(ctx context.Context, models *connect.Models, o *Session) (catalog.Choice, error) {
	if o.Resume != "" && !o.Choice.given() {
		if ref, level := modelOf(ctx, h, o.Resume); ref != "" {
			choice, err := models.Choose(ctx, catalog.Wish{Selector: ref})
			if err == nil {
				if level != llm.LevelDefault {
					choice.Level = level
				}
				return choice, nil
			}
			o.Warn("the model of this session cannot be used: " + words.Error(err))
		}
	}
	c := &o.Choice
	switch {
	case c.BaseURL != "":
		return c.unlisted(models)
	case c.API != "":
		return catalog.Choice{}, usagef("--api says what --base-url speaks: give both")
	}
	choice, err := models.Choose(ctx, catalog.Wish{Selector: c.Model, Models: c.Models})
	if err == nil && choice.Note != "" {
		note := choice.Note
		if c.Model == "" { // it says why this model, but not which
			note = "asking " + choice.Model.Ref() + ", " + note
		}
		o.Note(note)
	}
	return choice, err
}

// modelOf is the model that a session used last, and how hard that was told to think; ""
// for what it does not say.
func modelOf(ctx context.Context, h *Host, path string) (string, llm.Level) {
	l, _, err := place.Read(ctx, path, h.o.Keys(ctx), transcript.Options{})
	if err != nil {
		return "", "" // who opens it says why
	}
	defer l.Close()
	c, err := l.Context(l.Leaf())
	if err != nil {
		return "", ""
	}
	level, err := llm.ParseLevel(string(c.Thinking))
	if err != nil {
		level = llm.LevelDefault // another program's word
	}
	return c.Models[catalog.RoleDefault], level
}

// APIs are the values of [Choice.API].
func APIs() []string {
	var names []string
	for _, api := range []llm.API{
		llm.APICompletions, llm.APIResponses, llm.APIAnthropic, llm.APIGoogle, llm.APIBedrock,
		llm.APIVertex, llm.APIAzureResponses, llm.APICodexResponses,
	} {
		names = append(names, string(api))
	}
	return names
}

// unlisted makes the model of BaseURL.
func (c *Choice) unlisted(models *connect.Models) (catalog.Choice, error) {
	provider, id, ok := llm.SplitRef(c.Model)
	if !ok {
		return catalog.Choice{}, usagef("--base-url needs --model provider/id; the provider may be any name, such as local")
	}
	var level llm.Level
	if i := strings.LastIndexByte(id, ':'); i > 0 {
		if l, err := llm.ParseLevel(id[i+1:]); err == nil {
			id, level = id[:i], l
		}
	}
	if names := APIs(); c.API != "" && !slices.Contains(names, c.API) {
		return catalog.Choice{}, usagef("--api: unknown wire format %q (want %s)", c.API, strings.Join(names, ", "))
	}
	model, err := models.Catalog.Registry.Unlisted(provider, id, llm.API(c.API), c.BaseURL)
	if err != nil {
		return catalog.Choice{}, asUsage(err)
	}
	// Bedrock also takes the name of a region.
	if u, err := url.Parse(c.BaseURL); model.API != llm.APIBedrock && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return catalog.Choice{}, usagef("--base-url: %q is not an address such as http://127.0.0.1:8000/v1", c.BaseURL)
	}
	return catalog.Choice{Model: model, Level: level}, nil
}
