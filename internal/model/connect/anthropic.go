package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/awsauth"
	"github.com/burin-dev/burin/llm/gcpauth"
	"github.com/burin-dev/burin/llm/wire"
)

// windowOnRequest matches the models whose window of a million tokens is given
// only to who asks for it. Whoever has it sets contextWindow in models.yml.
var windowOnRequest = regexp.MustCompile(`claude-sonnet-4(-[05])?([-@]20\d{6})?(-v\d+(:\d+)?)?$`)

// anthropic makes the client of the Messages format for the host that the base
// URL names.
func (c *clients) anthropic(model *catalog.Model, e wire.Endpoint, keys *keyring, noStrict bool) (llm.Client, error) {
	o := anthropic.Options{Endpoint: e, BearerAuth: model.AuthHeader, DisableStrictTools: noStrict}
	o.LongContext = model.ContextWindow >= 1_000_000 && windowOnRequest.MatchString(model.Upstream())
	if c.redirectable(model) {
		done, err := c.foundry(&o, keys)
		if err == nil && !done {
			err = c.redirect(&o, keys)
		}
		if err != nil {
			return nil, err
		}
	}
	host := hostOf(o.BaseURL)
	if region := awsauth.RegionOf(host); region != "" {
		auth := awsauth.New(awsauth.Options{Getenv: c.env.get})
		o.Host, o.Region = anthropic.HostBedrock, region
		o.Authorize = func(ctx context.Context, r *http.Request, body []byte) error {
			return auth.Authorize(ctx, r, body, "bedrock")
		}
	} else if location, ok := vertexLocation(host); ok {
		auth := gcpauth.New(c.env.get)
		o.Host, o.Project, o.Region, o.Authorize = anthropic.HostVertex, auth.Project(), location, auth.Authorize
		if location == "" {
			o.Region = auth.Location()
		}
		if u, err := url.Parse(o.BaseURL); err == nil && strings.Trim(u.Path, "/") == "" {
			o.BaseURL = strings.TrimRight(o.BaseURL, "/") + "/v1"
		}
	}
	o.NativeTools = model.Provider == "anthropic" && o.Host == "" && !noStrict
	if o.Host != "" {
		// A key of Anthropic's is none of the cloud's.
		keys.optional, keys.reach = true, max(keys.reach, writtenKey)
	}
	return anthropic.New(o), nil
}

// redirectable says whether the variables that lead Anthropic's own clients
// elsewhere count for the model: not where models.yml or the command line says
// where it is, because a key may be written beside that.
func (c *clients) redirectable(model *catalog.Model) bool {
	if model.Provider != "anthropic" || model.Origin == catalog.OriginUnlisted || !isAnthropic(model.BaseURL) {
		return false
	}
	facts, _ := c.registry.Provider(model.Provider)
	return !facts.Configured
}

// foundry applies the variables of Foundry mode, if it is on.
func (c *clients) foundry(o *anthropic.Options, keys *keyring) (on bool, err error) {
	f, on, err := anthropic.FoundryFromEnv(c.env.get)
	if err != nil || !on {
		return on, err
	}
	o.Headers = over(f.Headers, o.Headers)
	if f.BaseURL != "" {
		o.BaseURL, keys.foreign = f.BaseURL, true
	}
	if f.BaseURL == "" && f.Key == nil {
		return true, nil // Anthropic itself, with the usual key
	}
	keys.reach, keys.optional, o.BearerAuth = writtenKey, true, true
	o.Key = func(ctx context.Context) (string, error) {
		key, err := keys.get(ctx)
		if err == nil && key == "" && f.Key != nil {
			return f.Key(ctx)
		}
		return key, err
	}
	return true, nil
}

// redirect applies ANTHROPIC_BASE_URL, and the headers that are meant for a host
// which is not Anthropic's. No other provider of the format gets those: they may
// hold the secret of a gateway.
func (c *clients) redirect(o *anthropic.Options, keys *keyring) error {
	base := strings.TrimSpace(c.env.get("ANTHROPIC_BASE_URL"))
	if base == "" {
		return nil
	}
	o.BaseURL = base
	if isAnthropic(base) {
		return nil
	}
	keys.foreign = true
	headers, err := anthropic.ParseCustomHeaders(c.env.get("ANTHROPIC_CUSTOM_HEADERS"))
	if err != nil {
		return fmt.Errorf("ANTHROPIC_CUSTOM_HEADERS: %w", err)
	}
	o.Headers = over(headers, o.Headers)
	return nil
}

// vertexLocation says whether host is one of Vertex AI, and of which location;
// "" if that is in the path only.
func vertexLocation(host string) (location string, ok bool) {
	if host == "aiplatform.googleapis.com" {
		return "", true
	}
	if location, ok = strings.CutSuffix(host, "-aiplatform.googleapis.com"); ok {
		return location, true
	}
	if rest, found := strings.CutPrefix(host, "aiplatform."); found {
		return strings.CutSuffix(rest, ".rep.googleapis.com")
	}
	return "", false
}

func isAnthropic(base string) bool {
	host := hostOf(base)
	return base == "" || host == "anthropic.com" || strings.HasSuffix(host, ".anthropic.com")
}
