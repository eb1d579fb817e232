package connect_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/oauth/oauthtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// plan is a provider with stored credentials at a scripted server.
type plan struct {
	*connect.Models
	server *llmtest.Server
	model  *catalog.Model
	w      *world
}

func newPlan(t testing.TB, turns ...llmtest.Turn) *plan {
	t.Helper()
	p := &plan{server: serve(t, turns...), w: newWorld(t)}
	p.w.models(t, "providers: {corp: {baseUrl: '"+p.server.URL+"', api: anthropic-messages, apiKeyEnv: CORP_KEY, models: [{id: m}]}}")
	return p
}

func (p *plan) begin(t testing.TB) *plan {
	t.Helper()
	p.Models = p.w.open(t)
	p.model = lookup(t, p.Models, "corp/m")
	return p
}

// sent are the keys of the requests so far.
func (p *plan) sent() []string {
	var keys []string
	for _, raw := range p.server.Raw() {
		key := raw.Header.Get("X-Api-Key")
		if bearer, ok := strings.CutPrefix(raw.Header.Get("Authorization"), "Bearer "); ok {
			key = "bearer " + bearer
		}
		keys = append(keys, key)
	}
	return keys
}

func (p *plan) sentAre(t testing.TB, want ...string) {
	t.Helper()
	if got := p.sent(); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

var unauthorized = llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "no such key"}

func TestLimitsSwitch(t *testing.T) {
	reset := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	tests := []struct {
		name    string
		err     llm.Error
		blocked time.Duration // about
	}{
		{"usage limit with an end", llm.Error{Kind: llm.ErrUsageLimit, Status: 429, Code: "usage_limit_reached", ResetAt: reset}, 3 * time.Hour},
		{"usage limit", llm.Error{Kind: llm.ErrUsageLimit, Status: 402, Message: "insufficient credits"}, 15 * time.Minute},
		{"usage limit with a wait", llm.Error{Kind: llm.ErrUsageLimit, Status: 429, Message: "usage limit", RetryAfter: time.Hour}, time.Hour},
		{"usage limit that has ended already", llm.Error{Kind: llm.ErrUsageLimit, Status: 429, Message: "usage limit", ResetAt: time.Now().Add(-time.Hour)}, 15 * time.Minute},
		{"rate limit with a wait", llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 90 * time.Second}, 90 * time.Second},
		{"rate limit", llm.Error{Kind: llm.ErrRateLimit, Status: 429}, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlan(t, refuse(tt.err), say("from the second"), say("again")).begin(t)
			ids := add(t, p.Models, "corp", "k-1", "k-2")
			c := client(t, p.Models, p.model, "")
			if text, err := ask(t, c, p.model); err != nil || text != "from the second" {
				t.Fatalf("%q, %v", text, err)
			}
			if _, err := ask(t, c, p.model); err != nil {
				t.Fatal(err)
			}
			p.sentAre(t, "k-1", "k-2", "k-2")
			wait := time.Until(info(t, p.Models, ids[0]).Blocked)
			if wait > tt.blocked+time.Second || wait < tt.blocked-time.Minute/2 {
				t.Errorf("blocked for %s, want about %s", wait, tt.blocked)
			}
			if i := info(t, p.Models, ids[1]); !i.Blocked.IsZero() || i.Disabled != "" {
				t.Errorf("the second: %+v", i)
			}
		})
	}
}

// Many keys at their limits end in one error, which says when the first is free.
func TestAllLimited(t *testing.T) {
	at := func(d time.Duration) llmtest.Turn {
		return refuse(llm.Error{Kind: llm.ErrUsageLimit, Status: 429, Code: "usage_limit_reached", ResetAt: time.Now().Add(d)})
	}
	p := newPlan(t, at(time.Hour), at(time.Minute), at(2*time.Hour)).begin(t)
	add(t, p.Models, "corp", "k-1", "k-2", "k-3")
	c := client(t, p.Models, p.model, "a session")
	for range 2 { // the second time without a request
		_, err := ask(t, c, p.model)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrUsageLimit || time.Until(e.ResetAt).Round(time.Minute) != time.Minute {
			t.Errorf("%v, %+v", err, e)
		}
	}
	got := p.sent()
	slices.Sort(got)
	if !slices.Equal(got, []string{"k-1", "k-2", "k-3"}) {
		t.Errorf("sent %q", got)
	}
}

