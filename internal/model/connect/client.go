package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/quota"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/gcpauth"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// Client makes the client for a model. session, which may be empty, keeps its
// requests with one credential where a provider has several. Nothing is sent
// and no key is looked up before the first request.
//
// # Where a key goes
//
// A provider's key goes to the address of the provider: the vendor's, or the one
// that the user gave instead, in models.yml, ANTHROPIC_BASE_URL or on the
// command line together with the provider's name. A key written beside an
// address in models.yml goes to that address only, and where it is written no
// other key goes there, the command line's excepted. A provider that needs no
// key is sent only that of the command line.
func (m *Models) Client(model *catalog.Model, session string) (llm.Client, error) {
	return m.clients.open(model, session)
}

// Missing is the error of a model's first request if no key for it is at hand, and nil
// otherwise. Nothing is sent, unsealed or renewed: that a key is refused, the request says.
func (m *Models) Missing(ctx context.Context, model *catalog.Model) *credential.NotFoundError {
	keys := m.clients.keyring(model, "")
	e, err := m.clients.endpoint(model, keys)
	if err == nil {
		_, err = m.clients.codec(model, e, keys) // clouds have credentials of their own
	}
	if err != nil || keys.optional {
		return nil
	}
	if found, err := m.Keys.Available(ctx, model.Provider); len(found) > 0 || err != nil {
		return nil
	}
	_, err = keys.find(ctx)
	none, _ := errors.AsType[*credential.NotFoundError](err)
	return none
}

// clients makes the clients of models.
type clients struct {
	env                         env
	accounts                    *accounts
	registry                    *catalog.Registry
	network                     *network
	dump                        *Dump // nil = none
	seen                        quota.Seen
	firstEvent, idle, noContent time.Duration
}

func (c *clients) open(model *catalog.Model, session string) (llm.Client, error) {
	if len(model.Needs) > 0 {
		return nil, fmt.Errorf("%s needs the variable %s", model.Provider, strings.Join(model.Needs, " and "))
	}
	keys := c.keyring(model, session)
	e, err := c.endpoint(model, keys)
	if err != nil {
		return nil, err
	}
	inner, err := c.codec(model, e, keys)
	if err != nil {
		return nil, err
	}
	return tuned(&switching{inner: inner, keys: keys}, model.Tuning), nil
}

func (c *clients) keyring(model *catalog.Model, session string) *keyring {
	keys := &keyring{accounts: c.accounts, provider: model.Provider, session: session}
	switch {
	case model.Origin == catalog.OriginUnlisted:
		// A server that the user names on the command line need not want a key.
		keys.optional, keys.foreign = true, true
		if c.accounts.settings(model.Provider).Pinned && !c.configuredAt(model) {
			keys.reach = givenKey
		}
	case model.Auth == catalog.AuthNone:
		keys.optional, keys.reach = true, givenKey
	}
	return keys
}

// configuredAt says whether the model is asked at the address of its provider.
func (c *clients) configuredAt(model *catalog.Model) bool {
	own, err := c.registry.Unlisted(model.Provider, model.ID, model.API, "")
	return err == nil && origin(own.BaseURL) == origin(model.BaseURL)
}

// endpoint is what the codecs have in common.
func (c *clients) endpoint(model *catalog.Model, keys *keyring) (wire.Endpoint, error) {
	shared, err := c.network.get()
	if err != nil {
		return wire.Endpoint{}, err
	}
	client := *shared
	client.Transport = &bearer{next: &dumping{next: &learning{next: shared.Transport, provider: model.Provider, seen: &c.seen}, dump: c.dump}, always: model.AuthHeader}
	e := wire.Endpoint{
		BaseURL: model.BaseURL, Headers: model.Headers, Transform: model.Transform, Client: &client, Key: keys.get,
		FirstEvent: c.firstEvent, Idle: c.idle, NoContent: c.noContent,
	}
	prefixes := []string{""}
	if model.API.Family() == llm.APIResponses || model.API == llm.APICompletions {
		prefixes = append(prefixes, "OPENAI_")
	}
	for _, prefix := range prefixes {
		if e.FirstEvent, err = c.env.timeout(e.FirstEvent, prefix+"STREAM_FIRST_EVENT_TIMEOUT_MS"); err != nil {
			return e, err
		}
		if e.Idle, err = c.env.timeout(e.Idle, prefix+"STREAM_IDLE_TIMEOUT_MS"); err != nil {
			return e, err
		}
		if e.NoContent, err = c.env.timeout(e.NoContent, prefix+"STREAM_NO_CONTENT_TIMEOUT_MS"); err != nil {
			return e, err
		}
	}
	return e, nil
}

