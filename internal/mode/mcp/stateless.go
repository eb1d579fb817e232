package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// newest is the version of the protocol in which each request says what it speaks. There is no handshake
// and no session: a request has all that is needed to answer it.
const newest = "2026-07-28"

// keepsFor is how long clients may keep a list, in milliseconds: it changes with the program only.
const keepsFor = 60 * 60 * 1000

// meta is what a request says of itself.
type meta struct {
	version      string // "": it doesn't say
	capabilities bool   // it says what the client can do
}

// metaOf reads what a request says of itself.
func metaOf(r request) (m meta) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(r.Params, &p) // what is wrong with them is said by who needs them
	_ = json.Unmarshal(p.Meta["io.modelcontextprotocol/protocolVersion"], &m.version)
	m.capabilities = bytes.HasPrefix(bytes.TrimSpace(p.Meta["io.modelcontextprotocol/clientCapabilities"]), []byte("{"))
	return m
}

// older reports whether a version is one in which a connection begins with a handshake.
func older(version string) bool {
	for _, v := range versions {
		if v == version {
			return true
		}
	}
	return false
}

// refusal is what is wrong with what a request in the newest version says of itself; nil is nothing.
func (m meta) refusal() *failure {
	switch {
	case m.version == "":
		return &failure{Code: codeParams, Message: "_meta: io.modelcontextprotocol/protocolVersion is missing"}
	case m.version != newest:
		return unsupported(m.version)
	case !m.capabilities:
		return &failure{Code: codeParams, Message: "_meta: io.modelcontextprotocol/clientCapabilities is missing"}
	}
	return nil
}

func unsupported(version string) *failure {
	return &failure{Code: codeVersion, Message: "this version of the protocol is not spoken here", Data: map[string]any{
		"supported": append([]string{newest}, versions...), "requested": prose.Short(prose.Inline(version), 100),
	}}
}

// stateless answers a request in the newest version.
func (c *client) stateless(ctx context.Context, r request, send func(*response)) (map[string]any, *failure) {
	var said map[string]any
	var wrong *failure
	own := map[string]any{}
	switch r.Method {
	case "server/discover":
		said = map[string]any{
			"supportedVersions": append([]string{newest}, versions...), "capabilities": map[string]any{"tools": struct{}{}}, "instructions": c.server.Instructions,
			"ttlMs": keepsFor, "cacheScope": "private",
		}
	case "tools/list":
		said = map[string]any{"tools": c.tools(), "ttlMs": keepsFor, "cacheScope": "private"}
	case "tools/call":
		said, wrong = c.call(ctx, r, send)
	case "subscriptions/listen": // nothing here changes, so that is all that there will be
		own["io.modelcontextprotocol/subscriptionId"] = r.ID
		send(&response{Version: "2.0", Method: "notifications/subscriptions/acknowledged", Params: map[string]any{
			"notifications": struct{}{}, "_meta": own,
		}})
		said = map[string]any{}
	default:
		wrong = noMethod(r.Method)
	}
	if wrong != nil {
		return nil, wrong
	}
	whole := map[string]any{"io.modelcontextprotocol/serverInfo": c.server.about()}
	for k, v := range own {
		whole[k] = v
	}
	said["resultType"], said["_meta"] = "complete", whole
	return said, nil
}

// headersOf reports what is wrong with the headers that repeat what a request says: whatever stands between
// reads only those.
func headersOf(h http.Header, r request, m meta) *failure {
	wrong := func(name, value string) *failure {
		return &failure{Code: codeHeader, Message: "Header mismatch: " + name + " is " + prose.Short(prose.Inline(value), 100) + " in the body"}
	}
	if given := h.Get("Mcp-Protocol-Version"); given == "" || m.version != "" && given != m.version {
		return wrong("Mcp-Protocol-Version", m.version)
	}
	if h.Get("Mcp-Method") != r.Method {
		return wrong("Mcp-Method", r.Method)
	}
	if r.Method != "tools/call" {
		return nil
	}
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(r.Params, &p) // who calls it says what is wrong
	given := h.Get("Mcp-Name")
	if text, ok := strings.CutPrefix(given, "=?base64?"); ok && strings.HasSuffix(text, "?=") {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text, "?="))
		if err != nil {
			return wrong("Mcp-Name", p.Name)
		}
		given = string(raw)
	}
	if given == "" || given != p.Name {
		return wrong("Mcp-Name", p.Name)
	}
	return nil
}

// statusOf is the status of a refusal over HTTP.
func statusOf(f *failure) int {
	if f.Code == codeBusy {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
