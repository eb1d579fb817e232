package conformance_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
)

func toy(flaw string) conformance.Subject {
	return conformance.Subject{
		Name: "toy", Server: toyServer{}, Open: openToy(flaw),
		Model: llm.Model{
			ID: "toy-1", Provider: "toys", API: toyAPI,
			Input:    []llm.Modality{llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},
			Thinking: llm.ThinkingSupport{Mode: llm.ThinkingEffort},
		},
	}
}

// TestToy has the suite pass a format that does everything right.
func TestToy(t *testing.T) { conformance.Run(t, toy("")) }

// flaws are mistakes of the toy's client and the test that must find each.
var flaws = map[string]string{
	"any history":                 "toy/history",
	"cached is fresh":             "toy/usage",
	"connection per request":      "toy/reuse",
	"cut calls run":               "toy/cut",
	"done at the end of the body": "toy/cut",
	"keeps frames":                "memory",
	"leaves a goroutine":          "",
	"no choice":                   "toy/choice",
	"no signature":                "toy/thinking",
	"one error":                   "toy/refusal",
	"one id":                      "toy/calls",
	"random bytes":                "toy/prefix",
	"reads ahead":                 "toy/pressure",
	"temperature 0 is unset":      "toy/request",
	"trusts the server":           "toy/flip",
	"waits forever":               "toy/stall",
}

const flawVariable = "TOY_FLAW"

// TestFlawed is run by TestFlaws in a process of its own, as it has to fail.
func TestFlawed(t *testing.T) {
	flaw, ok := os.LookupEnv(flawVariable)
	if !ok {
		t.Skip("run by TestFlaws")
	}
	conformance.Run(t, toy(flaw))
}

// TestFlaws runs the suite against formats that do one thing wrong.
func TestFlaws(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for flaw, finder := range flaws {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			only := "^TestFlawed$"
			for _, part := range strings.Split(finder, "/") {
				only += "/^" + part + "$"
			}
			if finder == "" {
				only = "^TestFlawed$/toy/choice"
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run", only, "-test.timeout", "60s")
			cmd.Dir = t.TempDir() // where failures of random tests are written
			cmd.Env = append(os.Environ(), flawVariable+"="+flaw)
			out, err := cmd.CombinedOutput()
			name := strings.TrimSuffix("TestFlawed/"+finder, "/")
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+name+" ") {
				t.Errorf("%s did not find it: %v\n%s", name, err, out)
			}
		})
	}
}