// One key alone: the error is the vendor's, and says when to come back.
func TestOneKeyLimited(t *testing.T) {
	reset := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	p := newPlan(t,
		refuse(llm.Error{Kind: llm.ErrUsageLimit, Status: 429, Code: "usage_limit_reached", Message: "plan used up", ResetAt: reset}),
		refuse(llm.Error{Kind: llm.ErrRateLimit, Status: 429, Message: "slowly"}),
	).begin(t)
	id := add(t, p.Models, "corp", "k-1")[0]
	c := client(t, p.Models, p.model, "s")
	_, err := ask(t, c, p.model)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrUsageLimit || !e.ResetAt.Equal(reset) || !strings.Contains(e.Message, "plan used up") {
		t.Errorf("%+v", e)
	}
	if got := info(t, p.Models, id).Blocked; !got.Equal(reset) {
		t.Errorf("blocked until %s, want %s", got, reset)
	}
	if err := p.Keys.Enable(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	_, err = ask(t, c, p.model)
	if !errors.As(err, &e) || e.Kind != llm.ErrRateLimit || e.RetryAfter < 20*time.Second || e.RetryAfter > 30*time.Second {
		t.Errorf("whoever tries again must be told to wait for as long as the key is blocked: %+v", e)
	}
	p.sentAre(t, "k-1", "k-1")
}

func TestRefusedKeys(t *testing.T) {
	google := llm.Error{Kind: llm.ErrAuth, Status: 400, Message: "API key not valid"}
	p := newPlan(t, refuse(unauthorized), refuse(google), say("third")).begin(t)
	ids := add(t, p.Models, "corp", "k-1", "k-2", "k-3")
	if text, err := ask(t, client(t, p.Models, p.model, ""), p.model); err != nil || text != "third" {
		t.Fatalf("%q, %v", text, err)
	}
	p.sentAre(t, "k-1", "k-2", "k-3")
	for i, want := range []string{"not accepted: no such key", "not accepted: API key not valid", ""} {
		if got := info(t, p.Models, ids[i]).Disabled; got != want {
			t.Errorf("key %d: disabled %q, want %q", i+1, got, want)
		}
	}
}

// What is no fault of the key leaves it alone, and so does whatever comes after
// the first event.
func TestNoSwitch(t *testing.T) {
	middle := llmtest.Turn{Events: append(llmtest.Say("half an answer"), llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimit, Code: "rate_limit_error", Message: "slowly"})...)}
	tests := []struct {
		name    string
		turn    llmtest.Turn
		kind    llm.ErrorKind
		text    string
		blocked bool
	}{
		{"forbidden", refuse(llm.Error{Kind: llm.ErrAuth, Status: 403, Message: "not this model"}), llm.ErrAuth, "", false},
		{"overload", refuse(llm.Error{Kind: llm.ErrOverload, Status: 529}), llm.ErrOverload, "", false},
		{"invalid", refuse(llm.Error{Kind: llm.ErrInvalidRequest, Status: 400}), llm.ErrInvalidRequest, "", false},
		{"dropped", llmtest.Turn{Fault: llmtest.Fault{Drop: true}}, llm.ErrTransport, "", false},
		{"limit in the middle", middle, llm.ErrRateLimit, "half an answer", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlan(t, tt.turn, say("never")).begin(t)
			ids := add(t, p.Models, "corp", "k-1", "k-2")
			text, err := ask(t, client(t, p.Models, p.model, ""), p.model)
			if llm.KindOf(err) != tt.kind || text != tt.text {
				t.Errorf("%q, %v", text, err)
			}
			if n := len(p.server.Raw()); n != 1 {
				t.Errorf("%d requests", n)
			}
			if i := info(t, p.Models, ids[0]); i.Disabled != "" || i.Blocked.IsZero() == tt.blocked {
				t.Errorf("%+v", i)
			}
		})
	}
}

// A key that is not stored is used as it is, whatever the vendor says.
func TestEnvironmentKeyStays(t *testing.T) {
	limit := llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: time.Hour}
	p := newPlan(t, refuse(unauthorized), refuse(limit), say("hi"))
	p.w.env["CORP_KEY"] = "k-env"
	p.begin(t)
	add(t, p.Models, "corp", "k-stored")
	c := client(t, p.Models, p.model, "")
	for _, kind := range []llm.ErrorKind{llm.ErrAuth, llm.ErrRateLimit, ""} {
		if _, err := ask(t, c, p.model); llm.KindOf(err) != kind {
			t.Errorf("%v, want %s", err, kind)
		}
	}
	p.sentAre(t, "k-env", "k-env", "k-env")
	if i := info(t, p.Models, 1); i.Disabled != "" || !i.Blocked.IsZero() {
		t.Errorf("the stored key suffered: %+v", i)
	}
}

