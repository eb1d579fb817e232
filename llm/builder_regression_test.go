package llm_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
)

func TestFailKeepsTheCallersError(t *testing.T) {
	shared := &llm.Error{Kind: llm.ErrAuth, Message: "log in first"}
	for _, p := range []string{"a", "b"} {
		_, err := llm.Collect(llm.Failed(llm.Message{Provider: p}, shared))
		if want := p + ": log in first"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
	if shared.Provider != "" {
		t.Error("the caller's error was changed")
	}
}
