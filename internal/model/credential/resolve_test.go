package credential_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
)

// The sources from the first to the last: each is found only when those before
// it are gone.
func TestOrderOfSources(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = " from-env\n"
	w.env["MY_KEY"] = "from-models-env"
	w.files = []string{write(t, filepath.Join(w.home, ".env"), "OPENAI_API_KEY=from-file\n")}
	w.settings["openai"] = credential.Settings{APIKey: "MY_KEY", Pinned: true, Keyless: true}
	m := w.open(t)
	ids := add(t, m, "openai", "from-store")
	m.Override("openai", "from-flag")

	steps := []struct {
		remove       func()
		key, source  string
		credentialID int64
	}{
		{func() {}, "from-flag", "--api-key", 0},
		{func() { m.Override("openai", "") }, "from-models-env", "variable MY_KEY (models.yml)", 0},
		{
			func() { w.settings["openai"] = credential.Settings{APIKey: "MY_KEY", Keyless: true} },
			"from-store", "stored key 1", ids[0],
		},
		{
			func() {
				if err := m.Remove(context.Background(), ids[0]); err != nil {
					t.Fatal(err)
				}
			}, "from-env", "variable OPENAI_API_KEY", 0,
		},
		{func() { w.env["OPENAI_API_KEY"] = "  " }, "from-file", "variable OPENAI_API_KEY of " + w.files[0], 0},
		{
			func() { w.files[0] = ""; m = w.open(t) },
			"from-models-env", "variable MY_KEY (models.yml)", 0,
		},
		{func() { delete(w.env, "MY_KEY") }, "MY_KEY", "apiKey of models.yml, as it stands there", 0},
		{func() { w.settings["openai"] = credential.Settings{APIKeyEnv: "NOT_SET", Keyless: true} }, "", "no key needed", 0},
	}
	for _, s := range steps {
		s.remove()
		r := key(t, m, "openai", "session")
		if r.Secret.Reveal() != s.key || r.Source != s.source || r.CredentialID != s.credentialID || r.Provider != "openai" {
			t.Errorf("got %q from %q (id %d), want %q from %q (id %d)", r.Secret.Reveal(), r.Source, r.CredentialID, s.key, s.source, s.credentialID)
		}
		have, err := m.Available(context.Background(), "openai", "mistral")
		if err != nil || have["openai"].Source != s.source || len(have) != 1 {
			t.Errorf("available %v, error %v, want %q", have, err, s.source)
		}
	}
	w.settings["openai"] = credential.Settings{APIKeyEnv: "NOT_SET"}
	_, err := m.Key(context.Background(), "openai", "")
	var missing *credential.NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff([]string{"OPENAI_API_KEY", "NOT_SET"}, missing.Variables); diff != "" {
		t.Error(diff)
	}
}

func TestVariables(t *testing.T) {
	tests := []struct {
		provider string
		env      map[string]string
		want     string
		kind     credential.Kind
	}{
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "a", "ANTHROPIC_OAUTH_TOKEN": "b"}, "b", credential.KindOAuth},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "a", "ANTHROPIC_FOUNDRY_API_KEY": "f"}, "a", credential.KindAPIKey},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "a", "ANTHROPIC_FOUNDRY_API_KEY": "f", "CLAUDE_CODE_USE_FOUNDRY": "on"}, "f", credential.KindOAuth},
		{"anthropic", map[string]string{"ANTHROPIC_API_KEY": "a", "ANTHROPIC_FOUNDRY_API_KEY": "f", "CLAUDE_CODE_USE_FOUNDRY": "On"}, "a", credential.KindAPIKey},
		{"huggingface", map[string]string{"HF_TOKEN": "2", "HUGGINGFACE_HUB_TOKEN": "1"}, "1", credential.KindAPIKey},
		{"xai-oauth", map[string]string{"XAI_API_KEY": "x"}, "x", credential.KindAPIKey},
		{"google", map[string]string{"GOOGLE_API_KEY": "2", "GEMINI_API_KEY": "1"}, "1", credential.KindAPIKey},
		{"github-copilot", map[string]string{"GITHUB_TOKEN": "no", "GH_TOKEN": "no"}, "", ""},
		{"unheard-of", map[string]string{"UNHEARD_OF_API_KEY": "no"}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.provider, func(t *testing.T) {
			w := newWorld(t)
			w.env = tt.env
			r, err := w.open(t).Key(context.Background(), tt.provider, "")
			if (err != nil) != (tt.want == "") || r.Secret.Reveal() != tt.want || r.Kind != tt.kind {
				t.Errorf("got %q as %s, error %v, want %q as %s", r.Secret.Reveal(), r.Kind, err, tt.want, tt.kind)
			}
		})
	}
}

