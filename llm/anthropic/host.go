package anthropic

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// Host is who serves the models.
type Host string

const (
	HostBedrock Host = "bedrock" // AWS Bedrock's InvokeModel; its Converse API is another format
	HostVertex  Host = "vertex"  // Google Vertex AI
)

// base is the base URL of the host.
func (c *Client) base() string {
	base := strings.TrimRight(c.o.BaseURL, "/")
	switch c.o.Host {
	case HostBedrock:
		if base == "" {
			base = "https://bedrock-runtime." + url.PathEscape(c.region()) + ".amazonaws.com"
		}
	case HostVertex:
		if base == "" {
			base = vertexBase(c.region())
		}
	default:
		if base == "" {
			base = "https://api.anthropic.com"
		}
		// Both forms are in use for hosts that imitate the API.
		base = strings.TrimSuffix(base, "/v1")
	}
	return base
}

func (c *Client) region() string {
	switch {
	case c.o.Region != "":
		return c.o.Region
	case c.o.Host == HostBedrock:
		return "us-east-1"
	}
	return "global"
}

func vertexBase(region string) string {
	switch region {
	case "global":
		return "https://aiplatform.googleapis.com/v1"
	case "us", "eu":
		return "https://aiplatform." + region + ".rep.googleapis.com/v1"
	}
	return "https://" + url.PathEscape(region) + "-aiplatform.googleapis.com/v1"
}

// path is the path of a request for the model.
func (c *Client) path(m *llm.Model) (string, error) {
	if m == nil {
		return "", invalid("the request names no model")
	}
	switch c.o.Host {
	case HostBedrock:
		return "/model/" + escapeID(m.Upstream()) + "/invoke-with-response-stream", nil
	case HostVertex:
		return c.vertexPath(url.PathEscape(m.Upstream()) + ":streamRawPredict")
	}
	return "/v1/messages", nil
}

// countPath is the path that counts the tokens of a request.
func (c *Client) countPath(m *llm.Model) (string, error) {
	if m == nil {
		return "", invalid("the request names no model")
	}
	switch c.o.Host {
	case HostBedrock:
		return "/model/" + escapeID(m.Upstream()) + "/count-tokens", nil
	case HostVertex:
		return c.vertexPath("count-tokens:rawPredict")
	}
	return "/v1/messages/count_tokens", nil
}

func (c *Client) vertexPath(model string) (string, error) {
	if c.o.Project == "" {
		return "", invalid("Vertex needs a Google Cloud project: set GOOGLE_CLOUD_PROJECT or the provider's project")
	}
	return "/projects/" + url.PathEscape(c.o.Project) + "/locations/" + url.PathEscape(c.region()) + "/publishers/anthropic/models/" + model, nil
}

// escapeID makes a model id or the ARN of an inference profile one segment of a
// path, as the AWS signature expects it.
func escapeID(id string) string { return strings.ReplaceAll(url.PathEscape(id), ":", "%3A") }

// countBody is the body of a count: the request without what only generation
// knows. Bedrock takes a whole request, wrapped.
func (c *Client) countBody(r *request, model string, betas []string) ([]byte, error) {
	if c.o.Host == HostBedrock {
		body, err := c.body(r, model, betas)
		if err != nil {
			return nil, err
		}
		type invoke struct {
			Body []byte `json:"body"`
		}
		type input struct {
			InvokeModel invoke `json:"invokeModel"`
		}
		return wire.Marshal(struct {
			Input input `json:"input"`
		}{input{invoke{body}}})
	}
	r.MaxTokens, r.Temperature, r.TopP, r.TopK, r.StopSequences, r.Metadata = 0, nil, nil, nil, nil, nil
	r.Model = model
	if c.o.Host == HostVertex {
		r.Version = "vertex-2023-10-16"
	}
	body, err := wire.Marshal(r)
	if err != nil {
		return nil, invalid("the request cannot be written as JSON: %v", err)
	}
	return body, nil
}

const betaHeader = "anthropic-beta"

// betas are the beta features of a request: the codec's own and those that the
// headers of the endpoint and of the request name. Where headers remove the
// header, what stood before is gone.
func (c *Client) betas(r *llm.Request, own []string) []string {
	all := addBetas(nil, own...)
	for _, name := range c.o.Transform.StripHeaders {
		if strings.EqualFold(name, betaHeader) {
			all = nil
		}
	}
	for _, headers := range []map[string]string{c.o.Transform.SetHeaders, c.o.Headers, r.Headers} {
		for name, value := range headers {
			switch {
			case http.CanonicalHeaderKey(name) != http.CanonicalHeaderKey(betaHeader):
			case value == "":
				all = nil
			default:
				all = addBetas(all, strings.Split(value, ",")...)
			}
		}
	}
	return all
}

// addBetas appends what is not there yet. It never changes list.
func addBetas(list []string, more ...string) []string {
	out := slices.Clone(list)
	for _, b := range more {
		if b = strings.TrimSpace(b); b != "" && !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}
