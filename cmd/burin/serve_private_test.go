package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/chat/canarytest"
	"github.com/burin-dev/burin/internal/mode/private"
	"github.com/burin-dev/burin/internal/pacetest"
)

// The loop of private projects, as this test runs it: the same that browsers have as WebAssembly, at a real server.
type privateTab struct {
	*testing.T
	loop *private.Loop
	wire *tamper

	mu      sync.Mutex
	last    int64
	said    map[int64][]json.RawMessage
	changed chan struct{}
}

// tamper is a server's operator between a tab and the server: sees all, and may change answers.
type tamper struct {
	mu     sync.Mutex
	seen   bytes.Buffer
	change func(path string, body []byte) []byte
}

func (w *tamper) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+testToken)
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintln(&w.seen, r.Method, r.URL, r.Header)
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w.seen.Write(data)
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || w.change == nil {
		return answer, err
	}
	data, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read
	answer.Body = io.NopCloser(bytes.NewReader(w.change(r.Method+" "+r.URL.Path, data)))
	return answer, err
}

func newTab(t *testing.T, url string) *privateTab {
	tab := &privateTab{T: t, wire: &tamper{}, said: map[int64][]json.RawMessage{}, changed: make(chan struct{})}
	tab.loop = private.New(url, &http.Client{Transport: tab.wire}, func(r private.Reply) {
		data, err := json.Marshal(r)
		if err != nil {
			t.Error(err)
		}
		tab.mu.Lock()
		defer tab.mu.Unlock()
		tab.said[r.ID] = append(tab.said[r.ID], data)
		close(tab.changed)
		tab.changed = make(chan struct{})
	})
	return tab
}

// send sends a request and gives its id.
func (p *privateTab) send(method, path string, body any) int64 {
	p.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		p.Fatal(err)
	}
	p.mu.Lock()
	p.last++
	id := p.last
	p.mu.Unlock()
	p.loop.Take(private.Request{ID: id, Method: method, Path: path, Body: data})
	return id
}

// until waits for something that was said to a request.
func (p *privateTab) until(id int64, is func(text string) bool) string {
	p.Helper()
	for {
		p.mu.Lock()
		said, changed := p.said[id], p.changed
		p.mu.Unlock()
		for _, s := range said {
			if is(string(s)) {
				return string(s)
			}
		}
		select {
		case <-changed:
		case <-p.Context().Done():
			p.Fatal("nothing came")
		}
	}
}

func answered(text string) bool {
	return strings.Contains(text, `"status":`) && !strings.Contains(text, `"event":`)
}

// ask sends a request and reads the answer, which must have the status.
func (p *privateTab) ask(status int, method, path string, body, is any) {
	p.Helper()
	text := p.until(p.send(method, path, body), answered)
	var r struct {
		Status int
		Body   json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		p.Fatal(err)
	}
	if r.Status != status {
		p.Fatalf("%s %s: %s, not %d", method, path, text, status)
	}
	if is != nil {
		if err := json.Unmarshal(r.Body, is); err != nil {
			p.Fatal(err)
		}
	}
}

// refused asks for what is refused with a code.
func (p *privateTab) refused(status int, code, method, path string, body any) {
	p.Helper()
	var said private.Problem
	p.ask(status, method, path, body, &said)
	if said.Code != code || said.Detail == "" {
		p.Errorf("%s %s: %+v", method, path, said)
	}
}

// settled submits a message and waits for its end.
func (p *privateTab) settled(chat, text string) (outcome string) {
	p.Helper()
	var receipt struct{ ID string }
	p.ask(200, "POST", "/v1/sessions/"+chat+"/submit", saying(text), &receipt)
	var raw json.RawMessage
	p.ask(200, "POST", "/v1/sessions/"+chat+"/wait", map[string]string{"id": receipt.ID}, &raw)
	return string(raw)
}

func privateProject(name, url string) map[string]any {
	return map[string]any{
		"name": name, "passphrase": "correct horse battery", "instructions": "Say it in " + name + ".",
		"providers": []any{map[string]any{"id": "mine", "api": "anthropic-messages", "url": url, "key": "sk-" + name, "models": []any{map[string]any{"id": "m", "contextWindow": 200000, "maxOutput": 1000}}}},
	}
}

type madeProject struct {
	Project  struct{ ID string }
	Recovery string
}

type begunChat struct{ Chat struct{ ID string } }

