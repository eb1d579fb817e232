package mcp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
)

// asking are the transports of a server that asks during calls.
func asking(t *testing.T) map[string]mcp.Server {
	srv := httptest.NewServer(mcptest.HTTP(0, ""))
	t.Cleanup(srv.Close)
	return map[string]mcp.Server{
		"stdio": program("0", "asking"), "older": program("0", "asking", "older"),
		"http": {Name: "test", Type: mcp.HTTP, URL: srv.URL + "/asking"}, "new": {Name: "test", Type: mcp.HTTP, URL: srv.URL + "/newasking"},
	}
}

func callFor(t *testing.T, l *mcp.Link, tool string, caller *mcp.Caller) string {
	t.Helper()
	r, err := l.Call(t.Context(), tool, []byte(`{"text":"hello"}`), caller)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].Text
}

// The stream of what a server says by itself is open before anything is asked of it.
func TestStreamIsOpenFirst(t *testing.T) {
	t.Parallel()
	whole := mcptest.HTTP(0, "")
	open := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-time.After(50 * time.Millisecond) // a slow one
			close(open)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/list"`)) {
			select {
			case <-open:
			default:
				t.Error("it was asked for its tools before")
			}
		}
		whole.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: srv.URL + "/mcp"})
	if err := l.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What a server asks during a call is answered by who called it, and costs the call no time.
func TestServerAsks(t *testing.T) {
	t.Parallel()
	for name, s := range asking(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Timeout = 2 * time.Second
			l := use(t, pool(t, mcp.Options{Environ: os.Environ(), Sampling: true}), s)
			var form mcp.Form
			var sent mcp.Sampling
			caller := &mcp.Caller{
				Elicit: func(_ context.Context, f mcp.Form) (mcp.Answer, error) {
					form = f
					return mcp.Answer{Action: mcp.Accept, Content: map[string]any{"name": "Kim", "sure": false}}, nil
				},
				Sample: func(_ context.Context, r mcp.Sampling) (*mcp.Sampled, error) {
					sent = r
					return &mcp.Sampled{Model: "m", Text: "hi", Stop: "endTurn"}, nil
				},
			}
			if got := callFor(t, l, "fill", caller); !strings.HasPrefix(got, "accept ") || !strings.Contains(got, `"name":"Kim"`) || !strings.Contains(got, `"sure":false`) {
				t.Errorf("fill: %s", got)
			}
			names := ""
			for _, f := range form.Fields {
				names += f.Name + " "
			}
			if form.Message != "Who are you?" || names != "name age color days sure " {
				t.Errorf("%q, %s", form.Message, names)
			}
			if got := callFor(t, l, "sample", caller); got != "m says hi" || sent.System != "Be brief." || sent.MaxTokens != 100 || sent.Messages[0].Content[0].Text != "hello" {
				t.Errorf("sample: %q, %+v", got, sent)
			}
			// Who can answer nothing declines, or the server knows before.
			older := name == "older" || name == "http"
			if got := callFor(t, l, "fill", nil); got != map[bool]string{true: "decline null", false: "nobody can answer"}[older] {
				t.Errorf("fill with nobody: %s", got)
			}
			if got := callFor(t, l, "sample", nil); !strings.Contains(got, map[bool]string{true: "did not allow it", false: "does not support sampling"}[older]) {
				t.Errorf("sample with nobody: %s", got)
			}
			if !older {
				return // the question is the answer, and stays
			}
			// A question that the server takes back ends.
			ended := make(chan error, 1)
			got := callFor(t, l, "abandon", &mcp.Caller{Elicit: func(ctx context.Context, _ mcp.Form) (mcp.Answer, error) {
				<-ctx.Done()
				ended <- ctx.Err()
				return mcp.Answer{}, ctx.Err()
			}})
			if got != "gave up: true" {
				t.Errorf("abandon: %s", got)
			}
			<-ended
		})
	}
}

// A server that may not sample is not told that it can.
func TestNoSampling(t *testing.T) {
	t.Parallel()
	l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), asking(t)["stdio"])
	if got := callFor(t, l, "sample", &mcp.Caller{}); !strings.Contains(got, "sampl") {
		t.Errorf("sample: %s", got)
	}
}

