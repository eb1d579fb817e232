// Package web holds the tools that reach the internet: fetch, which shows a page
// as Markdown, and web_search, which asks search engines that need no key.
//
// What comes from the web is data: results say where they come from, and the
// model is told not to follow what they say. Requests go to public addresses
// only; this machine and its network are refused at the moment of connecting, so
// that neither a redirect nor a name that changes its address gets around it.
package web

import (
	"net/http"
	"time"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/tool"
)

// Options of the tools.
type Options struct {
	// Transport is how the program reaches the internet: its proxies and
	// certificates are taken over, its client certificates are not. Nil is Go's
	// default.
	Transport http.RoundTripper
	SearXNG   SearXNG
	Exa       string   // address of Exa's MCP server; empty is the public one
	Duck      string   // address of DuckDuckGo's HTML search; empty is the public one
	Private   []string // hosts ("localhost:8080", "wiki.internal") that may be fetched although they are not public
	Artifacts tool.Artifacts
	Images    document.ImageLimits
}

// SearXNG is a server of the user's to search with.
type SearXNG struct {
	URL                  string // empty: there is none
	Token                string // sent as "Authorization: Bearer"; wins over User
	User, Password       string // for basic authentication
	Categories, Language string // as the server's parameters; empty: its own
}

// timeout is the longest that a page or a search may take, redirects included.
const timeout = 60 * time.Second

// New makes the tools.
func New(o Options) []*tool.Tool {
	client := newClient(o)
	return []*tool.Tool{
		newFetch(&fetcher{client: client, artifacts: o.Artifacts, images: o.Images}),
		newSearch(&searcher{engines: engines(o, client)}),
	}
}
