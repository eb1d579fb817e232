package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Base URLs of the hosts that speak Responses, without "/responses".
const (
	respBaseURL  = "https://api.openai.com/v1"
	respCodexURL = "https://chatgpt.com/backend-api/codex"
)

// ResponsesOptions say how to reach a host of the Responses API.
//
// Endpoint.BaseURL is the URL to which "/responses" is appended; it includes the
// version ("http://127.0.0.1:11434/v1" for Ollama). Endpoint.Key is sent as a
// bearer token, to Azure in the api-key header.
type ResponsesOptions struct {
	wire.Endpoint
	// API is the variant: [llm.APIResponses] (also when empty),
	// [llm.APIAzureResponses] or [llm.APICodexResponses]. Codex takes no output
	// limit and no sampling options and stores nothing; whatever identifies the
	// account goes into Endpoint.Headers.
	API llm.API
	// Stateful has the host store responses for the time it chooses, so that
	// Request.PreviousResponseID can continue them. Otherwise nothing is stored
	// and that id is ignored. Codex is never stateful.
	Stateful bool
	// NoStrict never asks the host to enforce the schema of a tool.
	NoStrict bool
	// PlainOutputs is for servers that read only text as the result of a tool
	// (llama.cpp, Ollama): images and documents then follow in a user message.
	PlainOutputs bool
	// Azure says where models are deployed; used only by that variant.
	Azure Azure
	// Authorize puts a credential on a request when Key gives none. It sees the
	// request as it will be sent, and its body. See [EntraID].
	Authorize func(ctx context.Context, r *http.Request, body []byte) error
}

// ResponsesClient speaks the Responses API as its client.
type ResponsesClient struct{ o ResponsesOptions }

var _ llm.Client = (*ResponsesClient)(nil)

// NewResponses makes a client. It keeps no state between requests and opens no
// connection before the first.
func NewResponses(o ResponsesOptions) *ResponsesClient {
	if o.API == "" {
		o.API = llm.APIResponses
	}
	if o.API == llm.APICodexResponses {
		o.Stateful = false
	}
	return &ResponsesClient{o: o}
}

// Stream sends req; see [llm.Client].
//
// The format has no words for Request.Stop. Temperature and top-p are left out
// for OpenAI's reasoning models, which refuse them.
func (c *ResponsesClient) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	if req.Model == nil {
		return llm.Failed(llm.Message{API: c.o.API}, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "the request names no model"})
	}
	body, err := c.encode(req)
	if err != nil {
		m := llm.Message{API: c.o.API, Provider: req.Model.Provider, Model: req.Model.ID}
		return llm.Failed(m, &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()})
	}
	return c.o.Stream(ctx, wire.Call{
		Request:  req,
		API:      c.o.API,
		Build:    func(ctx context.Context) (*http.Request, error) { return c.build(ctx, req, body) },
		Decoder:  newRespDecoder(req.Model),
		Classify: respClassify,
	})
}

// respProtected are the keys of the body that carry the conversation.
var respProtected = []string{
	"model", "input", "messages", "instructions", "previous_response_id", "conversation",
	"stream", "tools", "tool_choice",
}

func (c *ResponsesClient) build(ctx context.Context, req *llm.Request, body []byte) (*http.Request, error) {
	base, path := c.o.BaseURL, "/responses"
	switch c.o.API {
	case llm.APIAzureResponses:
		var err error
		if base, err = c.o.Azure.baseURL(base); err != nil {
			return nil, &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
		}
		path += c.o.Azure.query()
	case llm.APICodexResponses:
		if base == "" {
			base = respCodexURL
		}
	default:
		if base == "" {
			base = respBaseURL
		}
	}
	key, err := c.key(ctx)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	switch {
	case key == "":
	case c.o.API == llm.APIAzureResponses:
		headers["api-key"] = key
	default:
		headers["Authorization"] = "Bearer " + key
	}
	r, err := c.o.NewRequest(ctx, req, base, path, body, headers, respProtected...)
	if err != nil || key != "" || c.o.Authorize == nil {
		return r, err
	}
	sent, err := wire.SentBody(r)
	if err != nil {
		return nil, err
	}
	if err := c.o.Authorize(ctx, r, sent); err != nil {
		return nil, wire.CredentialError(err)
	}
	return r, nil
}

func (c *ResponsesClient) key(ctx context.Context) (string, error) {
	if c.o.Key == nil {
		return "", nil
	}
	key, err := c.o.Key(ctx)
	if err != nil {
		return "", wire.CredentialError(err)
	}
	return key, nil
}

// respClassify sorts errors by the codes that only this API has.
func respClassify(status int, h http.Header, body []byte) *llm.Error {
	e := wire.Classify(status, h, body)
	switch {
	case e.Code == "invalid_prompt", strings.HasSuffix(e.Code, "_policy"):
		e.Kind = llm.ErrContentFilter // refused for what it is about
	case e.Code == "slow_down":
		e.Kind = llm.ErrOverload
	}
	return e
}

// respErrorOf sorts an error that came inside the stream, given as the JSON
// object that holds code and message.
func respErrorOf(raw json.RawMessage) *llm.Error {
	if len(raw) == 0 || string(raw) == "null" {
		return &llm.Error{Kind: llm.ErrOverload, Message: "the response failed and the server did not say why"}
	}
	body := append([]byte(`{"error":`), raw...)
	return respClassify(0, nil, append(body, '}'))
}

// ChainLost reports whether err means that the host no longer holds what the
// request refers to: the previous response, or an item of it. The same
// conversation then succeeds as a whole, without PreviousResponseID.
func ChainLost(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == "previous_response_not_found" || respLost.MatchString(e.Message)
}

var respLost = regexp.MustCompile(`(?i)previous response .*not found|item with id '\w+' not found|previous_response_id.*(not supported|zero data retention)|zero data retention`)
