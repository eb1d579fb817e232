package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/burin-dev/burin/internal/prose"
)

// maxAnswer is how much of an engine's answer is read.
const maxAnswer = 4 << 20

// searxng asks a SearXNG server (GET /search?format=json), which must have the
// JSON format enabled.
type searxng struct {
	client *client
	SearXNG
}

func (s *searxng) name() string { return "SearXNG" }

func (s *searxng) search(ctx context.Context, q query) ([]Source, error) {
	params := url.Values{"q": {q.words}, "format": {"json"}}
	switch q.recency {
	case "":
	case "week": // it has no week
		params.Set("time_range", "month")
	default:
		params.Set("time_range", q.recency)
	}
	if s.Categories != "" {
		params.Set("categories", s.Categories)
	}
	if s.Language != "" {
		params.Set("language", s.Language)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/")+"/search?"+params.Encode(), nil)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Token != "":
		r.Header.Set("Authorization", "Bearer "+s.Token)
	case s.User != "" || s.Password != "":
		r.SetBasicAuth(s.User, s.Password)
	}
	body, err := s.client.body(r)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			Title, URL, Content, PublishedDate string
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New("its answer is not JSON: enable the format json on the server")
	}
	var found []Source
	for _, x := range answer.Results {
		found = append(found, Source{Title: x.Title, URL: x.URL, Snippet: x.Content, Published: x.PublishedDate})
	}
	return found, nil
}

// body sends a request and gives the whole answer, bounded, if it is a good one.
func (c *client) body(r *http.Request) ([]byte, error) {
	resp, err := c.do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, status(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, plain(err)
	}
	return body, nil
}

// exa calls the tool web_search_exa of Exa's public MCP server: one JSON-RPC
// request, answered as JSON or as one server-sent event.
type exa struct {
	client *client
	url    string
}

func (e *exa) name() string { return "Exa" }

func (e *exa) search(ctx context.Context, q query) ([]Source, error) {
	arguments := map[string]any{"query": q.words, "numResults": q.limit}
	if from := since(q.recency, time.Now()); !from.IsZero() {
		arguments["startPublishedDate"] = from.UTC().Format(time.DateOnly)
	}
	call, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": "web_search_exa", "arguments": arguments},
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(call))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	body, err := e.client.body(r)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(lastData(body), &answer); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	var text strings.Builder
	for _, c := range answer.Result.Content {
		text.WriteString(c.Text + "\n")
	}
	switch {
	case answer.Error != nil:
		return nil, errors.New(prose.Short(answer.Error.Message, 200))
	case answer.Result.IsError:
		return nil, errors.New(prose.Short(text.String(), 200))
	}
	return exaSources(text.String())
}

// lastData is the answer in a body that may be server-sent events.
func lastData(body []byte) []byte {
	if trimmed := bytes.TrimSpace(body); bytes.HasPrefix(trimmed, []byte("{")) {
		return trimmed
	}
	var data []byte
	for line := range bytes.Lines(body) {
		rest, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		var message struct { // notifications have neither
			ID    *json.Number
			Error json.RawMessage
		}
		if rest = bytes.TrimSpace(rest); json.Unmarshal(rest, &message) == nil && (message.ID != nil || message.Error != nil) {
			data = rest
		}
	}
	return data
}

// exaSources reads what the tool gives: JSON with results, or blocks of lines
// "Title: …", "URL: …", "Published Date: …", "Text: …".
func exaSources(text string) ([]Source, error) {
	var answer struct {
		Results []struct {
			Title, URL, Text, Summary, PublishedDate string
		}
	}
	if json.Unmarshal([]byte(text), &answer) == nil {
		var found []Source
		for _, x := range answer.Results {
			snippet := x.Summary
			if snippet == "" {
				snippet = x.Text
			}
			found = append(found, Source{Title: x.Title, URL: x.URL, Snippet: snippet, Published: x.PublishedDate})
		}
		return found, nil
	}
	var found []Source
	inText := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if key == "Title" {
			found, inText = append(found, Source{Title: value}), false
			continue
		}
		if len(found) == 0 {
			continue
		}
		s := &found[len(found)-1]
		switch {
		case inText && len(s.Snippet) < 4*maxSnippet:
			s.Snippet += " " + line
		case inText:
		case key == "URL":
			s.URL = value
		case key == "Published Date" || key == "Published":
			s.Published = value
		case key == "Text" || key == "Highlights" || key == "Summary":
			s.Snippet, inText = value, true
		}
	}
	if len(found) == 0 && strings.TrimSpace(text) != "" && !strings.Contains(strings.ToLower(text), "no search results") {
		return nil, errors.New("its answer has an unknown form")
	}
	return found, nil
}

// duckduckgo reads the search page that works without scripts.
type duckduckgo struct {
	client *client
	url    string
}

func (d *duckduckgo) name() string { return "DuckDuckGo" }

func (d *duckduckgo) search(ctx context.Context, q query) ([]Source, error) {
	form := url.Values{"q": {q.words}}
	if q.recency != "" {
		form.Set("df", q.recency[:1]) // d, w, m, y
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	body, err := d.client.body(r)
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("its page cannot be read: %w", err)
	}
	var found []Source
	blocked, ad := false, false
	for n := range doc.Descendants() {
		switch class := attribute(n, "class"); {
		case hasClass(class, "anomaly-modal"), attribute(n, "id") == "challenge-form":
			blocked = true
		case n.Data == "a" && hasClass(class, "result__a") && isAd(attribute(n, "href")):
			ad = true
		case n.Data == "a" && hasClass(class, "result__a"):
			ad = false
			found = append(found, Source{Title: inner(n), URL: target(attribute(n, "href"))})
		case hasClass(class, "result__snippet") && len(found) > 0 && !ad:
			found[len(found)-1].Snippet = inner(n)
		}
	}
	if blocked && len(found) == 0 {
		return nil, errors.New("it takes burin for a robot")
	}
	return found, nil
}

// isAd reports whether a result is one that is paid for.
func isAd(href string) bool {
	u, err := url.Parse(href)
	return err == nil && strings.HasSuffix(u.Host, "duckduckgo.com") && strings.HasPrefix(u.Path, "/y.js")
}

// target is where a result leads: links go through a page that counts them.
func target(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return href
	}
	if to := u.Query().Get("uddg"); to != "" {
		return to
	}
	if u.Scheme == "" && u.Host != "" {
		u.Scheme = "https"
	}
	return u.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(classes, class string) bool {
	for c := range strings.FieldsSeq(classes) {
		if c == class {
			return true
		}
	}
	return false
}

// inner is the text in a node.
func inner(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}