// A server of the command line that does not know a key proves nothing about it.
func TestForeignHostDisablesNothing(t *testing.T) {
	s := serve(t, refuse(unauthorized))
	w := newWorld(t)
	m := w.open(t)
	id := add(t, m, "openai", "k-1")[0]
	model, err := m.Catalog.Registry.Unlisted("openai", "m", llm.APICompletions, s.URL+"/v1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, client(t, m, model, ""), model); llm.KindOf(err) != llm.ErrAuth {
		t.Error(err)
	}
	if i := info(t, m, id); i.Disabled != "" {
		t.Errorf("%+v", i)
	}
}

// loggedIn is a plan with a login.
func (p *plan) loggedIn(t testing.TB, s *oauthtest.Server) *plan {
	t.Helper()
	s.ClientID, s.ExpiresIn = "our-client", 3600
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	p.w.o.OAuth = map[string]oauth.Provider{"corp": {AuthURL: ts.URL + "/authorize", TokenURL: ts.URL + "/token", ClientID: "our-client"}}
	p.begin(t)
	_, err := p.Keys.Login(context.Background(), "corp", credential.LoginOptions{}, oauth.UI{Open: func(u string) error {
		resp, err := http.Get(u)
		if err != nil {
			return err
		}
		http.DefaultClient.CloseIdleConnections()
		return resp.Body.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func token(t testing.TB, m *connect.Models) string {
	t.Helper()
	r, err := m.Keys.Key(context.Background(), "corp", "")
	if err != nil {
		t.Fatal(err)
	}
	return "bearer " + r.Secret.Reveal()
}

// A login that is refused is renewed once and goes on; its tokens are sent as
// bearer in every format.
func TestLoginRenewed(t *testing.T) {
	var auth oauthtest.Server
	p := newPlan(t, refuse(unauthorized), say("renewed")).loggedIn(t, &auth)
	first := token(t, p.Models)
	if text, err := ask(t, client(t, p.Models, p.model, ""), p.model); err != nil || text != "renewed" {
		t.Fatalf("%q, %v", text, err)
	}
	second := token(t, p.Models)
	p.sentAre(t, first, second)
	if first == second {
		t.Error("not renewed")
	}
}

// Renewed and refused again: it is disabled, and another credential takes over,
// which is renewed on its own account if need be.
func TestLoginRefusedTwice(t *testing.T) {
	var auth oauthtest.Server
	p := newPlan(t, refuse(unauthorized), refuse(unauthorized), refuse(unauthorized)).loggedIn(t, &auth)
	c := client(t, p.Models, p.model, "")
	if _, err := ask(t, c, p.model); llm.KindOf(err) != llm.ErrAuth || !strings.Contains(err.Error(), "no such key") {
		t.Error(err)
	}
	if n := len(p.sent()); n != 2 || auth.Requests("/token") != 2 { // the login's and the renewal
		t.Errorf("%d requests, %d tokens", n, auth.Requests("/token"))
	}
	if got := info(t, p.Models, 1).Disabled; got != "not accepted: no such key" {
		t.Errorf("disabled: %q", got)
	}
	if _, err := ask(t, c, p.model); llm.KindOf(err) != llm.ErrAuth || !strings.Contains(err.Error(), "not accepted: no such key") {
		t.Errorf("%v does not name the cause", err)
	}
}

func TestLoginRevoked(t *testing.T) {
	var auth oauthtest.Server
	p := newPlan(t, refuse(unauthorized)).loggedIn(t, &auth)
	auth.Revoke()
	if _, err := ask(t, client(t, p.Models, p.model, ""), p.model); llm.KindOf(err) != llm.ErrAuth {
		t.Error(err)
	}
	if got := info(t, p.Models, 1).Disabled; got == "" || strings.Contains(got, "no such key") {
		t.Errorf("disabled: %q, want what the authorization server says", got)
	}
}

// A renewal that fails for now costs the request, not the login.
func TestRenewalFailsForNow(t *testing.T) {
	down := make(chan struct{})
	auth := oauthtest.Server{Intercept: func(w http.ResponseWriter, _ *http.Request, path string) bool {
		select {
		case <-down:
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		default:
			return false
		}
	}}
	p := newPlan(t, refuse(unauthorized), say("hi")).loggedIn(t, &auth)
	close(down)
	c := client(t, p.Models, p.model, "")
	if _, err := ask(t, c, p.model); llm.KindOf(err) != llm.ErrAuth {
		t.Error(err)
	}
	if got := info(t, p.Models, 1).Disabled; got != "" {
		t.Errorf("disabled: %q", got)
	}
	if text, err := ask(t, c, p.model); err != nil || text != "hi" {
		t.Errorf("%q, %v", text, err)
	}
}

// Cancelling and closing end a stream that waits for a renewal, and one that
// waits for the database.
func TestEndDuringSwitch(t *testing.T) {
	ways := map[string]func(cancel context.CancelFunc, s llm.Stream){
		"cancel": func(cancel context.CancelFunc, _ llm.Stream) { cancel() },
		"close":  func(_ context.CancelFunc, s llm.Stream) { s.Close() },
	}
	check := func(t *testing.T, p *plan, waiting <-chan struct{}, end func(context.CancelFunc, llm.Stream)) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := client(t, p.Models, p.model, "").Stream(ctx, request(p.model))
		ended := make(chan time.Time, 1)
		go func() {
			<-waiting
			ended <- time.Now()
			end(cancel, s)
		}()
		_, err := read(t, s)
		if took := time.Since(<-ended); took > 20*time.Second {
			t.Errorf("ended after %s", took)
		}
		if llm.KindOf(err) != llm.ErrAborted {
			t.Errorf("%v, want aborted", err)
		}
		if n := len(p.server.Raw()); n > 1 {
			t.Errorf("%d requests", n)
		}
	}
	for name, end := range ways {
		t.Run(name+" during a renewal", func(t *testing.T) {
			waiting, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			auth := oauthtest.Server{Intercept: func(_ http.ResponseWriter, r *http.Request, path string) bool {
				if path == "/token" && r.FormValue("grant_type") == "refresh_token" {
					once.Do(func() { close(waiting) })
					<-release
				}
				return false
			}}
			p := newPlan(t, refuse(unauthorized), say("never")).loggedIn(t, &auth)
			check(t, p, waiting, end)
			close(release)
		})
		t.Run(name+" while the database is locked", func(t *testing.T) {
			waiting := make(chan struct{})
			var p *plan
			locked := refuse(llm.Error{Kind: llm.ErrRateLimit, Status: 429})
			locked.Check = func(*llm.Request) error {
				db, err := sql.Open("sqlite", "file:"+url.PathEscape(filepath.Join(p.w.home, "burin.db")))
				if err == nil {
					db.SetMaxOpenConns(1)
					_, err = db.Exec("BEGIN EXCLUSIVE")
				}
				t.Cleanup(func() { db.Close() })
				close(waiting)
				return err
			}
			p = newPlan(t, locked, say("never")).begin(t)
			add(t, p.Models, "corp", "k-1", "k-2")
			inBlock := make(chan struct{})
			go func() {
				<-waiting
				stack := make([]byte, 1<<20)
				for !strings.Contains(string(stack[:runtime.Stack(stack, true)]), "switchingStream).block") {
					runtime.Gosched()
				}
				close(inBlock)
			}()
			check(t, p, inBlock, end)
		})
	}
}

// Closing from elsewhere is safe at any moment of a switch.
func TestCloseRaces(t *testing.T) {
	arrived := make(chan struct{}, 1000)
	limit := refuse(llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: time.Millisecond})
	limit.Check = func(*llm.Request) error {
		arrived <- struct{}{}
		return nil
	}
	p := newPlan(t, slices.Repeat([]llmtest.Turn{limit}, 1000)...).begin(t)
	add(t, p.Models, "corp", "k-1", "k-2", "k-3")
	c := client(t, p.Models, p.model, "")
	for i := range 60 {
		s := c.Stream(context.Background(), request(p.model))
		over := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for range i % 4 {
				select {
				case <-arrived:
				case <-over:
				}
			}
			s.Close()
		})
		_, err := read(t, s)
		close(over)
		wg.Wait()
		if kind := llm.KindOf(err); kind != llm.ErrAborted && kind != llm.ErrRateLimit && kind != llm.ErrUsageLimit {
			t.Fatalf("%v", err)
		}
	}
}
