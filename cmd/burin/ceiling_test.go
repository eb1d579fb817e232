package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// Runs side by side under a ceiling that is smaller than one of their requests wait for
// each other: all come to their end, one after the other, and say why they waited.
func TestParallelRunsUnderACeiling(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const runs = 4
	srv, err := llmtest.Serve(openai.ResponsesServer{}, llmtest.Script{Turns: slices.Repeat([]llmtest.Turn{{
		Parts:  []llmtest.Part{{Text: "all is fine here"}},
		Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 20}),
		Pace:   100 * time.Millisecond,
	}}, runs)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	first := command(t) // its home is that of all runs
	home := filepath.Join(first.Dir, "burin")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.yml": "limits: {month: 0.001}\n", "models.yml": fmt.Sprintf(models, srv.URL+"/v1")} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	outs := make([]string, runs)
	for i := range outs {
		cmd := command(t, "-p", "hello", "--model", "box/m")
		cmd.Env, cmd.Dir = append(first.Env, "BOX_KEY=sk-x"), first.Dir
		all.Go(func() {
			out, err := cmd.CombinedOutput()
			if outs[i] = string(out); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	waited := 0
	for _, out := range outs {
		if !strings.Contains(out, "all is fine here") {
			t.Errorf("no answer: %s", out)
		}
		if strings.Contains(out, "waiting for room under the month's cost limit of $0.0010") {
			waited++
		}
	}
	if waited == 0 {
		t.Errorf("no run says that it waited: %q", outs)
	}
	if n := len(srv.Requests()); n != runs {
		t.Errorf("%d requests of %d runs", n, runs)
	}
}
