package permission_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

// asker answers every question in the same way.
type asker func(permission.Decision) permission.Answer

func (a asker) Ask(_ context.Context, _ permission.Request, d permission.Decision) (permission.Answer, error) {
	return a(d), nil
}

type brokenAsker struct{}

func (brokenAsker) Ask(context.Context, permission.Request, permission.Decision) (permission.Answer, error) {
	return permission.Answer{Allow: true}, errors.New("the terminal is gone")
}

func refusal(t *testing.T, err error) *permission.Refused {
	t.Helper()
	var r *permission.Refused
	if !errors.As(err, &r) {
		t.Fatalf("error %v", err)
	}
	if n := strings.Count(r.Error(), "\n"); n > 1 {
		t.Errorf("%d lines: %q", n+1, r.Error())
	}
	return r
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		mode permission.Mode
		r    permission.Request
		flag string
		text string // in the error
	}{
		{permission.Ask, bash("go test ./..."), "--allow 'bash(go test:*)'", "refused, nothing was run: bash `go test ./...`: it may change something."},
		{permission.Ask, bash("npm ci && npm test"), "--allow 'bash(npm ci:*)' --allow 'bash(npm test:*)'", "`npm ci`"},
		{permission.Ask, bash("python3 -c 'print(1)'"), `--allow 'bash(python3 -c '\''print(1)'\'')'`, "code that is given in the line"},
		{permission.Ask, bash("git push --force"), "--allow 'bash(git push --force)'", "it overwrites what others may have"},
		{permission.Full, bash("git push --force"), "--allow 'bash(git push --force)'", "it overwrites"},
		{permission.Ask, access("write", tool.AccessWrite, "a.go"), "--approval auto-edit", "`write a.go`: it writes a.go"},
		{permission.Ask, bash("ls > out"), "--approval auto-edit", "it writes out"},
		{permission.Ask, access("web_search", tool.AccessNetwork, ""), "--allow 'web_search'", ""},
		{permission.Ask, access("write", tool.AccessWrite, "/elsewhere/x.txt"), "--add-dir '/elsewhere'", ""},
		{permission.Ask, access("fetch", tool.AccessNetwork, "https://a.example.com/"), "--allow 'fetch(a.example.com)'", "it goes to a.example.com"},
		{permission.Plan, bash("make all"), "--approval ask --allow 'bash(make all:*)'", "plan mode changes nothing"},
		{permission.Plan, access("write", tool.AccessWrite, "a.go"), "--approval auto-edit", "plan mode changes nothing"},
		{permission.Ask, bash("rm x"), "", "a rule refuses it (!bash(rm:*) of config.yml:3)"},
		{permission.Ask, bash("make && rm x"), "", "`rm x`: a rule refuses it"},
		{permission.Ask, bash("deploy"), "", "a rule asks about it"},
		{permission.Ask, bash("$X" + strings.Repeat(" y", 400)), "--approval full", "…"},
	} {
		deny := rule1(t, "!bash(rm:*)")
		deny.Source = "config.yml:3"
		p := policy(t, tt.mode, deny, rule1(t, "ask bash(deploy:*)"))
		if tt.flag == "--approval full" {
			p = policy(t, tt.mode)
		}
		r := refusal(t, p.Authorize(t.Context(), tt.r, nil))
		if r.Flag != tt.flag {
			t.Errorf("%v: flag %s, want %s", tt.r.Access, r.Flag, tt.flag)
		}
		if !strings.Contains(r.Error(), tt.text) || tt.flag != "" && !strings.HasSuffix(r.Error(), tt.flag) || len(r.Error()) > 900 {
			t.Errorf("%v: text %q", tt.r.Access, r.Error())
		}
		// What the flag says is true.
		if allow, ok := strings.CutPrefix(r.Flag, "--allow "); ok && !strings.Contains(allow, " --") {
			rule := strings.ReplaceAll(strings.Trim(allow, "'"), `'\''`, "'")
			if err := policy(t, tt.mode, rule1(t, rule)).Authorize(t.Context(), tt.r, nil); err != nil {
				t.Errorf("with %s: %v", r.Flag, err)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	p := policy(t, permission.Ask)
	ctx := t.Context()
	if err := p.Authorize(ctx, bash("make"), asker(func(permission.Decision) permission.Answer { return permission.Answer{Allow: true} })); err != nil {
		t.Error(err)
	}
	r := refusal(t, p.Authorize(ctx, bash("make"), asker(func(permission.Decision) permission.Answer { return permission.Answer{Note: "use just instead"} })))
	if !strings.HasSuffix(r.Error(), "\nuse just instead") || r.Flag != "" {
		t.Errorf("%q, flag %q", r.Error(), r.Flag)
	}
	if r := refusal(t, p.Authorize(ctx, bash("make"), asker(func(permission.Decision) permission.Answer { return permission.Answer{} }))); !strings.Contains(r.Error(), "user said no") {
		t.Errorf("%q", r.Error())
	}
	if r := refusal(t, p.Authorize(ctx, bash("make"), brokenAsker{})); !strings.Contains(r.Error(), "terminal is gone") {
		t.Errorf("%q", r.Error())
	}
	// A grant of a wider kind answers the next call; a refusal for good refuses it.
	grant := asker(func(d permission.Decision) permission.Answer {
		return permission.Answer{Allow: true, Grant: d.Offers[len(d.Offers)-1].In(permission.Session)}
	})
	if err := p.Authorize(ctx, bash("go test ./..."), grant); err != nil {
		t.Error(err)
	}
	if err := p.Authorize(ctx, bash("go test -v ./x"), nil); err != nil {
		t.Error(err)
	}
	never := asker(func(permission.Decision) permission.Answer {
		return permission.Answer{Grant: []permission.Rule{rule1(t, "!bash(curl:*)")}}
	})
	refusal(t, p.Authorize(ctx, bash("curl x"), never))
	if d := p.Decide(bash("curl y")); d.Verdict != permission.Deny {
		t.Errorf("%+v", d)
	}
	// What needs no question asks nobody.
	if err := p.Authorize(ctx, bash("ls"), brokenAsker{}); err != nil {
		t.Error(err)
	}
}

func TestOnceIsOnce(t *testing.T) {
	p := policy(t, permission.Ask)
	if _, err := p.Grant(permission.Rule{Tool: "bash", Pattern: "make:*", Scope: permission.Once}); err != nil {
		t.Fatal(err)
	}
	if d := p.Decide(bash("make a")); d.Verdict != permission.Allow {
		t.Fatalf("%+v", d)
	}
	var ran atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if p.Authorize(t.Context(), bash("make a"), nil) == nil {
				ran.Add(1)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 {
		t.Errorf("it ran %d times", ran.Load())
	}
}

// Questions come one at a time, and one grant answers all that wait for the same.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, permission.Ask)
		var asked, now atomic.Int32
		release := make(chan struct{})
		a := asker(func(d permission.Decision) permission.Answer {
			if now.Add(1) > 1 {
				t.Error("two questions at a time")
			}
			defer now.Add(-1)
			asked.Add(1)
			<-release
			return permission.Answer{Allow: true, Grant: d.Offers[1].In(permission.Session)}
		})
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := p.Authorize(t.Context(), bash("go test ./..."), a); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		// One more that stops waiting.
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- p.Authorize(ctx, bash("make"), a) }()
		synctest.Wait()
		cancel()
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(release)
		wg.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// A mode that changes while a question waits answers it.
func TestModeChangesWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, permission.Ask)
		release := make(chan struct{})
		a := asker(func(permission.Decision) permission.Answer { <-release; return permission.Answer{Allow: true} })
		results := make(chan error, 2)
		for _, name := range []string{"a", "b"} {
			go func() { results <- p.Authorize(t.Context(), access("write", tool.AccessWrite, name), a) }()
		}
		synctest.Wait()
		p.SetMode(permission.Plan)
		close(release)
		var refused int
		for range 2 {
			if <-results != nil {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%d were refused: one was answered by the user, the other came to plan mode", refused)
		}
	})
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := policy(t, permission.Ask)
	if err := p.Authorize(ctx, bash("ls"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	a := asker(func(permission.Decision) permission.Answer { cancel(); return permission.Answer{Allow: true} })
	if err := p.Authorize(ctx, bash("make"), a); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
