package story_test

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// Resources of MCP servers complete after "@", and prompts as commands, with values that the server
// proposes. What is chosen is sent with what the server says.
func TestServerWords(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(mcptest.HTTP(0, ""))
	t.Cleanup(web.Close)
	s := begin(t, []llmtest.Turn{say("A bird."), say("Hello."), say("Hello again.")}, func(o *setting) {
		o.home = t.TempDir()
		write(t, filepath.Join(o.home, "mcp.json"), fmt.Sprintf(`{"mcpServers": {"birds": {"type": "http", "url": "%s/mcp"}}}`, web.URL))
	})
	if s.away {
		t.Skip("the connections are those of another process")
	}
	// The server is asked while a person types: what it has comes a key later.
	s.becomes(func() string {
		s.Type("/birds")
		defer s.Press("ctrl+u")
		if strings.Contains(s.Text(), "/birds:greet") {
			return ""
		}
		return "/birds:greet is not proposed"
	})
	s.Type("what is @bir")
	s.WaitText("birds:  MCP server")
	s.Press("tab")
	s.WaitText("test://of/")
	s.Type("test://of/he")
	s.WaitText("test://of/herons")
	s.Press("tab")
	s.WaitText("@birds:test://of/herons")
	s.Press("enter")
	s.WaitText("A bird.")
	if heard := s.heard(-1); !strings.Contains(heard, "about test://of/herons") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.Type("/birds:greet s")
	s.WaitText("storks")
	s.Press("tab")
	s.WaitText("as kindly as storks")
	s.Press("tab")
	s.Press("enter")
	s.WaitText("Hello.")
	if heard := s.heard(-1); !strings.Contains(heard, "Greet storks (as kindly as storks).") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A page that a server wants opened is a question with its whole address, and opening it is up to the person.
func TestServerPage(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	web := httptest.NewServer(mcptest.HTTP(0, ""))
	t.Cleanup(web.Close)
	s := begin(t, []llmtest.Turn{call("mcp__birds__open", "{}"), say("Connected.")}, func(o *setting) {
		o.config, o.home = "approval: full\n", t.TempDir()
		write(t, filepath.Join(o.home, "mcp.json"), fmt.Sprintf(`{"mcpServers": {"birds": {"type": "http", "url": "%s/newasking"}}}`, web.URL))
	})
	if s.away {
		t.Skip("the connections are those of another process")
	}
	s.send("/mcp")
	s.WaitText("connected, 14 tools")
	s.Press("esc")
	s.WaitGone("MCP servers")
	s.send("connect my calendar")
	s.WaitText("MCP server birds")
	s.WaitText("Connect your calendar.")
	s.WaitText(mcptest.Page)
	s.WaitText("Its host is pages.example.com.")
	s.answer("1")
	s.WaitText("Connected.")
	if heard := s.heard(-1); !strings.Contains(heard, "page: accept") {
		t.Errorf("the model read:\n%s", heard)
	}
}
