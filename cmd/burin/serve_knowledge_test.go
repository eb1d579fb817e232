package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
)

// What a person puts into /knowledge of a project, a PDF too, its chats and their agents are told: all of it, or the passages that
// belong to what was asked.
func TestServeKnowledge(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Library"}, &p)
	at := "/v1/projects/" + p.ID
	if got := c.toolsOf(p.ID); got["knowledge"] == nil {
		t.Errorf("a new project has %v", got)
	}
	told := func() (system, said string) {
		t.Helper()
		all := b.srv.Requests()
		r := all[len(all)-1]
		for _, m := range r.Messages {
			if m.Role == llm.RoleUser {
				said = ""
				for _, block := range m.Content {
					if text, ok := block.(llm.Text); ok {
						said += text.Text
					}
				}
			}
		}
		return r.System, said
	}
	c.begin(p.ID, "Is there a fee?")
	if system, _ := told(); strings.Contains(system, "## Knowledge") {
		t.Errorf("without files the model was told %q", system)
	}
	const line = "BT /F 12 Tf (Late books cost 3 francs a day.) Tj ET"
	pdf := "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[<</Contents 3 0 R/Resources<</Font<</F<</Subtype/Type1>>>>>>>>]>>\nendobj\n" +
		fmt.Sprintf("3 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\ntrailer\n<</Root 1 0 R>>\n", len(line), line)
	c.send(http.StatusCreated, "PUT", at+"/file?path=/knowledge/fees.pdf", pdf, nil)
	c.send(http.StatusCreated, "PUT", at+"/file?path=/knowledge/hours.md", "# Hours\n\nOpen from 9 to 5.\n", nil)
	chat := c.begin(p.ID, "Is there a fee?")
	system, said := told()
	if !strings.Contains(system, "<knowledge path=\"/knowledge/fees.pdf\">") || !strings.Contains(system, "Late books cost 3 francs a day.\n</knowledge>") || !strings.Contains(system, "Open from 9 to 5.") || !strings.HasSuffix(said, "Is there a fee?") {
		t.Errorf("with files that fit the model was told %q and asked %q", system, said)
	}

	var long strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&long, "## Shelf %d\n\nThe books on this shelf came from many houses of the town and are read in the hall, not taken along.\n\n", i)
	}
	c.send(http.StatusCreated, "PUT", at+"/file?path=/knowledge/shelves.md", long.String(), nil)
	b.script = []string{`call write {"path":"/knowledge/new.md","content":"mine"}`, `call write {"path":"/new.md","content":"mine"}`, "Three francs."}
	c.done("/v1/sessions/"+chat, map[string]any{"id": "late", "message": saying("What does a LATE book cost?")["message"]})
	system, said = told()
	if strings.Contains(system, "Late books") || !strings.Contains(system, "\n/knowledge/hours.md (27): Hours\n") || !strings.Contains(said, "What does a LATE book cost?<passages>\n") ||
		!strings.Contains(said, "Late books cost 3 francs a day.\n</passage>") || strings.Count(said, "<passage ") != 1 {
		t.Errorf("with files that don't fit the model was told %q and asked %q", system, said)
	}
	c.send(http.StatusNotFound, "GET", at+"/file?path=/knowledge/new.md", "", nil) // the model doesn't change what all chats are told
	c.send(http.StatusOK, "GET", at+"/file?path=/new.md", "", nil)
	if entries := fmt.Sprint(c.entries("/v1/sessions/" + chat)); strings.Contains(entries, "<passages>") {
		t.Errorf("the transcript has the passages: %s", entries)
	}

	c.must(http.StatusOK, "PATCH", at, map[string]any{"tools": map[string]any{"minion": map[string]any{}}}, nil)
	b.script = []string{`call task {"agent":"default","tasks":[{"id":"one","description":"Look","assignment":"What does a late book cost?"}]}`, "It costs three.", "Done."}
	c.begin(p.ID, "Have it looked up.")
	found := false
	for _, r := range b.srv.Requests() {
		text := fmt.Sprint(r.Messages)
		found = found || strings.Contains(text, "What does a late book cost?") && strings.Contains(text, "Late books cost 3 francs") && strings.Contains(text, "<passages>") && !strings.Contains(text, "LATE")
	}
	if !found {
		t.Error("the agent wasn't told")
	}

	c.must(http.StatusOK, "PATCH", at, map[string]any{"tools": map[string]any{"knowledge": nil}}, nil)
	c.begin(p.ID, "What does a late book cost?")
	if system, said := told(); strings.Contains(system, "## Knowledge") || strings.Contains(said, "<passages>") {
		t.Errorf("when it is off the model was told %q and asked %q", system, said)
	}
	c.end()
}