// A call may take longer than its time while it tells its progress, or while a person thinks, and a
// question ends with its call.
func TestCallsTakeTheirTime(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, s := range asking(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), s)
			if err := l.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Timeout = 500 * time.Millisecond // less than the ten steps take
			hasty := use(t, pool(t, mcp.Options{Environ: os.Environ()}), s)
			if hasty.Connect(t.Context()) != nil {
				t.Skip("the machine is too busy for half a second")
			}
			var told []mcp.Progress
			if got := callFor(t, hasty, "steps", &mcp.Caller{Progress: func(p mcp.Progress) { told = append(told, p) }}); got != "done" {
				t.Errorf("steps: %s", got)
			}
			if len(told) == 0 || len(told) > 9 || told[0] != (mcp.Progress{Done: 1, Total: 10, Message: "step"}) {
				t.Errorf("told: %+v", told)
			}
			think := time.NewTimer(800 * time.Millisecond)
			got := callFor(t, hasty, "fill", &mcp.Caller{Elicit: func(context.Context, mcp.Form) (mcp.Answer, error) {
				<-think.C
				return mcp.Answer{Action: mcp.Cancel}, nil
			}})
			if got != "cancel null" {
				t.Errorf("fill: %s", got)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			_, err := l.Call(ctx, "fill", nil, &mcp.Caller{Elicit: func(ctx context.Context, _ mcp.Form) (mcp.Answer, error) {
				stop()
				<-ctx.Done()
				close(ended)
				return mcp.Answer{}, ctx.Err()
			}})
			if <-ended; err == nil {
				t.Error("a canceled call answers")
			}
		})
	}
}

// What a server logs is kept, the last hundred lines of it.
func TestServerLogs(t *testing.T) {
	t.Parallel()
	for name, s := range asking(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), s)
			for len(l.Log()) == 0 { // the level is set while calls run
				callFor(t, l, "note", nil)
			}
			log := l.Log()
			if one := log[0]; len(log) > 100 || one.Level != "info" || one.Logger != "notes" || one.Text != "said hello" {
				t.Errorf("%d lines, %+v", len(log), one)
			}
		})
	}
}

// Words of a person become values of a field, or an error that says what is wrong.
func TestFields(t *testing.T) {
	t.Parallel()
	form, err := mcp.ParseForm([]byte(`{"message":"m","requestedSchema":{"type":"object","properties":{
		"n": {"type":"number","minimum":1,"maximum":5}, "i": {"type":"integer"}, "b": {"type":"boolean"},
		"e": {"type":"string","enum":["x","y"],"enumNames":["One","Two"]}, "m": {"type":"string","format":"email"},
		"d": {"type":"string","format":"date"}, "s": {"type":"string","maxLength":3,"default":"too long"},
		"a": {"type":"array","minItems":1,"items":{"anyOf":[{"const":"x","title":"One"}]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		field int
		words string
		want  any // nil: it is no value
	}{
		{0, "2.5", 2.5},
		{0, "0", nil},
		{0, "9", nil},
		{0, "x", nil},
		{1, "3", 3.0},
		{1, "3.5", nil},
		{2, "Yes", true},
		{2, "n", false},
		{2, "maybe", nil},
		{3, "Two", "y"},
		{3, "x", "x"},
		{3, "z", nil},
		{4, "kim@example.com", "kim@example.com"},
		{4, "kim", nil},
		{5, "2026-11-28", "2026-11-28"},
		{5, "28.11.", nil},
		{6, "abc", "abc"},
		{6, "abcd", nil},
		{7, "One", []string{"x"}},
		{7, "z", nil},
	} {
		got, err := form.Fields[tt.field].Parse(tt.words)
		if tt.want == nil && err == nil || tt.want != nil && (err != nil || !reflect.DeepEqual(got, tt.want)) {
			t.Errorf("%s %q: %v, %v", form.Fields[tt.field].Name, tt.words, got, err)
		}
	}
	if form.Fields[6].Default != nil {
		t.Error("a default that is no value counts")
	}
	for _, bad := range []string{
		`{"mode":"url","message":"m","url":"javascript:alert(1)"}`, `{"mode":"url","message":"m","url":"https://bank.example@evil.example"}`, `{"mode":"other","message":"m"}`,
		`{"mode":"url","message":"m","url":"https://bаnk.example"}`, `{"mode":"url","message":"m","url":"https://example.com/` + strings.Repeat("x", 3000) + `"}`, `{"requestedSchema":{"properties":{"o":{"type":"object"}}}}`,
		`{"requestedSchema":{"properties":{"a":{"type":"array"}}}}`, `{"requestedSchema":{"properties":[]}}`, `[]`,
		`{"requestedSchema":{"properties":{` + strings.Repeat(`"x":{"type":"string"},`, 30) + `"y":{"type":"string"}}}}`,
	} {
		if _, err := mcp.ParseForm([]byte(bad)); err == nil {
			t.Errorf("%s is a form", bad)
		}
	}
}

// Forms of servers break nothing.
func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"message":"m","requestedSchema":`+mcptest.Form+`}`), "words")
	f.Fuzz(func(_ *testing.T, raw []byte, words string) {
		form, err := mcp.ParseForm(raw)
		for i := range form.Fields {
			_, _ = form.Fields[i].Parse(words)
		}
		_ = err
	})
}
