package demo_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/mode/demo"
	"github.com/burin-dev/burin/llm"
)

func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	// Neither keys nor proxies of the environment have a part in it.
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	var out, notes bytes.Buffer
	if err := demo.Run(context.Background(), &out, &notes); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the model is a script on this machine", "> What can you do for me?"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("the notes lack %q: %s", want, &notes)
		}
	}
	answer := out.String()
	if !strings.HasPrefix(answer, "I am a script, not a model") || !strings.HasSuffix(answer, "what they cost\n") {
		t.Errorf("the answer is not whole: %q", answer)
	}
	if strings.Contains(answer, "They have just started burin") {
		t.Error("the answer shows what the model thought")
	}
}

// interrupting cancels when the answer begins.
type interrupting struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (w *interrupting) Write(b []byte) (int, error) {
	w.cancel()
	return w.Buffer.Write(b)
}

func TestRunInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	out := &interrupting{cancel: cancel}
	err := demo.Run(ctx, out, new(bytes.Buffer))
	if llm.KindOf(err) != llm.ErrAborted {
		t.Errorf("error %v", err)
	}
	if got := out.String(); !strings.HasPrefix(got, "I") || strings.Contains(got, "what they cost") {
		t.Errorf("wrote %q", got)
	}
}
