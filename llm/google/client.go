package google

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Options say which service to talk to and how.
//
// BaseURL is the address up to and including the version, by default
// https://generativelanguage.googleapis.com/v1beta, or for Vertex the v1 address
// of the location. Where it has no path the version is added.
type Options struct {
	wire.Endpoint

	// Vertex selects Vertex AI. With a key the request goes to its express mode,
	// which knows neither project nor location; without one Project and Location
	// are needed.
	Vertex   bool
	Project  string
	Location string // a region, a multi-region (us, eu) or global
	// Authorize adds the credential of a Vertex request that has neither a key
	// nor an Authorization header of the user's. nil adds none.
	Authorize func(ctx context.Context, req *http.Request, body []byte) error
}

// Client sends requests to generateContent. It is safe for concurrent use.
type Client struct{ o Options }

var _ llm.Client = (*Client)(nil)

// New makes a client. Nothing is checked or read before the first request.
func New(o Options) *Client { return &Client{o: o} }

// Stream sends req and returns its answer.
func (c *Client) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	api := llm.APIGoogle
	if c.o.Vertex {
		api = llm.APIVertex
	}
	d := newDecoder(req)
	return c.o.Endpoint.Stream(ctx, wire.Call{
		Request:  req,
		API:      api,
		Build:    func(ctx context.Context) (*http.Request, error) { return c.build(ctx, req) },
		Frames:   func(r io.Reader) wire.FrameReader { return &frames{FrameReader: wire.NewFrames(r), d: d} },
		Decoder:  d,
		Classify: classify,
	})
}

// protected are the keys of the body that carry the conversation.
var protected = []string{"contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config"}

func (c *Client) build(ctx context.Context, req *llm.Request) (*http.Request, error) {
	if req.Model == nil || req.Model.Upstream() == "" {
		return nil, invalid("no model was named")
	}
	body, err := encodeRequest(req, c.o.Vertex)
	if err != nil {
		return nil, err
	}
	key := ""
	if c.o.Key != nil {
		if key, err = c.o.Key(ctx); err != nil {
			return nil, wire.CredentialError(err)
		}
	}
	id := req.Model.Upstream()
	if slices.ContainsFunc(strings.Split(id, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return nil, invalid("the id of the model holds a step of a path")
	}
	base, path, err := c.address(id, key != "")
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	if key != "" {
		headers["x-goog-api-key"] = key
	}
	hr, err := c.o.NewRequest(ctx, req, base, path, body, headers, protected...)
	if err != nil {
		return nil, err
	}
	if c.o.Vertex && key == "" && c.o.Authorize != nil && hr.Header.Get("Authorization") == "" {
		sent, err := wire.SentBody(hr)
		if err != nil {
			return nil, err
		}
		if err := c.o.Authorize(ctx, hr, sent); err != nil {
			return nil, wire.CredentialError(err)
		}
	}
	return hr, nil
}

func invalid(message string) *llm.Error {
	return &llm.Error{Kind: llm.ErrInvalidRequest, Message: message}
}

// address is where a model is called.
func (c *Client) address(model string, keyed bool) (base, path string, err error) {
	const method = ":streamGenerateContent?alt=sse"
	base = c.o.BaseURL
	if !c.o.Vertex {
		if base == "" {
			base = "https://generativelanguage.googleapis.com"
		}
		return withVersion(base, "/v1beta"), "/" + resource(model, "models/") + method, nil
	}
	model = resource(model, "publishers/google/models/")
	if keyed {
		if base == "" {
			base = "https://aiplatform.googleapis.com"
		}
		return withVersion(base, "/v1"), "/" + model + method, nil
	}
	if c.o.Project == "" {
		return "", "", &llm.Error{Kind: llm.ErrAuth, Message: "Vertex AI needs a project: set GOOGLE_CLOUD_PROJECT, or GOOGLE_CLOUD_API_KEY to use a key instead"}
	}
	if c.o.Location == "" {
		return "", "", invalid("Vertex AI needs a location: set GOOGLE_CLOUD_LOCATION, to global for example")
	}
	if base == "" {
		base = vertexHost(c.o.Location)
	}
	path = "/projects/" + url.PathEscape(c.o.Project) + "/locations/" + url.PathEscape(c.o.Location) + "/" + model + method
	return withVersion(base, "/v1"), path, nil
}

func vertexHost(location string) string {
	switch location {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + url.PathEscape(location) + "-aiplatform.googleapis.com"
}

// withVersion adds the version to an address that has no path.
func withVersion(base, version string) string {
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
		return strings.TrimRight(base, "/") + version
	}
	return base
}

// resource is the resource name of a model: ids that are one already (tuned
// models, other publishers, endpoints) stay as they are.
func resource(model, prefix string) string {
	for _, known := range []string{"tunedModels/", "publishers/", "endpoints/"} {
		if strings.HasPrefix(model, known) {
			return escapeSegments(model)
		}
	}
	return prefix + escapeSegments(strings.TrimPrefix(model, "models/"))
}

func escapeSegments(s string) string {
	segments := strings.Split(s, "/")
	for i, seg := range segments {
		segments[i] = url.PathEscape(seg)
	}
	return strings.Join(segments, "/")
}

// generation is the number in gemini-<n>, 3 for a model without one that is
// known to be current, and 0 for any other. What Gemini 3 changed (levels,
// strict signatures, media in results, call ids, tools together) hangs on it.
func generation(m *llm.Model) int {
	id := m.Upstream()
	if _, rest, ok := strings.Cut(id, "gemini-"); ok {
		digits := rest
		if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
			digits = rest[:i]
		}
		if n, err := strconv.Atoi(digits); err == nil {
			return n
		}
		if strings.HasSuffix(rest, "-latest") {
			return 3
		}
	}
	if m.Thinking.Mode == llm.ThinkingEffort {
		return 3
	}
	return 0
}

// frames reads the stream. Once a finish reason was seen, a connection that
// breaks instead of ending properly ends the stream all the same.
type frames struct {
	wire.FrameReader
	d *decoder
}

func (f *frames) Next() (wire.Frame, error) {
	frame, err := f.FrameReader.Next()
	if err != nil && (f.d.finish != "" || f.d.blocked != nil) {
		err = io.EOF
	}
	return frame, err
}
