package tui

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// A turn that ends before the model is done says why, and what to do.
func TestEndsThatSayWhy(t *testing.T) {
	fails := llmtest.Turn{Parts: []llmtest.Part{{Call: "nosuch", Args: `{"a":1}`}}}
	for _, tt := range []struct {
		name  string
		set   func(*session.Options)
		turns []llmtest.Turn
		want  string
	}{
		{
			"requests", func(o *session.Options) { o.MaxTurns = 1 },
			[]llmtest.Turn{fails},
			"Stopped after 1 request (--max-turns); the work may not be done. /retry continues.",
		},
		{
			"cost", func(o *session.Options) {
				o.MaxCost, o.Request.Model.Price = 1, llm.Price{Input: llm.PerMillion(1000), Output: llm.PerMillion(1000)}
			},
			[]llmtest.Turn{{Events: append(
				[]llm.Event{{Type: llm.EventStart, Message: &llm.Message{Usage: &llm.Usage{Input: 100, Output: 100}}}},
				llmtest.Call("1", "nosuch", `{}`)...,
			)}},
			"spent; start burin with a higher --max-cost to continue",
		},
		{
			"circles", nil,
			[]llmtest.Turn{fails, fails, fails, fails, fails, fails, fails, fails},
			"the model made the same failing call of nosuch 5 times. Tell burin what to do instead.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := atDesk(t, func(_ Wish, o *session.Options) {
				if tt.set != nil {
					tt.set(o)
				}
			}, tt.turns...)
			d.outbox.send("work", steerNow)
			d.until("the end", func() bool { return !d.work.on })
			if got := prose.Line(d.shown()); !strings.Contains(got, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, d.shown())
			}
		})
	}
}

// Where a provider refuses the key it is said where that came from, and what to do.
func TestKeyWords(t *testing.T) {
	for _, tt := range []struct {
		found  credential.Found
		status int
		want   string
	}{
		{credential.Found{}, 401, "/login groq stores another key or logs in again."},
		{credential.Found{From: credential.FromStore, Source: "stored key 3"}, 403, "/login groq stores another key or logs in again; /model chooses another model."},
		{
			credential.Found{From: credential.FromVariable, Source: "variable GROQ_API_KEY"},
			401,
			"The key came from the variable GROQ_API_KEY: /login groq stores another one, which is used first.",
		},
		{
			credential.Found{From: credential.FromModelsYAML, Source: "apiKey of models.yml, as it stands there"},
			401,
			"The key came from apiKey of models.yml, as it stands there: change it there and restart burin.",
		},
		{credential.Found{From: credential.FromCommandLine, Source: "--api-key"}, 401, "The key came from --api-key: change it there and restart burin."},
	} {
		if got := keyWords("groq", tt.found, tt.status); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