func TestPrivateLoop(t *testing.T) {
	if pacetest.Long("", "ci", "whole") == "" {
		t.Skip("tries many pass phrases, which costs on purpose: set BURIN_LONG=ci")
	}
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	tab := newTab(t, c.url)
	canaries := canarytest.New(8)
	words := canaries.Words

	tab.refused(400, "", "POST", "/v1/projects", map[string]any{"name": "x", "passphrase": "short"})
	var made madeProject
	tab.ask(201, "POST", "/v1/projects", privateProject(words[0], b.srv.URL), &made)
	project := made.Project.ID
	var begun begunChat
	tab.ask(201, "POST", "/v1/chats", map[string]any{"project": project, "title": words[1]}, &begun)
	chat := begun.Chat.ID
	events := tab.send("GET", "/v1/events?answers=true&session="+chat, nil)
	tab.until(events, func(s string) bool { return strings.Contains(s, `"facts"`) })
	if out := tab.settled(chat, "say "+words[2]); !strings.Contains(out, words[2]) {
		t.Errorf("the outcome is %s", out)
	}
	tab.until(events, func(s string) bool { return strings.Contains(s, `"agent_settled"`) })

	// A question is answered.
	var receipt struct{ ID string }
	tab.ask(200, "POST", "/v1/sessions/"+chat+"/submit", saying("ask"), &receipt)
	tab.until(events, func(s string) bool { return strings.Contains(s, `"question_asked"`) })
	var open []struct{ ID string }
	tab.ask(200, "POST", "/v1/sessions/"+chat+"/questions", nil, &open)
	tab.ask(200, "POST", "/v1/sessions/"+chat+"/answer", map[string]any{"id": open[0].ID, "reply": map[string]any{"choices": []any{map[string]any{"selected": []string{"blue"}}}}}, nil)
	tab.ask(200, "POST", "/v1/sessions/"+chat+"/wait", map[string]string{"id": receipt.ID}, nil)

	// Another tab is told that this one has it, and the wrong pass phrase opens nothing.
	other := newTab(t, c.url)
	other.refused(423, "locked", "GET", "/v1/chats?project="+project, nil)
	other.refused(403, "passphrase", "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "correct horse batterz"})
	var listed []private.Project
	if other.ask(200, "GET", "/v1/projects", nil, &listed); len(listed) != 1 || !listed[0].Locked || listed[0].Name != "" {
		t.Errorf("another tab lists %+v", listed)
	}
	other.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": made.Recovery}, nil)
	other.refused(409, "held", "GET", "/v1/sessions/"+chat, nil)

	// It takes the chat over in the middle of an answer, which is interrupted there. The first tab keeps nothing more.
	tab.ask(200, "POST", "/v1/sessions/"+chat+"/submit", saying("gate say "+words[3]), &receipt)
	tab.until(events, func(s string) bool { return strings.Contains(s, `"text":"gate say `+words[3]) })
	other.ask(200, "GET", "/v1/sessions/"+chat+"?take=true", nil, nil)
	b.free()
	tab.until(events, func(s string) bool { return strings.Count(s, `"agent_settled"`) > 0 && strings.Contains(s, receipt.ID) })
	var nodes struct{ Total int }
	other.ask(200, "POST", "/v1/sessions/"+chat+"/nodes", map[string]int{"from": 0}, &nodes)
	other.ask(200, "POST", "/v1/sessions/"+chat+"/close", nil, nil)
	again := newTab(t, c.url)
	again.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "correct horse battery"}, nil)
	var after struct{ Total int }
	again.ask(200, "POST", "/v1/sessions/"+chat+"/nodes", map[string]int{"from": 0}, &after)
	if after.Total < nodes.Total {
		t.Errorf("%d entries, there were %d", after.Total, nodes.Total)
	}
	if out := again.settled(chat, "say "+words[4]); !strings.Contains(out, words[4]) {
		t.Errorf("the outcome is %s", out)
	}
	again.ask(200, "POST", "/v1/sessions/"+chat+"/close", nil, nil)

	// With another pass phrase the old one opens nothing.
	var renewed madeProject
	again.refused(403, "passphrase", "POST", "/v1/projects/"+project+"/passphrase", map[string]string{"passphrase": "wrong wrong", "new": "another phrase"})
	again.ask(200, "POST", "/v1/projects/"+project+"/passphrase", map[string]string{"passphrase": "correct horse battery", "new": "another phrase"}, &renewed)
	again.refused(403, "passphrase", "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "correct horse battery"})
	again.refused(403, "passphrase", "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": made.Recovery})
	wrongRecords(t, c, project, chat)

	// The server, its files and the requests to it have none of it.
	for _, word := range append(words, "correct horse battery", made.Recovery, "batterz") {
		for _, tab := range []*privateTab{tab, other, again} {
			tab.wire.mu.Lock()
			if strings.Contains(tab.wire.seen.String(), word) {
				t.Errorf("a request has %q", word)
			}
			tab.wire.mu.Unlock()
		}
	}
	c.end()
	home := filepath.Dir(cmd.Dir)
	canaries.None(t, filepath.Join(home, "burin"))
	if strings.Contains(c.said.String(), words[2]) {
		t.Error("the log has it")
	}
	if _, err := os.Stat(filepath.Join(home, "burin")); err != nil {
		t.Error(err)
	}
}

