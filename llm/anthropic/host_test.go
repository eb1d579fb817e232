package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/wire"
)

func TestHosts(t *testing.T) {
	arn := budgeted
	arn.WireID = "arn:aws:bedrock:us-west-2:1:inference-profile/us.anthropic.claude-v1:0"
	cases := []struct {
		name  string
		o     anthropic.Options
		model llm.Model
		url   string
		head  map[string]string // "" = must not be there
		body  []string
		not   []string
	}{
		{
			name: "Anthropic", o: anthropic.Options{Endpoint: wire.Endpoint{Key: key("sk-ant-api-1")}}, model: budgeted,
			url:  "https://api.anthropic.com/v1/messages",
			head: map[string]string{"x-api-key": "sk-ant-api-1", "Authorization": "", "anthropic-version": "2023-06-01", "anthropic-beta": ""},
			body: []string{`{"model":"claude-sonnet-4-5","max_tokens":64000,"stream":true,`}, not: []string{"anthropic_version"},
		},
		{
			name: "a token of a subscription", o: anthropic.Options{Endpoint: wire.Endpoint{Key: key("sk-ant-oat01-x")}}, model: budgeted,
			url:  "https://api.anthropic.com/v1/messages",
			head: map[string]string{"x-api-key": "", "Authorization": "Bearer sk-ant-oat01-x", "anthropic-beta": "oauth-2025-04-20"},
		},
		{
			name: "compatible, with /v1 and bearer", model: budgeted,
			o:    anthropic.Options{BearerAuth: true, Endpoint: wire.Endpoint{BaseURL: "https://gw.example/anthropic/v1/", Key: key("k"), Headers: map[string]string{"X-Team": "a"}}},
			url:  "https://gw.example/anthropic/v1/messages",
			head: map[string]string{"Authorization": "Bearer k", "x-api-key": "", "X-Team": "a"},
		},
		{
			name: "Bedrock", o: anthropic.Options{Host: anthropic.HostBedrock, Region: "eu-west-1", LongContext: true}, model: arn,
			url:  "https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A1%3Ainference-profile%2Fus.anthropic.claude-v1%3A0/invoke-with-response-stream",
			head: map[string]string{"Accept": "application/vnd.amazon.eventstream", "anthropic-version": "", "anthropic-beta": "", "X-Signed": "body"},
			body: []string{`{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["context-1m-2025-08-07"],"max_tokens":64000,`},
			not:  []string{`"model"`, `"stream"`},
		},
		{
			name: "Bedrock with a token", o: anthropic.Options{Host: anthropic.HostBedrock, Endpoint: wire.Endpoint{Key: key("abc")}}, model: budgeted,
			url:  "https://bedrock-runtime.us-east-1.amazonaws.com/model/claude-sonnet-4-5/invoke-with-response-stream",
			head: map[string]string{"Authorization": "Bearer abc", "X-Signed": ""},
		},
		{
			name: "Vertex", o: anthropic.Options{Host: anthropic.HostVertex, Project: "p-1", LongContext: true}, model: budgeted,
			url:  "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict",
			head: map[string]string{"anthropic-version": "", "anthropic-beta": "context-1m-2025-08-07", "X-Signed": "body"},
			body: []string{`{"anthropic_version":"vertex-2023-10-16","max_tokens":64000,"stream":true,`}, not: []string{`"model"`},
		},
		{
			name: "Vertex in a region", o: anthropic.Options{Host: anthropic.HostVertex, Project: "p-1", Region: "us-east5"}, model: budgeted,
			url: "https://us-east5-aiplatform.googleapis.com/v1/projects/p-1/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict",
		},
		{
			name: "Vertex in the EU", o: anthropic.Options{Host: anthropic.HostVertex, Project: "p-1", Region: "eu"}, model: budgeted,
			url: "https://aiplatform.eu.rep.googleapis.com/v1/projects/p-1/locations/eu/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.o.Authorize = func(_ context.Context, r *http.Request, body []byte) error {
				if !json.Valid(body) {
					t.Errorf("the body to sign is %s", body)
				}
				r.Header.Set("X-Signed", "body")
				return nil
			}
			if c.o.Host == "" && c.o.Key == nil {
				c.o.Authorize = nil
			}
			req := ask()
			req.Model = &c.model
			got := sends(t, c.o, req)
			if got.url != c.url {
				t.Errorf("url\n got %s\nwant %s", got.url, c.url)
			}
			for name, want := range c.head {
				if v := got.head.Get(name); v != want {
					t.Errorf("%s is %q, want %q", name, v, want)
				}
			}
			for _, want := range c.body {
				if !strings.HasPrefix(string(got.sent), want) {
					t.Errorf("the body is %s\nwant %s…", got.sent, want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(string(got.sent), not) {
					t.Errorf("%s in %s", not, got.sent)
				}
			}
		})
	}
}

