package connect_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
)

// No key reaches an address it was not meant for. Everybody's keys are there;
// the request must hold the one that is wanted and none of the others.
func TestWhereKeysGo(t *testing.T) {
	everyone := []string{"k-vendor", "k-stored", "k-proxy", "k-corp", "k-gemini"}
	tests := []struct {
		name, models string
		env          map[string]string
		stored       string // provider
		baseURL      string // of the command line; %s = the server
		ref          string
		want         string // key; "" = none
		refused      string // error instead of a request
	}{
		{
			"the key of models.yml before the vendor's", "providers: {openai: {baseUrl: %s, api: openai-completions, apiKey: k-proxy, models: [{id: m}]}}",
			nil, "openai", "", "openai/m", "k-proxy", "",
		},
		{
			"a variable of models.yml", "providers: {openai: {baseUrl: %s, api: openai-completions, apiKeyEnv: PROXY_KEY, models: [{id: m}]}}",
			map[string]string{"PROXY_KEY": "k-proxy"},
			"openai", "", "openai/m", "k-proxy", "",
		},
		{
			"a variable of models.yml that is not set", "providers: {openai: {baseUrl: %s, api: openai-completions, apiKeyEnv: PROXY_KEY, models: [{id: m}]}}",
			nil, "", "", "openai/m", "", "the variable PROXY_KEY, which models.yml names for its key, is not set",
		},
		{
			"the same with a stored key of the vendor", "providers: {openai: {baseUrl: %s, api: openai-completions, apiKeyEnv: PROXY_KEY, models: [{id: m}]}}",
			nil, "openai", "", "openai/m", "", "the variable PROXY_KEY",
		},
		{
			"a stored key of a provider that only models.yml has", "providers: {corp: {baseUrl: %s, api: openai-completions, apiKeyEnv: PROXY_KEY, models: [{id: m}]}}",
			nil, "corp", "", "corp/m", "k-stored", "",
		},
		{
			"no key to a provider without", "providers: {openai: {baseUrl: %s, api: openai-completions, auth: none, models: [{id: m}]}}",
			nil, "openai", "", "openai/m", "", "",
		},
		{
			"a key of models.yml stays at its address", "providers: {corp: {baseUrl: 'https://corp.example', api: openai-completions, apiKey: k-corp, models: [{id: m}]}}",
			nil, "", "%s", "corp/m", "", "",
		},
		{
			"also that of a vendor", "providers: {openai: {baseUrl: 'https://corp.example', api: openai-completions, apiKey: k-corp, models: [{id: m}]}}",
			nil, "", "%s", "openai/m", "", "",
		},
		{
			"but goes to it", "providers: {corp: {baseUrl: %s/other, api: openai-completions, apiKey: k-corp, models: [{id: m}]}}",
			nil, "", "%s", "corp/m", "k-corp", "",
		},
		{
			"a server with a name of its own", "", nil, "", "%s", "local/m", "", "",
		},
		{
			"a local server", "", map[string]string{"OLLAMA_HOST": "%s"}, "", "", "ollama/m", "", "",
		},
		{
			"a local server with a key", "", map[string]string{"OLLAMA_HOST": "%s", "OLLAMA_API_KEY": "k-corp"}, "", "", "ollama/m", "k-corp", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, say("hi"))
			at := func(text string) string { return strings.ReplaceAll(text, "%s", s.URL) }
			w := newWorld(t)
			w.env["OPENAI_API_KEY"], w.env["GEMINI_API_KEY"] = "k-vendor", "k-gemini"
			for name, value := range tt.env {
				w.env[name] = at(value)
			}
			if tt.models != "" {
				w.models(t, at(tt.models))
			}
			m := w.open(t)
			if tt.stored != "" {
				add(t, m, tt.stored, "k-stored")
			}
			var model *catalog.Model
			if provider, id, _ := llm.SplitRef(tt.ref); tt.baseURL != "" || provider == "ollama" {
				var err error
				if model, err = m.Catalog.Registry.Unlisted(provider, id, "", at(tt.baseURL)); err != nil {
					t.Fatal(err)
				}
			} else {
				model = lookup(t, m, tt.ref)
			}
			_, err := ask(t, client(t, m, model, ""), model)
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || llm.KindOf(err) != llm.ErrAuth || len(s.Raw()) > 0 {
					t.Errorf("%v after %d requests, want %s", err, len(s.Raw()), tt.refused)
				}
				if m.Catalog.Registry.Available(model) {
					t.Error("a model that cannot be used is said to be available")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := seen{header: s.Raw()[0].Header, body: string(s.Raw()[0].Body)}
			for _, key := range everyone {
				if got.carries(key) != (key == tt.want) {
					t.Errorf("want only %q in %v", tt.want, got.header)
				}
			}
		})
	}
}