// codec makes the client of the model's wire format.
func (c *clients) codec(model *catalog.Model, e wire.Endpoint, keys *keyring) (llm.Client, error) {
	noStrict := model.DisableStrictTools || c.env.on("NO_STRICT")
	switch model.API {
	case llm.APIAnthropic:
		return c.anthropic(model, e, keys, noStrict)
	case llm.APICompletions:
		compat := model.Compat
		if noStrict {
			compat.ToolStrictMode = openai.StrictNone
		}
		return openai.NewCompletions(openai.CompletionsOptions{Endpoint: e, Compat: compat}), nil
	case llm.APIResponses, llm.APICodexResponses, llm.APIAzureResponses:
		return c.responses(model, e, keys, noStrict)
	case llm.APIGoogle:
		return google.New(google.Options{Endpoint: e}), nil
	case llm.APIVertex:
		return c.vertex(model, e, keys), nil
	case llm.APIBedrock:
		return c.bedrock(model, e, keys), nil
	}
	return nil, fmt.Errorf("%s uses the wire format %q, which burin does not speak", model.Ref(), model.API)
}

func (c *clients) responses(model *catalog.Model, e wire.Endpoint, keys *keyring, noStrict bool) (llm.Client, error) {
	o := openai.ResponsesOptions{
		Endpoint: e, API: model.API, NoStrict: noStrict,
		// Servers on the user's own machine read only text as the result of a tool.
		PlainOutputs: model.Discovery != catalog.DiscoverNone,
		// Responses are stored at the vendor only when the user asks for it.
		Stateful: c.env.on("OPENAI_STATEFUL"),
	}
	if model.API == llm.APIAzureResponses {
		azure, err := openai.AzureFromEnv(c.env.get)
		if err != nil {
			return nil, err
		}
		if o.BaseURL != "" {
			azure.BaseURL = "" // an address that the user wrote, perhaps with its key beside it
		}
		o.Azure = azure
		if usesCloud(model, "azure-openai-responses", ".azure.com") {
			keys.optional, o.Authorize = true, openai.EntraID()
		}
	}
	return openai.NewResponses(o), nil
}

func (c *clients) vertex(model *catalog.Model, e wire.Endpoint, keys *keyring) llm.Client {
	auth := gcpauth.New(c.env.get)
	o := google.Options{Endpoint: e, Vertex: true, Project: auth.Project(), Location: auth.Location()}
	if usesCloud(model, "google-vertex", ".googleapis.com") {
		keys.optional, o.Authorize = true, auth.Authorize
	} else {
		// A server that stands in for Vertex and wants no key does not care, either.
		o.Project, o.Location = cmp.Or(o.Project, "-"), cmp.Or(o.Location, "-")
	}
	return google.New(o)
}

func (c *clients) bedrock(model *catalog.Model, e wire.Endpoint, keys *keyring) llm.Client {
	getenv := c.env.get
	if c.env.skipsAWS() {
		keys.reach = max(keys.reach, writtenKey) // the gateway must not see the real one
	}
	keys.optional = true
	if !usesCloud(model, "amazon-bedrock", ".amazonaws.com") {
		getenv = func(name string) string {
			switch name {
			case "AWS_BEDROCK_SKIP_AUTH":
				return "1"
			case "AWS_REGION":
				return cmp.Or(c.env.get(name), c.env.get("AWS_DEFAULT_REGION"), "us-east-1") // not worth reading a profile
			}
			return c.env.get(name)
		}
	}
	return bedrock.New(bedrock.Options{Endpoint: e, Getenv: getenv, ForceCache: isOn(c.env.get("AWS_BEDROCK_FORCE_CACHE"))})
}

// usesCloud says whether a request without a key may carry the credential that
// the cloud's own tools have: not to a provider that needs none, and to a server
// of the command line only if it is the cloud itself or named as it.
func usesCloud(model *catalog.Model, provider, domain string) bool {
	switch {
	case model.Auth == catalog.AuthNone:
		return false
	case model.Origin == catalog.OriginUnlisted:
		return model.Provider == provider || strings.HasSuffix(hostOf(model.BaseURL), domain)
	}
	return true
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// origin is the part of a URL that says whom a request reaches.
func origin(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// over lays headers over others; names that differ in case only are one.
func over(base, top map[string]string) map[string]string {
	out := make(map[string]string, len(base)+len(top))
	for _, headers := range []map[string]string{base, top} {
		for name, value := range headers {
			out[http.CanonicalHeaderKey(name)] = value
		}
	}
	return out
}