// wrongRecords checks that a server that gives other data than was kept is found out.
func wrongRecords(t *testing.T, c *httpClient, project, chat string) {
	other := newTab(t, c.url)
	other.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "another phrase"}, nil)
	var begun begunChat
	other.ask(201, "POST", "/v1/chats", map[string]any{"project": project, "title": "second", "message": saying("say second")}, nil)
	other.ask(201, "POST", "/v1/chats", map[string]any{"project": project, "title": "third"}, &begun)
	other.settled(begun.Chat.ID, "say third")
	other.ask(200, "POST", "/v1/sessions/"+begun.Chat.ID+"/close", nil, nil)
	records := func(id string) (r struct {
		Records [][]byte `json:"records"`
		Total   int      `json:"total"`
	},
	) {
		c.must(200, "GET", "/v1/private/chats/"+id+"/records", nil, &r)
		return r
	}
	mine, theirs := records(chat), records(begun.Chat.ID)
	for name, change := range map[string]func([][]byte) [][]byte{
		"swapped":   func([][]byte) [][]byte { return theirs.Records },
		"dropped":   func(r [][]byte) [][]byte { return slices.Delete(r, 4, 5) },
		"cut off":   func(r [][]byte) [][]byte { return r[:len(r)-2] },
		"reordered": func(r [][]byte) [][]byte { r[4], r[5] = r[5], r[4]; return r },
		"replayed":  func(r [][]byte) [][]byte { return append(r, r[len(r)-1]) },
		"changed": func(r [][]byte) [][]byte {
			r[5] = bytes.Clone(r[5])
			r[5][40] ^= 1
			return r
		},
		"emptied": func([][]byte) [][]byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			tab := newTab(t, c.url)
			tab.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "another phrase"}, nil)
			tab.wire.change = func(path string, body []byte) []byte {
				if path != "GET /v1/private/chats/"+chat+"/records" {
					return body
				}
				r := mine
				r.Records = change(slices.Clone(mine.Records))
				r.Total = len(r.Records)
				data, err := json.Marshal(r)
				if err != nil {
					t.Error(err)
				}
				return data
			}
			tab.refused(409, "altered", "GET", "/v1/sessions/"+chat, nil)
			tab.wire.change = nil
			tab.ask(200, "GET", "/v1/sessions/"+chat, nil, nil)
			tab.ask(200, "POST", "/v1/sessions/"+chat+"/close", nil, nil)
		})
	}
	t.Run("another chat's title", func(t *testing.T) {
		tab := newTab(t, c.url)
		tab.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "another phrase"}, nil)
		var raw json.RawMessage
		c.must(200, "GET", "/v1/private/chats/"+begun.Chat.ID, nil, &raw)
		tab.wire.change = func(path string, body []byte) []byte {
			if path == "GET /v1/private/chats/"+chat {
				return bytes.ReplaceAll(raw, []byte(begun.Chat.ID), []byte(chat))
			}
			return body
		}
		tab.refused(409, "altered", "GET", "/v1/chats/"+chat, nil)
	})
	t.Run("one of the list", func(t *testing.T) {
		tab := newTab(t, c.url)
		tab.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "another phrase"}, nil)
		tab.wire.change = func(path string, body []byte) []byte {
			var all []map[string]any
			if path != "GET /v1/private/projects/"+project+"/chats" || json.Unmarshal(body, &all) != nil {
				return body
			}
			for _, one := range all {
				if one["id"] == chat {
					one["data"], one["title"] = []byte("something else"), "forged"
				}
			}
			data, _ := json.Marshal(all)
			return data
		}
		var all []private.Chat
		tab.ask(200, "GET", "/v1/chats?project="+project, nil, &all)
		if len(all) < 3 {
			t.Fatalf("the list has %+v", all)
		}
		for _, one := range all {
			if (one.Unreadable != "") != (one.ID == chat) || (one.Title == "") != (one.ID == chat) {
				t.Errorf("the list has %+v", one)
			}
		}
	})
	t.Run("without its model", func(t *testing.T) {
		tab := newTab(t, c.url)
		tab.ask(200, "POST", "/v1/projects/"+project+"/unlock", map[string]string{"passphrase": "another phrase"}, nil)
		tab.ask(200, "PATCH", "/v1/chats/"+begun.Chat.ID, map[string]any{"model": "gone/x"}, nil)
		var is struct{ Facts struct{ Unusable string } }
		tab.ask(200, "GET", "/v1/sessions/"+begun.Chat.ID, nil, &is)
		if !strings.Contains(is.Facts.Unusable, "gone/x") {
			t.Errorf("the facts are %+v", is)
		}
		tab.ask(200, "POST", "/v1/sessions/"+begun.Chat.ID+"/close", nil, nil)
	})
}
