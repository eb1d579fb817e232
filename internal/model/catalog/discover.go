package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
)

// KeyFunc gives the key of a provider, or "" where it has none.
type KeyFunc func(ctx context.Context, provider string) (string, error)

// How long a server may take to say which models it has.
const (
	localLimit  = 300 * time.Millisecond
	remoteLimit = 15 * time.Second
)

// localServer is a program on this machine that burin looks for unasked.
type localServer struct {
	kind      Discovery
	port      int
	variables []string // address; the first one set wins
	key       string   // variable of the key, for servers that were given one
	// optIn says that the server is looked for only when one of its variables is
	// set: its port is used by too many other programs.
	optIn bool
}

// localServers by the id of their provider. Their format is Chat Completions:
// every release of each has it, the Responses API only newer ones.
var localServers = map[string]localServer{
	"ollama":    {kind: DiscoverOllama, port: 11434, variables: []string{"OLLAMA_BASE_URL", "OLLAMA_HOST"}, key: "OLLAMA_API_KEY"},
	"llama.cpp": {kind: DiscoverLlamaCPP, port: 8080, variables: []string{"LLAMA_CPP_BASE_URL"}, key: "LLAMA_CPP_API_KEY"},
	"lm-studio": {kind: DiscoverLMStudio, port: 1234, variables: []string{"LM_STUDIO_BASE_URL"}, key: "LM_STUDIO_API_KEY"},
	"vllm":      {kind: DiscoverVLLM, port: 8000, variables: []string{"VLLM_BASE_URL"}, key: "VLLM_API_KEY", optIn: true},
}

// address is the server's base URL. OLLAMA_HOST may hold a bare host, and the
// address a server listens on instead of one to connect to.
func (s localServer) address(getenv func(string) string) string {
	for _, name := range s.variables {
		a := strings.TrimRight(strings.TrimSpace(getenv(name)), "/")
		if a == "" {
			continue
		}
		if !strings.Contains(a, "://") {
			a = "http://" + a
		}
		a = strings.Replace(a, "://0.0.0.0", "://127.0.0.1", 1)
		if scheme, host, _ := strings.Cut(a, "://"); !strings.ContainsAny(host, ":/") && scheme == "http" && name == "OLLAMA_HOST" {
			a = fmt.Sprintf("%s:%d", a, s.port)
		}
		return a
	}
	return fmt.Sprintf("http://127.0.0.1:%d", s.port)
}

// auth says whether the server wants a key: only if there is one for it.
func (s localServer) auth(getenv func(string) string) (a Auth, keyEnv string) {
	if getenv(s.key) != "" {
		return AuthKey, s.key
	}
	return AuthNone, ""
}

// wanted says whether to look for the server.
func (s localServer) wanted(getenv func(string) string) bool {
	return !s.optIn || getenv(s.key) != "" || slices.ContainsFunc(s.variables, func(v string) bool { return getenv(v) != "" })
}

// target is a server to ask.
type target struct {
	provider string
	kind     Discovery // "" = the vendor's own list of models
	api      llm.API
	baseURL  string
	headers  map[string]string
	bearer   bool // the key goes into Authorization whatever the format's own way
	auth     Auth
	keyEnv   string // variable that holds the key of a local server
	limit    time.Duration
}

// Report says how asking one provider went.
type Report struct {
	Provider string
	BaseURL  string
	Models   int   // that it has
	New      int   // that were not known
	Err      error // one line
}

// Search says whom to ask.
type Search struct {
	// Local asks the servers on this machine and those that models.yml names
	// with discovery.
	Local bool
	// Remote asks every other provider that can be used.
	Remote bool
	// Providers are asked too.
	Providers []string
}

// Discover asks servers which models they have, all at once: those on this
// machine may take 300 ms, others 15 s. What they say is used from then on and
// kept in the cache. Local servers that are not there are not reported unless
// models.yml or Providers names them.
func (r *Registry) Discover(ctx context.Context, s Search) []Report {
	targets, reports := r.targets(s)
	var mu sync.Mutex
	var wg sync.WaitGroup
	found := map[string]*server{}
	for _, t := range targets {
		wg.Go(func() {
			limited, cancel := context.WithTimeout(ctx, t.limit)
			defer cancel()
			models, err := r.ask(limited, t)
			rep := Report{Provider: t.provider, BaseURL: t.baseURL, Models: len(models), Err: err}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && t.kind != "" && r.provider(t.provider) == nil && !slices.Contains(s.Providers, t.provider) {
				return
			}
			if err == nil {
				found[t.provider] = &server{BaseURL: t.baseURL, Time: time.Now().UTC().Truncate(time.Second), Models: models}
				rep.New = r.countNew(t.provider, models)
			}
			reports = append(reports, rep)
		})
	}
	wg.Wait()
	if len(found) > 0 {
		if err := r.remember(found); err != nil {
			reports = append(reports, Report{Provider: "cache", Err: err})
		}
	}
	slices.SortFunc(reports, func(a, b Report) int { return strings.Compare(a.Provider, b.Provider) })
	return reports
}

