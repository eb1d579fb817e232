package bedrock

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/awsauth"
	"github.com/burin-dev/burin/llm/wire"
)

// Options say where and how requests go.
type Options struct {
	// Endpoint: BaseURL is a region ("us-west-2", "bedrock:us-west-2"), a URL of
	// Bedrock (that of its control plane is changed to the runtime's), any other
	// URL that serves Converse, or empty for the region that the ARN of the model
	// names or else the AWS settings. Key gives a Bedrock API key; without one
	// the request is authorized as the AWS tools would do it.
	wire.Endpoint
	Region  string // wins over AWS_REGION; the URL of Bedrock in BaseURL wins over it
	Profile string // of the AWS configuration; wins over AWS_PROFILE
	// Getenv reads AWS_* variables; nil = os.Getenv.
	Getenv func(string) string
	// ForceCache sets cache points for models that are not known to take them.
	ForceCache bool
}

// Client sends requests to Bedrock.
type Client struct {
	options Options
	auth    *awsauth.Auth
}

var _ llm.Client = (*Client)(nil)

// New makes a client. Nothing is read or sent before its first request.
func New(o Options) *Client {
	return &Client{options: o, auth: awsauth.New(awsauth.Options{Region: o.Region, Profile: o.Profile, Getenv: o.Getenv})}
}

// Stream sends req.
func (c *Client) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	return c.options.Stream(ctx, wire.Call{
		Request:  req,
		API:      llm.APIBedrock,
		Build:    func(ctx context.Context) (*http.Request, error) { return c.build(ctx, req) },
		Frames:   func(r io.Reader) wire.FrameReader { return wire.NewEventStream(r) },
		Decoder:  &decoder{},
		Classify: classify,
	})
}

func (c *Client) build(ctx context.Context, r *llm.Request) (*http.Request, error) {
	if r.Model == nil {
		return nil, invalid("the request names no model")
	}
	body, err := encode(r, c.options.ForceCache, c.options.Transform.ExtraBody[fieldsKey])
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"Accept": "application/vnd.amazon.eventstream"}
	if c.options.Key != nil {
		key, err := c.options.Key(ctx)
		if err != nil {
			return nil, wire.CredentialError(err)
		}
		if key != "" {
			headers["Authorization"] = "Bearer " + key
		}
	}
	model := r.Model.Upstream()
	req, err := c.options.NewRequest(ctx, r, c.endpoint(ctx, model), "/model/"+escapeID(model)+"/converse-stream", body, headers, protected...)
	if err != nil {
		return nil, err
	}
	signed, err := wire.SentBody(req)
	if err != nil {
		return nil, err
	}
	if err := c.auth.Authorize(ctx, req, signed, "bedrock"); err != nil {
		return nil, wire.CredentialError(err)
	}
	return req, nil
}

// escapeID escapes an id for one segment of the path as AWS does: all but
// letters, digits and -._~, so that ':' and '/' of ids and ARNs do not act.
func escapeID(id string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(id), "+", "%20"), "%7E", "~")
}

// endpoint is the base URL of a request. It names the region to sign for
// wherever the host is one of Amazon's.
func (c *Client) endpoint(ctx context.Context, model string) string {
	base := strings.TrimPrefix(strings.TrimSpace(c.options.BaseURL), "bedrock:")
	if base == "" {
		// No region but its own knows what an ARN names.
		if region := regionOfARN(model); region != "" && c.options.Region == "" {
			return regionURL(region)
		}
		return regionURL(c.auth.Region(ctx))
	}
	if isRegion(base) {
		return regionURL(base)
	}
	u, err := url.Parse(base)
	if err != nil || awsauth.RegionOf(u.Hostname()) == "" {
		return base
	}
	for _, control := range []string{"bedrock.", "bedrock-fips."} {
		if rest, ok := strings.CutPrefix(u.Host, control); ok {
			u.Host = strings.Replace(control, "bedrock", "bedrock-runtime", 1) + rest
		}
	}
	return u.String()
}

// isRegion reports whether s looks like us-west-2 or us-gov-east-1.
func isRegion(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) < 3 {
		return false
	}
	last := len(parts) - 1
	for i, p := range parts {
		set := "abcdefghijklmnopqrstuvwxyz"
		if i == last {
			set = "0123456789"
		}
		if p == "" || strings.Trim(p, set) != "" {
			return false
		}
	}
	return true
}

// regionOfARN is the region of arn:aws:bedrock:us-west-2:…, "" if s is none.
func regionOfARN(s string) string {
	parts := strings.SplitN(s, ":", 5)
	if len(parts) < 5 || parts[0] != "arn" || parts[2] != "bedrock" || !isRegion(parts[3]) { // the region becomes part of a host name
		return ""
	}
	return parts[3]
}

func regionURL(region string) string {
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	return "https://bedrock-runtime." + url.PathEscape(region) + "." + domain
}

func invalid(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.ErrInvalidRequest, Message: fmt.Sprintf(format, args...)}
}