// Asking a provider for its models is a request like any other.
func TestDiscoveryKeepsKeys(t *testing.T) {
	w := newWorld(t)
	v := w.vendors(t)
	w.env["OPENAI_API_KEY"] = "k-vendor"
	w.models(t, "providers: {openai: {baseUrl: 'https://proxy.example/v1', apiKeyEnv: PROXY_KEY}}")
	m := w.open(t)
	reports := m.Catalog.Servers.Discover(t.Context(), catalog.Search{Providers: []string{"openai"}})
	if len(reports) != 1 || reports[0].Err == nil || !strings.Contains(reports[0].Err.Error(), "PROXY_KEY") || len(v.seen) > 0 {
		t.Errorf("reports %v, requests %v", reports, v.seen)
	}
	w.env["PROXY_KEY"] = "k-proxy"
	m.Catalog.Servers.Discover(t.Context(), catalog.Search{Providers: []string{"openai"}})
	if got := v.one(t); got.host != "proxy.example" || got.header.Get("Authorization") != "Bearer k-proxy" {
		t.Errorf("%+v", got)
	}
}

// The error of a request without a key says what was looked for.
func TestNoKey(t *testing.T) {
	w := newWorld(t)
	w.vendors(t)
	m := w.open(t)
	model := lookup(t, m, "openrouter/anthropic/claude-sonnet-4.6")
	_, err := ask(t, client(t, m, model, ""), model)
	var missing *credential.NotFoundError
	if !errors.As(err, &missing) || llm.KindOf(err) != llm.ErrAuth {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"OPENROUTER_API_KEY", "burin keys add openrouter", "burin login openrouter"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in: %v", want, err)
		}
	}
}

// A session stays with its key, and its own key only.
func TestSessionAffinity(t *testing.T) {
	p := newPlan(t, says("hi", 30)...).begin(t)
	add(t, p.Models, "corp", "k-1", "k-2", "k-3")
	used := map[string]bool{}
	for _, session := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		c := client(t, p.Models, p.model, session)
		before := len(p.sent())
		for range 3 {
			if _, err := ask(t, c, p.model); err != nil {
				t.Fatal(err)
			}
		}
		keys := p.sent()[before:]
		if keys[0] != keys[1] || keys[1] != keys[2] {
			t.Errorf("session %s: %q", session, keys)
		}
		used[keys[0]] = true
	}
	if len(used) < 2 {
		t.Errorf("all sessions use %v", used)
	}
}

// What a cloud's tools know is for that cloud: a server of the command line that
// only speaks its format does not get it.
func TestCloudStaysHome(t *testing.T) {
	w := newWorld(t)
	v := w.vendors(t)
	w.env["GOOGLE_APPLICATION_CREDENTIALS"] = googleLogin(t, filepath.Join(w.home, "adc.json"), "paying")
	w.env["GOOGLE_CLOUD_LOCATION"] = "eu"
	m := w.open(t)
	for base, want := range map[string]string{"https://other.example": "", "https://eu-aiplatform.googleapis.com": "Bearer adc-token"} {
		model, err := m.Catalog.Registry.Unlisted("local", "m", llm.APIVertex, base)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, client(t, m, model, ""), model); err != nil {
			t.Error(err)
		}
		if got := v.one(t); got.header.Get("Authorization") != want {
			t.Errorf("%s got %q", got.host, got.header.Get("Authorization"))
		}
	}
}

// A database that cannot be read is no reason to fail while there is another
// key, but the user hears of it.
func TestUnusableKeysAreReported(t *testing.T) {
	srv := serve(t, say("ok"))
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "k"
	w.models(t, "providers: {openai: {baseUrl: "+srv.URL+"}}")
	write(t, filepath.Join(w.home, "burin.db"), "this is no database")
	var heard []string
	w.o.Warn = func(s string) { heard = append(heard, s) }
	m := w.open(t)
	model := lookup(t, m, "openai/gpt-5.2")
	if text, err := ask(t, client(t, m, model, ""), model); err != nil || text != "ok" {
		t.Fatalf("%q, %v", text, err)
	}
	if len(heard) != 1 || !strings.Contains(heard[0], "burin.db") || strings.Contains(heard[0], "\n") {
		t.Errorf("heard %q", heard)
	}
}
