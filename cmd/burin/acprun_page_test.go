package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/external/agenttest"
	"github.com/burin-dev/burin/internal/pacetest"
)

// The examples of docs/acp-run.md and of the help are commands that work. Those for the terminal
// are run without one.
func TestAgentExamples(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "acp-run.md"))
	if err != nil {
		t.Fatal(err)
	}
	agent, noAgent := exec.LookPath("agent")
	burin, err := exec.LookPath("burin")
	if err = errors.Join(err, noAgent); err != nil {
		t.Fatal(err)
	}
	help := acpRunCommand(&program{getenv: os.Getenv}).Long
	lines := regexp.MustCompile(`(?m)^ *(?:git diff \| )?burin acp-run .*$`).FindAllString(string(page)+"\n"+help, -1)
	if len(lines) < 10 {
		t.Fatalf("there are %d examples", len(lines))
	}
	for _, line := range lines {
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			cmd := command(t)
			script, err := json.Marshal(agenttest.Script{Turns: [][]agenttest.Step{{
				{Update: map[string]any{"sessionUpdate": "usage_update", "used": 1, "size": 10, "cost": map[string]any{"amount": 0.01, "currency": "USD"}}},
				{Say: "I am here."},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(cmd.Dir, "script.json"), script, 0o644)
			stub := filepath.Join(cmd.Dir, "stub")
			writeFile(t, stub, []byte("#!/bin/sh\nexec '"+agent+"' '"+filepath.Join(cmd.Dir, "script.json")+"' '"+filepath.Join(cmd.Dir, "log")+"'\n"), 0o755)
			line = regexp.MustCompile(` (npx|gemini) `).ReplaceAllString(line+" ", " "+stub+" ")
			line = strings.Replace(line, "git diff |", "echo a change |", 1)
			if !strings.Contains(line, " -p ") && !strings.Contains(line, "--mode") {
				line = strings.Replace(line, "acp-run", "acp-run -p --prompt hello", 1)
			}
			line = strings.Replace(line, "burin", "'"+burin+"'", 1)
			sh := exec.Command("sh", "-c", line)
			sh.Env, sh.Dir = append(cmd.Env, "GEMINI_API_KEY=k"), cmd.Dir
			out, err := sh.CombinedOutput()
			if err != nil || !strings.Contains(line, "rpc") && !strings.Contains(string(out), "I am here.") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
