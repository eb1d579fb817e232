package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
)

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

// LocalProviders lists the servers on this machine that burin can look for.
func LocalProviders() []string { return slices.Sorted(maps.Keys(localServers)) }

var errUnknownProvider = errors.New("unknown provider")

// target says how to ask a provider.
func (s *sources) target(provider string) (target, error) {
	p := s.provider(provider)
	local, isLocal := localServers[provider]
	if !isLocal && p == nil && !s.table.hasProvider(provider) {
		return target{}, errUnknownProvider
	}
	t := target{provider: provider, limit: remoteLimit}
	def := s.table.firstAPI(provider)
	if isLocal {
		t.kind, t.baseURL = local.kind, local.address(s.getenv)
		t.auth, t.keyEnv = local.auth(s.getenv)
		def = llm.APICompletions
	}
	t.api = p.api(def)
	if c, err := s.table.connection(provider, string(t.api)); err == nil {
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
		if s.getenv("CLAUDE_CODE_USE_FOUNDRY") != "" {
			return t, errors.New("anthropic has no list of models that can be asked for on Foundry")
		}
		t.baseURL = cmp.Or(strings.TrimRight(s.getenv("ANTHROPIC_BASE_URL"), "/"), t.baseURL)
	}
	var missing []string
	if t.baseURL, missing = expandURL(t.baseURL, s.getenv); len(missing) > 0 {
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

// current says whether the server was asked where the provider is now.
func (s *sources) current(provider string, from *server) bool {
	t, err := s.target(provider)
	return err == nil && t.baseURL == from.BaseURL
}

// listable are the wire formats whose servers list their models.
var listable = map[llm.API]bool{
	llm.APIAnthropic: true, llm.APICompletions: true, llm.APIResponses: true, llm.APIGoogle: true,
}
