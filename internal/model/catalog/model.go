package catalog

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// Model is a model with what is needed to reach it.
type Model struct {
	llm.Model

	BaseURL string // "" = the vendor's own, which the codec knows
	// Needs are environment variables that the base URL is made of and that are
	// not set. The model cannot be used before they are.
	Needs   []string
	Headers map[string]string // the provider's, with the model's own on top
	Compat  openai.Compat     // dialect of OpenAI-compatible servers
	// DisableStrictTools leaves the strict field out of tool schemas.
	DisableStrictTools bool
	Transform          wire.Transform
	Tuning             Tuning

	// APIKey and APIKeyEnv are references as written in models.yml: APIKey names
	// an environment variable or, where none of that name is set, is the key
	// itself; APIKeyEnv names a variable. Both are empty where nothing is written.
	APIKey, APIKeyEnv string
	Auth              Auth
	// AuthHeader asks for "Authorization: Bearer <key>" whatever the format's
	// own way to send a key is.
	AuthHeader bool
	Discovery  Discovery
	Origin     Origin
}

// Auth says how a provider knows its caller.
type Auth string

const (
	AuthKey   Auth = "apiKey"
	AuthNone  Auth = "none" // no key is needed or sent
	AuthOAuth Auth = "oauth"
)

// Discovery names the kind of server that can be asked for its models.
type Discovery string

const (
	DiscoverNone     Discovery = ""
	DiscoverOllama   Discovery = "ollama"
	DiscoverLlamaCPP Discovery = "llama.cpp"
	DiscoverLMStudio Discovery = "lm-studio"
	DiscoverVLLM     Discovery = "vllm"
)

// Origin says where the registry knows a model from.
type Origin string

const (
	OriginBuiltIn    Origin = "built-in"
	OriginRefreshed  Origin = "models.dev" // brought up to date by [Refresh]
	OriginConfig     Origin = "models.yml"
	OriginDiscovered Origin = "discovered"
	OriginUnlisted   Origin = "unlisted" // made by [Registry.Unlisted]
)

// apis are the wire formats that models.yml may name, with what is said of
// those that burin does not speak.
var apis = map[string]string{
	string(llm.APIAnthropic):      "",
	string(llm.APICompletions):    "",
	string(llm.APIResponses):      "",
	string(llm.APICodexResponses): "",
	string(llm.APIAzureResponses): "",
	string(llm.APIGoogle):         "",
	string(llm.APIVertex):         "",
	string(llm.APIBedrock):        "",
	apiOllama:                     "",
	"google-gemini-cli":           "burin does not use the private service of Gemini CLI; use google-generative-ai with a Gemini key",
	"cursor-agent":                "Cursor has no public service for other programs; use the vendor of the model",
}

// apiOllama is Ollama's own chat format. It is served through Ollama's Chat
// Completions, which every release of the last years has.
const apiOllama = "ollama-chat"

// isLoopback says whether the URL points at this machine.
func isLoopback(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// openAIBase adds the /v1 that OpenAI-compatible servers want to a base URL
// that has no path.
func openAIBase(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return strings.TrimRight(baseURL, "/")
	}
	return strings.TrimRight(baseURL, "/") + "/v1"
}

// expandURL replaces {NAME} by the environment variable of that name and lists
// the names that are not set.
func expandURL(s string, getenv func(string) string) (string, []string) {
	if !strings.Contains(s, "{") {
		return s, nil
	}
	var missing []string
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "{")
		out.WriteString(before)
		if !found {
			return out.String(), missing
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString("{" + rest)
			return out.String(), missing
		}
		value := getenv(name)
		if value == "" && !slices.Contains(missing, name) {
			missing = append(missing, name)
			value = "{" + name + "}"
		}
		out.WriteString(value)
		s = after
	}
}

// free is the price of a model that costs nothing.
func free() llm.Price {
	zero := llm.PerMillion(0)
	return llm.Price{Input: zero, Output: zero, CacheRead: zero, CacheWrite: zero, CacheWriteLong: zero}
}

// levelRange lists the levels from low to high, both included.
func levelRange(from, to llm.Level) ([]llm.Level, error) {
	all := llm.Levels()
	i, j := slices.Index(all, from), slices.Index(all, to)
	if i > j {
		return nil, fmt.Errorf("minLevel %s is above maxLevel %s", from, to)
	}
	return all[i : j+1], nil
}
