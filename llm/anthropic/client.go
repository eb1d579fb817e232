package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Options say where and how a client sends its requests.
type Options struct {
	wire.Endpoint
	// Host is who serves the models; the zero value is Anthropic itself or a
	// host that imitates it.
	Host Host
	// Region of Bedrock (default us-east-1) or location of Vertex (default global).
	Region string
	// Project is the Google Cloud project of Vertex.
	Project string
	// BearerAuth sends the key as a bearer token instead of as x-api-key. Keys
	// that are recognized as OAuth tokens are always sent so.
	BearerAuth bool
	// DisableStrictTools never asks the host to enforce a tool's schema, for
	// hosts that do not know how.
	DisableStrictTools bool
	// NativeTools sends tools that Claude was trained on under Anthropic's names, which hosts that
	// imitate Anthropic don't know: see [llm.Tool].
	NativeTools bool
	// LongContext asks for a window of a million tokens where the model's
	// ordinary window is smaller.
	LongContext bool
	// Authorize adds the credential of a cloud to a finished request, for which
	// Key returns none. It must not change the body.
	Authorize func(ctx context.Context, req *http.Request, body []byte) error
}

// Client sends requests in the Messages format.
type Client struct{ o Options }

var _ llm.Client = (*Client)(nil)

// New makes a client. It is safe for concurrent use.
func New(o Options) *Client { return &Client{o} }

// Stream sends req and returns its answer.
func (c *Client) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	call, err := c.prepare(req)
	if err != nil {
		m := llm.Message{API: llm.APIAnthropic}
		if req.Model != nil {
			m.Provider, m.Model = req.Model.Provider, req.Model.ID
		}
		return llm.Failed(m, asError(err))
	}
	return c.o.Endpoint.Stream(ctx, call)
}

// prepare encodes before the exchange begins, so that a request that makes no
// sense fails without one.
func (c *Client) prepare(req *llm.Request) (wire.Call, error) {
	path, err := c.path(req.Model)
	if err != nil {
		return wire.Call{}, err
	}
	r, betas, err := c.encode(req)
	if err != nil {
		return wire.Call{}, err
	}
	betas = c.betas(req, betas)
	body, err := c.body(r, req.Model.Upstream(), betas)
	if err != nil {
		return wire.Call{}, err
	}
	call := wire.Call{
		Request: req, API: llm.APIAnthropic, Decoder: new(decoder), Classify: classify,
		Build: func(ctx context.Context) (*http.Request, error) {
			return c.build(ctx, &c.o.Endpoint, req, path, body, betas)
		},
	}
	if c.o.Host == HostBedrock {
		call.Frames = newChunks
	}
	return call, nil
}

// build makes the HTTP request with its credential.
func (c *Client) build(ctx context.Context, e *wire.Endpoint, req *llm.Request, path string, body []byte, betas []string) (*http.Request, error) {
	key := ""
	if e.Key != nil {
		var err error
		if key, err = e.Key(ctx); err != nil {
			return nil, wire.CredentialError(err)
		}
	}
	headers := map[string]string{}
	switch c.o.Host {
	case HostBedrock:
		headers["Accept"] = "application/vnd.amazon.eventstream"
	case "":
		headers["anthropic-version"] = "2023-06-01"
	}
	switch {
	case key == "":
	case c.o.BearerAuth || c.o.Host != "" || isOAuth(key):
		headers["Authorization"] = "Bearer " + key
	default:
		headers["x-api-key"] = key
	}
	if c.o.Host == "" && isOAuth(key) {
		betas = addBetas(betas, "oauth-2025-04-20")
	}
	hr, err := e.NewRequest(ctx, req, c.base(), path, body, headers, protected...)
	if err != nil {
		return nil, err
	}
	hr.Header.Del("anthropic-beta")
	if c.o.Host != HostBedrock && len(betas) > 0 {
		hr.Header.Set("anthropic-beta", strings.Join(betas, ","))
	}
	if key == "" && c.o.Authorize != nil {
		final, err := wire.SentBody(hr)
		if err != nil {
			return nil, err
		}
		if err := c.o.Authorize(ctx, hr, final); err != nil {
			return nil, wire.CredentialError(err)
		}
	}
	return hr, nil
}

// isOAuth recognizes the tokens of subscriptions.
func isOAuth(key string) bool { return strings.HasPrefix(key, "sk-ant-oat") }

func asError(err error) *llm.Error {
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	return wire.TransportError(err)
}

// CountTokens asks the provider how many tokens the request's prompt is long:
// system prompt, tools and messages. It costs nothing. err is an [*llm.Error].
func (c *Client) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	n, err := c.countTokens(ctx, req)
	if err == nil {
		return n, nil
	}
	e := *asError(err)
	if ctx.Err() != nil {
		e = llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: ctx.Err()}
	}
	if e.Provider == "" && req.Model != nil {
		e.Provider = req.Model.Provider
	}
	return 0, &e
}

// maxCountAnswer is how much of a count's answer is read, in bytes.
const maxCountAnswer = 64 << 10

func (c *Client) countTokens(ctx context.Context, req *llm.Request) (int, error) {
	path, err := c.countPath(req.Model)
	if err != nil {
		return 0, err
	}
	r, betas, err := c.encode(req)
	if err != nil {
		return 0, err
	}
	betas = c.betas(req, betas)
	body, err := c.countBody(r, req.Model.Upstream(), betas)
	if err != nil {
		return 0, err
	}
	// Extra keys belong to generation; the count refuses them.
	plain, e := *req, c.o.Endpoint
	plain.Extra, e.Transform.ExtraBody = nil, nil
	hr, err := c.build(ctx, &e, &plain, path, body, betas)
	if err != nil {
		return 0, err
	}
	hr.Header.Set("Accept", "application/json")
	client := e.Client
	if client == nil {
		client = wire.DefaultClient()
	}
	resp, err := client.Do(hr)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxCountAnswer))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode/100 != 2 {
		return 0, classify(resp.StatusCode, resp.Header, answer)
	}
	var count struct {
		Input   *int `json:"input_tokens"`
		Bedrock *int `json:"inputTokens"`
	}
	_ = json.Unmarshal(answer, &count) // no count is reported below
	switch {
	case count.Input != nil:
		return *count.Input, nil
	case count.Bedrock != nil:
		return *count.Bedrock, nil
	}
	return 0, &llm.Error{Kind: llm.ErrTransport, Message: "the host answered the count without a number of tokens"}
}