func TestSignsWhatIsSent(t *testing.T) {
	var signed []byte
	o := anthropic.Options{Host: anthropic.HostBedrock, Authorize: func(_ context.Context, _ *http.Request, body []byte) error {
		signed = body
		return nil
	}}
	req := ask()
	req.Extra = map[string]json.RawMessage{"top_k": json.RawMessage("5"), "model": json.RawMessage(`"other"`)}
	c := sends(t, o, req)
	if !bytes.Equal(signed, c.sent) || !strings.Contains(string(signed), `"top_k":5`) || strings.Contains(string(signed), "other") {
		t.Errorf("signed %s\n  sent %s", signed, c.sent)
	}
}

func TestNoCredential(t *testing.T) {
	for name, o := range map[string]anthropic.Options{
		"key":       {Endpoint: wire.Endpoint{Key: func(context.Context) (string, error) { return "", errors.New("run burin login") }}},
		"authorize": {Host: anthropic.HostBedrock, Authorize: func(context.Context, *http.Request, []byte) error { return errors.New("run burin login") }},
		"project":   {Host: anthropic.HostVertex},
	} {
		_, err := llm.Collect(client(&canned{}, o).Stream(t.Context(), ask()))
		want, text := llm.ErrAuth, "run burin login"
		if name == "project" {
			want, text = llm.ErrInvalidRequest, "project"
		}
		if llm.KindOf(err) != want || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestBetas(t *testing.T) {
	header := func(kv ...string) map[string]string { return map[string]string{kv[0]: kv[1]} }
	cases := []struct {
		name    string
		o       anthropic.Options
		request map[string]string
		level   llm.Level
		want    string
	}{
		{"interleaved reasoning", anthropic.Options{}, nil, llm.LevelLow, "interleaved-thinking-2025-05-14"},
		{
			"all are merged, once",
			anthropic.Options{LongContext: true, Endpoint: wire.Endpoint{Headers: header("Anthropic-Beta", "a, b")}},
			header("anthropic-beta", "b,c"), "", "context-1m-2025-08-07,a,b,c",
		},
		{
			"stripped",
			anthropic.Options{LongContext: true, Endpoint: wire.Endpoint{Transform: wire.Transform{StripHeaders: []string{"anthropic-beta"}}}},
			header("anthropic-beta", "c"), "", "c",
		},
		{"removed", anthropic.Options{LongContext: true, Endpoint: wire.Endpoint{Headers: header("anthropic-beta", "")}}, nil, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ask()
			req.Headers, req.Thinking.Level = c.request, c.level
			if got := sends(t, c.o, req).head.Get("anthropic-beta"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCountTokens(t *testing.T) {
	req := ask()
	zero := 0.0
	req.Temperature, req.Stop, req.User, req.Extra = &zero, []string{"x"}, "u", map[string]json.RawMessage{"service_tier": json.RawMessage(`"auto"`)}
	const prompt = `"tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string","minLength":1},"all":{"type":"boolean"}},"required":["path"]},"cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi.","cache_control":{"type":"ephemeral"}}]}]}`
	cases := []struct {
		name      string
		o         anthropic.Options
		answer    string
		url, body string
	}{
		{
			"Anthropic",
			anthropic.Options{},
			`{"input_tokens":42}`,
			"https://api.anthropic.com/v1/messages/count_tokens", `{"model":"claude-sonnet-4-5",` + prompt,
		},
		{
			"Vertex",
			anthropic.Options{Host: anthropic.HostVertex, Project: "p"},
			`{"input_tokens":42}`,
			"https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic/models/count-tokens:rawPredict",
			`{"anthropic_version":"vertex-2023-10-16","model":"claude-sonnet-4-5",` + prompt,
		},
		{
			"Bedrock",
			anthropic.Options{Host: anthropic.HostBedrock},
			`{"inputTokens":42}`,
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/claude-sonnet-4-5/count-tokens", "",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			srv := &canned{body: []byte(c.answer)}
			n, err := client(srv, c.o).CountTokens(t.Context(), req)
			if n != 42 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
			if srv.url != c.url {
				t.Errorf("url %s, want %s", srv.url, c.url)
			}
			if c.body == "" {
				var wrapped struct {
					Input struct{ InvokeModel struct{ Body []byte } }
				}
				if err := json.Unmarshal(srv.sent, &wrapped); err != nil {
					t.Fatal(err)
				}
				srv.sent = wrapped.Input.InvokeModel.Body
				c.body = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":64000,"metadata":{"user_id":"u"},"temperature":0,"stop_sequences":["x"],` + prompt
			}
			if diff := cmp.Diff(c.body, string(srv.sent)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("errors", func(t *testing.T) {
		refused := &canned{status: 429, body: []byte(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)}
		if _, err := client(refused, anthropic.Options{}).CountTokens(t.Context(), req); llm.KindOf(err) != llm.ErrRateLimit || !strings.HasPrefix(err.Error(), "anthropic: slow down") {
			t.Errorf("got %v", err)
		}
		if _, err := client(&canned{body: []byte(`{}`)}, anthropic.Options{}).CountTokens(t.Context(), req); llm.KindOf(err) != llm.ErrTransport {
			t.Errorf("no number: got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := anthropic.New(anthropic.Options{}).CountTokens(ctx, req); llm.KindOf(err) != llm.ErrAborted {
			t.Errorf("cancelled: got %v", err)
		}
	})
}

func TestFoundryFromEnv(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return func(name string) string { return m[name] }
	}
	o, on, err := anthropic.FoundryFromEnv(env("CLAUDE_CODE_USE_FOUNDRY", "Yes", "FOUNDRY_BASE_URL", "https://f.example/anthropic",
		"ANTHROPIC_FOUNDRY_API_KEY", "fk", "ANTHROPIC_CUSTOM_HEADERS", "X-Org: 7"))
	if !on || err != nil {
		t.Fatal(on, err)
	}
	c := sends(t, o, ask())
	if c.url != "https://f.example/anthropic/v1/messages" || c.head.Get("Authorization") != "Bearer fk" || c.head.Get("X-Org") != "7" {
		t.Errorf("sent to %s with %v", c.url, c.head)
	}
	if _, on, err := anthropic.FoundryFromEnv(env("FOUNDRY_BASE_URL", "https://f.example", "CLAUDE_CODE_USE_FOUNDRY", "0")); on || err != nil {
		t.Errorf("Foundry is on without being asked for: %v, %v", on, err)
	}
	if _, _, err := anthropic.FoundryFromEnv(env("CLAUDE_CODE_USE_FOUNDRY", "1", "ANTHROPIC_CUSTOM_HEADERS", "nonsense")); err == nil {
		t.Error("faulty headers are taken")
	}
	if o, _, _ := anthropic.FoundryFromEnv(env("CLAUDE_CODE_USE_FOUNDRY", "true")); o.Key != nil {
		t.Error("there is a key without the variable")
	}
}

func TestParseCustomHeaders(t *testing.T) {
	cases := map[string]map[string]string{
		"":                                 nil,
		"A: 1":                             {"A": "1"},
		"A: 1, B: 2":                       {"A": "1", "B": "2"},
		"A: 1\nB:2\r\n\n":                  {"A": "1", "B": "2"},
		"anthropic-beta: a,b,X-C: d":       {"anthropic-beta": "a,b", "X-C": "d"},
		"X-Url: https://a,https://b, Y: z": {"X-Url": "https://a,https://b", "Y": "z"},
		"A: 1,":                            {"A": "1"},
		"X-Empty:":                         {"X-Empty": ""},
	}
	for in, want := range cases {
		got, err := anthropic.ParseCustomHeaders(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", in, err, diff)
		}
	}
	for _, in := range []string{"A: 1\nhunter2", "a b: hunter2", ": hunter2"} {
		if got, err := anthropic.ParseCustomHeaders(in); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q gave %v, %v", in, got, err)
		}
	}
}
