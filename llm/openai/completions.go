package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// CompletionsOptions say how to reach an endpoint of Chat Completions.
type CompletionsOptions struct {
	// Endpoint.BaseURL is the URL to which "/chat/completions" is appended; it
	// includes the version ("https://openrouter.ai/api/v1"). Empty means OpenAI.
	// Endpoint.Key is sent as a bearer token; to Azure a key goes into the
	// api-key header and a token of Entra ID, which is a JWT, as bearer.
	wire.Endpoint
	// Compat overrides what is known of the endpoint's dialect; see [Detect].
	Compat Compat
}

// CompletionsClient speaks Chat Completions as its client.
type CompletionsClient struct{ o CompletionsOptions }

var _ llm.Client = (*CompletionsClient)(nil)

// NewCompletions makes a client. It keeps no state between requests and opens no
// connection before the first.
func NewCompletions(o CompletionsOptions) *CompletionsClient { return &CompletionsClient{o: o} }

const chatBaseURL = "https://api.openai.com/v1"

// Stream sends req; see [llm.Client].
//
// Request.Metadata and Request.PreviousResponseID have no use here: the provider
// takes metadata only for answers it stores. Temperature and top-p are left out
// for OpenAI's reasoning models, which refuse them unless reasoning is off. Of
// the server tools, web search works on OpenRouter and with OpenAI's search models.
func (c *CompletionsClient) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	if req.Model == nil {
		return llm.Failed(llm.Message{API: llm.APICompletions}, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "the request names no model"})
	}
	d := c.dialect(req.Model)
	return c.o.Stream(ctx, wire.Call{
		Request: req,
		API:     llm.APICompletions,
		Build:   func(ctx context.Context) (*http.Request, error) { return c.build(ctx, req, d) },
		Decoder: &chatDecoder{field: d.ReasoningContentField, leaky: leaksHarmony(req.Model.ID) || leaksHarmony(req.Model.Upstream())},
	})
}

// chatProtected are the keys of the body that carry the conversation, or on
// which reading the answer depends.
var chatProtected = []string{
	"model", "messages", "input", "contents", "stream", "stream_options", "tools", "tool_choice", "functions", "function_call",
}

func (c *CompletionsClient) build(ctx context.Context, req *llm.Request, d *chatDialect) (*http.Request, error) {
	body, err := d.encode(req)
	if err == nil {
		body, err = wire.MergeBody(body, nil, d.ExtraBody, chatProtected...)
	}
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
	}
	headers := map[string]string{}
	if c.o.Key != nil {
		key, err := c.o.Key(ctx)
		if err != nil {
			return nil, wire.CredentialError(err)
		}
		switch {
		case key == "":
		case d.host == chatHostAzure && !strings.HasPrefix(key, "eyJ"):
			headers["api-key"] = key
		default:
			headers["Authorization"] = "Bearer " + key
		}
	}
	base := c.o.BaseURL
	if base == "" {
		base = chatBaseURL
	}
	return c.o.NewRequest(ctx, req, base, "/chat/completions", body, headers, chatProtected...)
}

// chatDialect is a Compat in which everything is decided, and what else is known
// of the endpoint.
type chatDialect struct {
	Compat
	host chatHost
	// Families of models that have rules of their own wherever they are served.
	claude, kimi bool
	// standIn says that a message with calls needs reasoning even if it has none.
	standIn bool
}

func (c *CompletionsClient) dialect(m *llm.Model) *chatDialect {
	d := &chatDialect{
		Compat: Detect(c.o.BaseURL, m.Provider, m).Merge(c.o.Compat),
		host:   chatHostOf(c.o.BaseURL, m.Provider),
	}
	d.claude, d.kimi, _ = chatFamily(m)
	// OpenRouter wants what there is, and passes a stand-in on to models that
	// refuse it.
	d.standIn = chatOn(d.RequiresReasoningContentForToolCalls) && d.host != chatHostOpenRouter
	return d
}

// vendor reports whether the endpoint is OpenAI itself, or Azure's copy of it.
func (d *chatDialect) vendor() bool { return d.host == chatHostOpenAI || d.host == chatHostAzure }