func TestEnvFiles(t *testing.T) {
	w := newWorld(t)
	w.files = []string{
		write(t, filepath.Join(w.home, ".env"), "\xEF\xBB\xBF# comment\nOPENAI_API_KEY = \"quoted\" \r\nexport GROQ_API_KEY=exported\nMISTRAL_API_KEY=\nZAI_API_KEY='a b'\nBAD-NAME=x\nCEREBRAS_API_KEY=$HOME\n"),
		filepath.Join(w.home, "missing"),
		write(t, filepath.Join(w.home, "second", ".env"), "OPENAI_API_KEY=second\nMISTRAL_API_KEY=second\nDEEPSEEK_API_KEY=\x00\n"),
	}
	m := w.open(t)
	got := map[string]string{}
	for _, p := range []string{"openai", "groq", "mistral", "zai", "cerebras", "deepseek"} {
		r, err := m.Key(context.Background(), p, "")
		if err != nil {
			got[p] = "none"
			continue
		}
		got[p] = r.Secret.Reveal()
	}
	want := map[string]string{"openai": "quoted", "groq": "none", "mistral": "second", "zai": "a b", "cerebras": "$HOME", "deepseek": "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whoever has no database pays for none, and gets none.
func TestResolvingCreatesNothing(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "k"
	m := w.open(t)
	ctx := context.Background()
	key(t, m, "openai", "s")
	if _, err := m.Key(ctx, "anthropic", "s"); err == nil {
		t.Error("a key of anthropic from nowhere")
	}
	if l, err := m.List(ctx); err != nil || len(l) != 0 {
		t.Errorf("list %v, %v", l, err)
	}
	for _, err := range []error{m.MarkUsageLimit(ctx, 0, time.Time{}), m.Disable(ctx, 7, "x"), m.Enable(ctx, 7), m.Remove(ctx, 7)} {
		if !errors.Is(err, credential.ErrNoCredential) {
			t.Errorf("error %v, want no such credential", err)
		}
	}
	if _, err := os.Stat(w.home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home directory was made: %v", err)
	}
}

func TestNotFoundSaysWhereItLooked(t *testing.T) {
	w := newWorld(t)
	w.files = []string{filepath.Join(w.home, ".env")}
	m := w.open(t)
	ctx := context.Background()
	ids := add(t, m, "openrouter", "sk-or-old")
	if err := m.Disable(ctx, ids[0], "HTTP 401:\nno such key"); err != nil {
		t.Fatal(err)
	}
	_, err := m.Key(ctx, "openrouter", "")
	var missing *credential.NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("error %v", err)
	}
	want := "no API key for openrouter: set OPENROUTER_API_KEY, or run burin login openrouter, or run burin keys add openrouter. " +
		"Not used: key 1 (HTTP 401: no such key); burin help keys lists all ways"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	_, err = m.Key(ctx, "anthropic", "")
	var other *credential.NotFoundError
	if !errors.As(err, &other) {
		t.Fatalf("error %v", err)
	}
	missing.Merge(other)
	missing.Merge(&credential.NotFoundError{Servers: []string{"http://127.0.0.1:11434", "http://127.0.0.1:1234"}})
	for _, part := range []string{
		"no API key for openrouter or anthropic: set OPENROUTER_API_KEY, ANTHROPIC_OAUTH_TOKEN or ANTHROPIC_API_KEY",
		"No model at http://127.0.0.1:11434 or http://127.0.0.1:1234", "burin keys add PROVIDER",
	} {
		if !strings.Contains(missing.Error(), part) {
			t.Errorf("%q is missing in %s", part, missing)
		}
	}
	if strings.Contains(missing.Error(), "\n") || strings.Contains(missing.Error(), "FOUNDRY") {
		t.Errorf("%s", missing)
	}
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrAuth || !strings.Contains(e.Message, "ANTHROPIC_API_KEY") {
		t.Errorf("as a stream's error: %v", e)
	}
}

func TestSessionsStayAndSpread(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	add(t, m, "anthropic", "key-a", "key-b", "key-c")
	other := w.open(t)
	before := map[string]int64{}
	var sessions []string
	for i := range 300 {
		s := fmt.Sprint("session-", i)
		sessions = append(sessions, s)
		before[s] = key(t, m, "anthropic", s).CredentialID
		if again := key(t, other, "anthropic", s).CredentialID; again != before[s] {
			t.Fatalf("%s has %d here and %d in another process", s, before[s], again)
		}
	}
	for id, n := range counts(t, m, "anthropic", sessions...) {
		if n < 60 || n > 140 {
			t.Errorf("credential %d has %d of 300 sessions", id, n)
		}
	}
	// A limit moves the sessions of the one it concerns, and no others.
	if err := m.MarkUsageLimit(context.Background(), 2, w.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		now := key(t, other, "anthropic", s).CredentialID
		if before[s] == 2 && now == 2 || before[s] != 2 && now != before[s] {
			t.Fatalf("%s went from %d to %d", s, before[s], now)
		}
	}
	w.now = w.now.Add(time.Hour + time.Millisecond)
	for _, s := range sessions {
		if now := key(t, m, "anthropic", s).CredentialID; now != before[s] {
			t.Fatalf("%s did not come back to %d", s, before[s])
		}
	}
}

func TestTurnsWithoutSession(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	add(t, m, "anthropic", "key-a", "key-b", "key-c")
	var got []int64
	for range 5 {
		got = append(got, key(t, m, "anthropic", "").CredentialID)
		w.now = w.now.Add(time.Second)
	}
	// The next processes go on where this one stopped.
	for range 4 {
		got = append(got, key(t, w.open(t), "anthropic", "").CredentialID)
		w.now = w.now.Add(time.Second)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 1, 2, 3, 1, 2, 3}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSwitchAtLimits(t *testing.T) {
	w := newWorld(t)
	w.env["ANTHROPIC_API_KEY"] = "pays-per-token"
	m := w.open(t)
	ctx := context.Background()
	ids := add(t, m, "anthropic", "key-a", "key-b")
	first := key(t, m, "anthropic", "s").CredentialID
	second := ids[0] + ids[1] - first
	if err := m.MarkUsageLimit(ctx, first, w.now.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := key(t, m, "anthropic", "s").CredentialID; got != second {
		t.Fatalf("credential %d after the limit of %d", got, first)
	}
	if err := m.MarkBackoff(ctx, second, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	_, err := m.Key(ctx, "anthropic", "s")
	var blocked *credential.BlockedError
	if !errors.As(err, &blocked) || !blocked.Until.Equal(w.now.Add(5*time.Minute)) || blocked.Count != 2 {
		t.Fatalf("error %#v, want the first that is free, and not the environment", err)
	}
	if want := "anthropic: all 2 stored credentials have reached a limit; free again at 12:05 (in 5 min)"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrUsageLimit || !e.ResetAt.Equal(blocked.Until) {
		t.Errorf("as a stream's error: %+v", e)
	}
	// A shorter block does not shorten a longer one.
	if err := m.MarkBackoff(ctx, first, time.Second); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(6 * time.Minute)
	if got := key(t, m, "anthropic", "s").CredentialID; got != second {
		t.Errorf("credential %d after six minutes, want %d", got, second)
	}
	if err := m.Disable(ctx, second, "the vendor refuses it"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Key(ctx, "anthropic", "s"); !errors.As(err, &blocked) || blocked.Count != 1 {
		t.Errorf("error %v", err)
	}
	if err := m.Disable(ctx, first, "this one too"); err != nil {
		t.Fatal(err)
	}
	if got := key(t, m, "anthropic", "s"); got.Source != "variable ANTHROPIC_API_KEY" {
		t.Errorf("with all disabled the key is %s", got.Source)
	}
	if err := m.Enable(ctx, first); err != nil {
		t.Fatal(err)
	}
	if got := key(t, m, "anthropic", "s").CredentialID; got != first {
		t.Errorf("credential %d, want the enabled one", got)
	}
}

func TestBlockedWords(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	ctx := context.Background()
	add(t, m, "anthropic", "key-a")
	for _, tt := range []struct {
		wait time.Duration
		want string
	}{
		{10 * time.Second, "the stored credential has reached a limit; free again at 12:00 (in 10s)"},
		{3*time.Hour + 20*time.Minute, "free again at 15:20 (in 3 h 20 min)"},
		{50 * time.Hour, "free again at 6 May 14:00 (in 2 days)"},
	} {
		if err := m.MarkUsageLimit(ctx, 1, w.now.Add(tt.wait)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Key(ctx, "anthropic", ""); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