func (r *Registry) countNew(provider string, models []foundModel) int {
	n := 0
	for _, m := range models {
		if _, known := r.Lookup(provider, m.ID); !known {
			n++
		}
	}
	return n
}

// targets lists whom to ask, and reports for those that cannot be asked.
func (r *Registry) targets(s Search) (targets []target, reports []Report) {
	seen := map[string]bool{}
	add := func(provider string, named bool) {
		if seen[provider] || r.disabled[provider] {
			return
		}
		seen[provider] = true
		t, err := r.target(provider)
		switch {
		case err == nil:
			targets = append(targets, t)
		case named:
			if errors.Is(err, errUnknownProvider) {
				err = r.unknownProvider(provider)
			}
			reports = append(reports, Report{Provider: provider, Err: err})
		}
	}
	for _, id := range s.Providers {
		add(id, true)
	}
	if s.Local {
		for id, server := range localServers {
			if server.wanted(r.opt.Getenv) || r.provider(id) != nil {
				add(id, false)
			}
		}
		for _, p := range r.config.Providers {
			if p.Discovery != nil {
				add(p.id, true)
			}
		}
	}
	if s.Remote {
		for _, id := range r.Providers() {
			if _, local := localServers[id]; !local && r.usable(id) {
				add(id, false)
			}
		}
	}
	return targets, reports
}

// usable says whether some model of the provider can be used.
func (r *Registry) usable(provider string) bool {
	return slices.ContainsFunc(r.All(), func(m *Model) bool { return m.Provider == provider && r.Available(m) })
}

var errUnknownProvider = errors.New("unknown provider")

// target says how to ask a provider.
func (r *Registry) target(provider string) (target, error) {
	p := r.provider(provider)
	local, isLocal := localServers[provider]
	if !isLocal && p == nil && !r.table.hasProvider(provider) {
		return target{}, errUnknownProvider
	}
	t := target{provider: provider, limit: remoteLimit}
	def := r.table.firstAPI(provider)
	if isLocal {
		t.kind, t.baseURL = local.kind, local.address(r.opt.Getenv)
		t.auth, t.keyEnv = local.auth(r.opt.Getenv)
		def = llm.APICompletions
	}
	t.api = p.api(def)
	if c, err := r.table.connection(provider, string(t.api)); err == nil {
		t.baseURL = c.baseURL
	}
	if p != nil {
		if p.Discovery != nil {
			t.kind = p.Discovery.Type
		}
		if p.BaseURL != "" {
			t.baseURL = string(p.BaseURL)
		}
		t.headers, t.bearer = headers(p.Headers), p.AuthHeader
		t.auth = cmp.Or(p.Auth, t.auth)
	}
	if provider == "anthropic" && (p == nil || p.BaseURL == "") {
		// The key that is asked with belongs to the address these variables name.
		if r.opt.Getenv("CLAUDE_CODE_USE_FOUNDRY") != "" {
			return t, errors.New("anthropic has no list of models that can be asked for on Foundry")
		}
		t.baseURL = cmp.Or(strings.TrimRight(r.opt.Getenv("ANTHROPIC_BASE_URL"), "/"), t.baseURL)
	}
	var missing []string
	if t.baseURL, missing = expandURL(t.baseURL, r.opt.Getenv); len(missing) > 0 {
		return t, fmt.Errorf("set %s to reach %s", strings.Join(missing, " and "), provider)
	}
	if t.kind == "" && (t.baseURL == "" || !listable[t.api.Family()]) {
		return t, fmt.Errorf("%s has no list of models that can be asked for", provider)
	}
	if isLoopback(t.baseURL) {
		t.limit = localLimit
	}
	return t, nil
}

// listable are the wire formats whose servers list their models.
var listable = map[llm.API]bool{
	llm.APIAnthropic: true, llm.APICompletions: true, llm.APIResponses: true, llm.APIGoogle: true,
}

// ResolveOrDiscover is Resolve that asks the servers on this machine, and the
// provider the selector names, before it says that there is no such model.
func (r *Registry) ResolveOrDiscover(ctx context.Context, selector string) (Choice, error) {
	c, err := r.Resolve(selector)
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		return c, err
	}
	s := Search{Local: true}
	provider, _, _ := llm.SplitRef(selector)
	if _, local := localServers[provider]; local || r.usable(provider) {
		s.Providers = []string{provider} // a vendor is not asked without a key
	}
	reports := r.Discover(ctx, s)
	c, err = r.Resolve(selector)
	if errors.As(err, &missing) {
		for _, rep := range reports {
			if rep.Provider == provider && rep.Err != nil {
				missing.Hint = rep.Err.Error()
			}
		}
	}
	return c, err
}
