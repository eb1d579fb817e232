package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/awsauth"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/gcpauth"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// Client makes the client for a model. session, which may be empty, keeps its
// requests with one credential where a provider has several. Nothing is sent
// and no key is looked up before the first request.
func (m *Models) Client(model *catalog.Model, session string) (llm.Client, error) {
	if len(model.Needs) > 0 {
		return nil, fmt.Errorf("%s needs the variable %s", model.Provider, strings.Join(model.Needs, " and "))
	}
	client, err := m.client()
	if err != nil {
		return nil, err
	}
	keys := &keyring{keys: m.Keys, provider: model.Provider, session: session}
	// A server that the user names on the command line need not want a key.
	keys.optional = model.Auth == catalog.AuthNone || model.Origin == catalog.OriginUnlisted
	e := wire.Endpoint{
		BaseURL: model.BaseURL, Headers: model.Headers, Transform: model.Transform, Client: client,
		Key:        keys.get,
		FirstEvent: m.env.timeout(m.o.FirstEvent, "STREAM_FIRST_EVENT_TIMEOUT_MS"),
		Idle:       m.env.timeout(m.o.Idle, "STREAM_IDLE_TIMEOUT_MS"),
	}
	if model.API.Family() == llm.APIResponses || model.API == llm.APICompletions {
		e.FirstEvent = m.env.timeout(e.FirstEvent, "OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS")
		e.Idle = m.env.timeout(e.Idle, "OPENAI_STREAM_IDLE_TIMEOUT_MS")
	}
	inner, err := m.codec(model, e, keys)
	if err != nil {
		return nil, err
	}
	return &switching{inner: inner, keys: m.Keys}, nil
}

// codec makes the client of the model's wire format.
func (m *Models) codec(model *catalog.Model, e wire.Endpoint, keys *keyring) (llm.Client, error) {
	noStrict := model.DisableStrictTools || m.env.on("NO_STRICT")
	switch model.API {
	case llm.APIAnthropic:
		return m.anthropic(model, e, keys, noStrict)
	case llm.APICompletions:
		compat := model.Compat
		if noStrict {
			compat.ToolStrictMode = openai.StrictNone
		}
		return openai.NewCompletions(openai.CompletionsOptions{Endpoint: e, Compat: compat}), nil
	case llm.APIResponses, llm.APICodexResponses, llm.APIAzureResponses:
		o := openai.ResponsesOptions{Endpoint: e, API: model.API, NoStrict: noStrict, PlainOutputs: model.Discovery != catalog.DiscoverNone}
		// Responses are stored at the vendor only when the user asks for it.
		o.Stateful = m.env.on("OPENAI_STATEFUL")
		if model.API == llm.APIAzureResponses {
			azure, err := openai.AzureFromEnv(m.env.get)
			if err != nil {
				return nil, err
			}
			keys.optional = true
			o.Azure, o.Authorize = azure, openai.EntraID()
		}
		return openai.NewResponses(o), nil
	case llm.APIGoogle:
		return google.New(google.Options{Endpoint: e}), nil
	case llm.APIVertex:
		keys.optional = true
		auth := gcpauth.New(m.env.get)
		return google.New(google.Options{Endpoint: e, Vertex: true, Project: auth.Project(), Location: auth.Location(), Authorize: auth.Authorize}), nil
	case llm.APIBedrock:
		keys.optional = true
		return bedrock.New(bedrock.Options{Endpoint: e, Getenv: m.env.get, ForceCache: isOn(m.env.get("AWS_BEDROCK_FORCE_CACHE"))}), nil
	}
	return nil, fmt.Errorf("%s uses the wire format %q, which burin does not speak", model.Ref(), model.API)
}

// anthropic makes the client of the Messages format for the host that the base
// URL names.
func (m *Models) anthropic(model *catalog.Model, e wire.Endpoint, keys *keyring, noStrict bool) (llm.Client, error) {
	if model.Provider == "anthropic" && model.Origin == catalog.OriginBuiltIn {
		foundry, on, err := anthropic.FoundryFromEnv(m.env.get)
		if err != nil {
			return nil, err
		}
		if on {
			foundry.Client, foundry.FirstEvent, foundry.Idle = e.Client, e.FirstEvent, e.Idle
			return anthropic.New(foundry), nil
		}
		if base := m.env.get("ANTHROPIC_BASE_URL"); base != "" {
			e.BaseURL = base
		}
	}
	if list := m.env.get("ANTHROPIC_CUSTOM_HEADERS"); list != "" && !isAnthropic(e.BaseURL) {
		headers, err := anthropic.ParseCustomHeaders(list)
		if err != nil {
			return nil, fmt.Errorf("ANTHROPIC_CUSTOM_HEADERS: %w", err)
		}
		for name, value := range e.Headers {
			headers[name] = value
		}
		e.Headers = headers
	}
	o := anthropic.Options{Endpoint: e, BearerAuth: model.AuthHeader, DisableStrictTools: noStrict}
	switch host := hostOf(e.BaseURL); {
	case strings.HasPrefix(host, "bedrock-runtime.") && strings.HasSuffix(host, ".amazonaws.com"):
		keys.optional = true
		auth := awsauth.New(awsauth.Options{Getenv: m.env.get})
		o.Host, o.Region = anthropic.HostBedrock, strings.Split(host, ".")[1]
		o.Authorize = func(ctx context.Context, r *http.Request, body []byte) error {
			return auth.Authorize(ctx, r, body, "bedrock")
		}
	case strings.HasSuffix(host, "aiplatform.googleapis.com"):
		keys.optional = true
		auth := gcpauth.New(m.env.get)
		o.Host, o.Project, o.Region, o.Authorize = anthropic.HostVertex, auth.Project(), auth.Location(), auth.Authorize
	}
	return anthropic.New(o), nil
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func isAnthropic(base string) bool {
	host := hostOf(base)
	return base == "" || host == "anthropic.com" || strings.HasSuffix(host, ".anthropic.com")
}
