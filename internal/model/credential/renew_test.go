package credential_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/oauth/oauthtest"
	"github.com/burin-dev/burin/llm"
)

// acme serves an authorization server and logs in to it.
func acme(t *testing.T, w *world, s *oauthtest.Server) *credential.Manager {
	t.Helper()
	s.ClientID = "our-client"
	if s.ExpiresIn == 0 {
		s.ExpiresIn = 3600
	}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	w.now = time.Now()
	w.settings["acme"] = credential.Settings{OAuth: &oauth.Provider{
		AuthURL: ts.URL + "/authorize", TokenURL: ts.URL + "/token", ClientID: s.ClientID, TokenParams: map[string]string{"resource": "models"},
	}}
	m := w.open(t)
	login(t, m)
	return m
}

func login(t *testing.T, m *credential.Manager) credential.Info {
	t.Helper()
	info, err := m.Login(context.Background(), "acme", credential.LoginOptions{}, oauth.UI{Open: func(u string) error {
		resp, err := http.Get(u)
		if err != nil {
			t.Error(err)
			return nil
		}
		return resp.Body.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	m := acme(t, w, s)
	ctx := context.Background()
	r := key(t, m, "acme", "s")
	if r.Kind != credential.KindOAuth || r.Source != "stored login 1 of kim@example.com" || r.Account != "kim@example.com" {
		t.Errorf("%+v", r)
	}
	if err := m.Disable(ctx, 1, "x"); err != nil {
		t.Fatal(err)
	}
	if info := login(t, m); info.ID != 1 || info.Disabled != "" || info.Account != "kim@example.com" {
		t.Errorf("the same account again: %+v", info)
	}
	add(t, m, "acme", "plain-key")
	if r := key(t, m, "acme", "s"); r.Kind != credential.KindAPIKey {
		t.Errorf("%s goes before a stored key", r.Source)
	}
	if have, err := m.Available(ctx, "acme"); err != nil || have["acme"].Source != "stored key 2" {
		t.Errorf("available %v, %v", have, err)
	}
	if n, err := m.Logout(ctx, "acme"); err != nil || n != 1 {
		t.Errorf("logged out of %d, %v", n, err)
	}
	if r := key(t, m, "acme", "s"); r.CredentialID != 2 {
		t.Errorf("after the logout: %s", r.Source)
	}
	if _, err := m.Login(ctx, "nowhere", credential.LoginOptions{}, oauth.UI{}); err == nil || !strings.Contains(err.Error(), "burin keys add nowhere") {
		t.Errorf("error %v", err)
	}
	for _, secret := range []string{"canary"} {
		if strings.Contains(string(contents(t, w.home)), secret) {
			t.Errorf("%s stands in a file as it is", secret)
		}
	}
}

func TestRenewalBeforeTheEnd(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	m := acme(t, w, s)
	first := key(t, m, "acme", "s").Secret
	w.now = w.now.Add(59*time.Minute - time.Second)
	if got := key(t, m, "acme", "s").Secret; got != first {
		t.Error("renewed more than a minute before the end")
	}
	w.now = w.now.Add(5 * time.Second)
	second := key(t, m, "acme", "s").Secret
	if second == first {
		t.Error("not renewed within the last minute")
	}
	if got := key(t, w.open(t), "acme", "s").Secret; got != second {
		t.Error("the renewed token was not stored")
	}
	forms := s.Forms()
	if last := forms[len(forms)-1]; last.Get("grant_type") != "refresh_token" || last.Get("resource") != "models" {
		t.Errorf("renewed with %v", last)
	}
}

// The renewal goes where the login went, whatever the configuration says now.
func TestRenewalIgnoresConfiguration(t *testing.T) {
	w := newWorld(t)
	m := acme(t, w, &oauthtest.Server{})
	w.settings["acme"] = credential.Settings{OAuth: &oauth.Provider{TokenURL: "https://evil.invalid/token", AuthURL: "https://evil.invalid/", ClientID: "x"}}
	w.now = w.now.Add(2 * time.Hour)
	key(t, m, "acme", "s")
}

func TestRenewalHappensOnce(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	m := acme(t, w, s)
	other := w.open(t) // another process as far as locks are concerned
	w.now = w.now.Add(2 * time.Hour)
	before := s.Requests("/token")
	var wg sync.WaitGroup
	tokens := make(chan credential.Secret, 40)
	for i := range 40 {
		m := []*credential.Manager{m, other}[i%2]
		wg.Go(func() {
			r, err := m.Key(context.Background(), "acme", fmt.Sprint(i))
			if err != nil {
				t.Error(err)
			}
			tokens <- r.Secret
		})
	}
	wg.Wait()
	close(tokens)
	first := <-tokens
	for got := range tokens {
		if got != first {
			t.Fatal("two tokens were given out")
		}
	}
	if n := s.Requests("/token") - before; n != 1 {
		t.Errorf("%d renewals, want 1", n)
	}
}

func TestRenewalFaults(t *testing.T) {
	var mu sync.Mutex
	var fault func(w http.ResponseWriter)
	set := func(f func(w http.ResponseWriter)) { mu.Lock(); defer mu.Unlock(); fault = f }
	s := &oauthtest.Server{Intercept: func(w http.ResponseWriter, _ *http.Request, path string) bool {
		mu.Lock()
		defer mu.Unlock()
		if path != "/token" || fault == nil {
			return false
		}
		fault(w)
		return true
	}}
	w := newWorld(t)
	m := acme(t, w, s)
	ctx := context.Background()
	first := key(t, m, "acme", "s").Secret

	// In the last minute a failing server does no harm.
	w.now = w.now.Add(59*time.Minute + 30*time.Second)
	set(func(w http.ResponseWriter) { w.WriteHeader(500) })
	if got := key(t, m, "acme", "s").Secret; got != first {
		t.Error("the token that is still valid was not used")
	}
	// After it, it does, and says so; the environment does not step in.
	w.now = w.now.Add(time.Hour)
	_, err := m.Key(ctx, "acme", "s")
	var u *credential.UnusableError
	if !errors.As(err, &u) || !u.Transient || !strings.Contains(err.Error(), "HTTP 500") {
		t.Errorf("error %v", err)
	}
	if e := new(llm.Error); !errors.As(err, &e) || e.Kind != llm.ErrTransport {
		t.Errorf("as a stream's error: %v", e)
	}
	// A refusal that is about us and not about the login disables nothing.
	set(func(w http.ResponseWriter) { oauthtest.Refuse(w, 401, "invalid_client", "") })
	if _, err = m.Key(ctx, "acme", "s"); !errors.As(err, &u) || u.Transient {
		t.Errorf("error %v", err)
	}
	set(nil)
	if got := key(t, m, "acme", "s").Secret; got == first {
		t.Error("not renewed once the server was well")
	}
	// A revoked login is disabled with its cause, and passed over.
	s.Revoke()
	w.now = w.now.Add(2 * time.Hour)
	_, err = m.Key(ctx, "acme", "s")
	if err == nil || !strings.Contains(err.Error(), "this login was revoked") || !strings.Contains(err.Error(), "burin login acme") {
		t.Errorf("error %v", err)
	}
	list, err := m.List(ctx)
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Disabled, "invalid_grant (this login was revoked)") {
		t.Errorf("list %+v, error %v", list, err)
	}
	n := s.Requests("/token")
	var missing *credential.NotFoundError
	if _, err = m.Key(ctx, "acme", "s"); !errors.As(err, &missing) || len(missing.Disabled) != 1 {
		t.Errorf("error %v", err)
	}
	if s.Requests("/token") != n {
		t.Error("a disabled login was tried again")
	}
	login(t, m)
	key(t, m, "acme", "s")
}

func TestAnotherCredentialWhenOneEnds(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	m := acme(t, w, s)
	s.Revoke()
	w.now = w.now.Add(2 * time.Hour)
	w.settings["acme"] = credential.Settings{APIKey: "literal"}
	r := key(t, m, "acme", "s")
	if r.Secret != "literal" || !strings.Contains(r.Warning, "has ended") {
		t.Errorf("%s, warning %q", r.Source, r.Warning)
	}
}

func TestRenew(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	m := acme(t, w, s)
	ctx := context.Background()
	old := key(t, m, "acme", "s")
	renewed, err := m.Renew(ctx, old)
	if err != nil || renewed.Secret == old.Secret || renewed.CredentialID != old.CredentialID {
		t.Fatalf("%v, %v", renewed, err)
	}
	n := s.Requests("/token")
	again, err := m.Renew(ctx, old)
	if err != nil || again.Secret != renewed.Secret || s.Requests("/token") != n {
		t.Errorf("a token that was replaced already was renewed again: %v", err)
	}
	add(t, m, "openai", "k")
	w.env["GROQ_API_KEY"] = "k"
	for _, p := range []string{"openai", "groq"} {
		if _, err := m.Renew(ctx, key(t, m, p, "s")); !errors.Is(err, credential.ErrNotRenewable) {
			t.Errorf("%s: error %v", p, err)
		}
	}
}

// A renewal that its caller gave up goes on, so that the new refresh token is
// not lost.
func TestRenewalOutlivesItsCaller(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	slow := false
	s := &oauthtest.Server{Intercept: func(_ http.ResponseWriter, _ *http.Request, path string) bool {
		if path == "/token" && slow {
			close(arrived)
			<-answer
		}
		return false
	}}
	w := newWorld(t)
	m := acme(t, w, s)
	slow = true
	w.now = w.now.Add(2 * time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	if _, err := m.Key(ctx, "acme", "s"); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want cancelled", err)
	}
	slow = false
	close(answer)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	n := s.Requests("/token")
	key(t, w.open(t), "acme", "s")
	if s.Requests("/token") != n || s.Replays() != 0 {
		t.Error("the renewed token was lost")
	}
}

// The disk is full at the worst moment: the vendor has spent the old refresh token.
func TestRenewedTokenThatCannotBeStored(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	m := acme(t, w, s)
	w.sql(t, "CREATE TRIGGER full BEFORE UPDATE OF sealed ON credentials BEGIN SELECT RAISE(ABORT, 'disk full'); END")
	w.now = w.now.Add(2 * time.Hour)
	renewed := key(t, m, "acme", "s").Secret
	if got := key(t, m, "acme", "s").Secret; got != renewed || s.Replays() != 0 {
		t.Fatalf("the new token did not survive in memory; %d replays", s.Replays())
	}
	w.now = w.now.Add(2 * time.Hour)
	renewed = key(t, m, "acme", "s").Secret
	if s.Replays() != 0 {
		t.Fatal("the second renewal used a spent token")
	}
	w.sql(t, "DROP TRIGGER full")
	key(t, m, "acme", "s")
	if got := key(t, w.open(t), "acme", "s").Secret; got != renewed {
		t.Error("the token was not stored when there was room again")
	}
	// There is room again just when the next renewal is due.
	w.sql(t, "CREATE TRIGGER full BEFORE UPDATE OF sealed ON credentials BEGIN SELECT RAISE(ABORT, 'disk full'); END")
	w.now = w.now.Add(2 * time.Hour)
	refused := key(t, m, "acme", "s")
	w.sql(t, "DROP TRIGGER full")
	again, err := m.Renew(context.Background(), refused)
	if err != nil || again.Secret == refused.Secret {
		t.Fatalf("not renewed: %v", err)
	}
	renewed = again.Secret
	if got := key(t, w.open(t), "acme", "s").Secret; got != renewed || s.Replays() != 0 {
		t.Error("the token renewed when there was room again was lost")
	}
}

const childHome = "BURIN_TEST_CHILD_HOME"

// child is a process of its own that resolves the key when told to.
func child() int {
	m := credential.New(credential.Options{Home: os.Getenv(childHome), EnvFiles: []string{}, Keyring: credential.NoKeyring()})
	defer m.Close()
	m.SetClock(func() time.Time { return time.Now().Add(2 * time.Hour) })
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 1
	}
	r, err := m.Key(context.Background(), "acme", "s")
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println(r.Secret.Reveal())
	return 0
}

func TestProcessesRenewOnce(t *testing.T) {
	w := newWorld(t)
	s := &oauthtest.Server{}
	acme(t, w, s) // for an hour; the children's clocks are two ahead
	before := s.Requests("/token")
	const n = 4
	type process struct {
		in  io.WriteCloser
		out *bufio.Scanner
		cmd *exec.Cmd
	}
	var ps []process
	for range n {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childHome+"="+w.home)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p := process{in, bufio.NewScanner(out), cmd}
		if !p.out.Scan() || p.out.Text() != "ready" {
			t.Fatalf("child says %q", p.out.Text())
		}
		ps = append(ps, p)
	}
	for _, p := range ps { // all at once
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	tokens := map[string]bool{}
	for _, p := range ps {
		p.out.Scan()
		tokens[p.out.Text()] = true
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("child: %v: %s", err, p.out.Text())
		}
	}
	if got := s.Requests("/token") - before; got != 1 || s.Replays() != 0 || len(tokens) != 1 {
		t.Errorf("%d renewals, %d replays, %d different tokens by %d processes", got, s.Replays(), len(tokens), n)
	}
}
