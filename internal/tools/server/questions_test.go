package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/tools/server"
	"github.com/burin-dev/burin/tool"
)

// catalog are links to ten servers with fifty tools each, as well-known public ones have them, in our
// own words.
func catalog(t *testing.T) (links []*mcp.Link) {
	t.Helper()
	text, err := os.ReadFile("testdata/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	pool := mcp.NewPool(mcp.Options{HTTP: transport, Version: "test"})
	for part := range strings.SplitSeq(strings.TrimPrefix(string(text), "# "), "\n# ") {
		name, tools, _ := strings.Cut(strings.TrimSpace(part), "\n")
		s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
		n := 0
		for line := range strings.SplitSeq(tools, "\n") {
			tool, about, ok := strings.Cut(line, ": ")
			if !ok {
				t.Fatalf("%s: %q", name, line)
			}
			n++
			s.AddTool(&sdk.Tool{Name: tool, Description: about, InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{}, nil
				})
		}
		if n != 50 {
			t.Errorf("%s has %d tools", name, n)
		}
		srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
		t.Cleanup(srv.Close)
		l, leave := pool.Use(mcp.Server{Name: name, Type: mcp.HTTP, URL: srv.URL}, t.TempDir())
		t.Cleanup(leave)
		if err := l.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	return links
}

// Of 50 questions, as a person asks them, over 500 tools of ten servers, the search has the right tool
// among the first five for at least 48.
func TestSearchAnswersQuestions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	links := catalog(t)
	text, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	right, first, asked := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		want, question, _ := strings.Cut(strings.TrimSpace(line), ": ")
		asked++
		k := server.New(server.Options{Links: links, Search: 40}) // each asks in a session of its own
		leave := k.Join(&set{})
		args, _ := json.Marshal(map[string]any{"query": question, "limit": 5})
		r, err := k.Tools()[0].Run(t.Context(), tool.Call{Arguments: args})
		leave()
		if err != nil {
			t.Fatal(err)
		}
		var found server.Found
		if err := json.Unmarshal(r.Details, &found); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range found.Tools {
			names = append(names, m.Server+" "+m.Tool)
		}
		switch slices.Index(names, want) {
		case 0:
			first++
			right++
		case -1:
			t.Logf("%q: want %s, found %s", question, want, strings.Join(names, ", "))
		default:
			right++
		}
	}
	t.Logf("%d of %d in the first five, %d first", right, asked, first)
	if asked != 50 || right < 48 {
		t.Errorf("%d of %d questions have the right tool in the first five, want 48 of 50", right, asked)
	}
}
