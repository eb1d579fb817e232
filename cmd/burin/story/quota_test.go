package story_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// behind serves a model through a server that has limits, and tells of them.
func behind(t *testing.T, model *llmtest.Server, plan string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(model.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Anthropic-Ratelimit-Requests-Limit", "50")
			r.Header.Set("Anthropic-Ratelimit-Requests-Remaining", "5")
			return nil
		},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/oauth/usage") {
			_, _ = w.Write([]byte(plan))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// /usage shows the limits that answers told of, above what was spent.
func TestLimitsOfAnswers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{say("Good morning.")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	front := behind(t, model, "")
	s := beginWith(t, &llmtest.Server{}, func(o *setting) {
		// Not over a socket: what answers say is known where they came.
		o.noKey, o.home, o.quiet = true, t.TempDir()+"/home", true
		write(t, o.home+"/models.yml", "providers: {anthropic: {baseUrl: '"+front.URL+"', apiKey: k, api: anthropic-messages}}\n")
	})
	s.WaitText("% context")
	s.send("/usage")
	s.WaitText("Your providers tell no limits, or none yet.")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("hello")
	s.WaitText("Good morning.")
	s.WaitGone("Working")
	s.send("/usage")
	s.WaitText("anthropic, as of the answer at ")
	s.WaitText("90% used  45 of 50  nearly used up")
	s.WaitText("By day, the last 30 days")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("/cost")
	s.WaitText("By day, the last 30 days")
	if strings.Contains(s.Text(), "Plans and limits") {
		t.Errorf("/cost shows limits:\n%s", s.Text())
	}
}

// With a login it shows what the provider says of the plan.
func TestLimitsOfPlan(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	front := behind(t, model, `{"five_hour":{"utilization":37.0,"resets_at":"2031-11-04T04:59:59Z"},"seven_day":{"utilization":100,"resets_at":null}}`)
	s := beginWith(t, &llmtest.Server{}, func(o *setting) {
		o.noKey = true
		o.Env = append(o.Env, "ANTHROPIC_OAUTH_TOKEN=sk-ant-oat-secret", "ANTHROPIC_BASE_URL="+front.URL)
	})
	s.send("/usage")
	s.WaitText("5 hours   37% used  resets Tue 4 Nov")
	s.WaitText("7 days   100% used  used up")
	if strings.Contains(s.Text(), "secret") {
		t.Errorf("the token is shown:\n%s", s.Text())
	}
}
