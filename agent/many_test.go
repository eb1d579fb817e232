package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool"
)

// An answer with thousands of calls runs the first ones and answers the others, at a
// cost that grows with their number and not with its square.
func TestManyCalls(t *testing.T) {
	pacetest.Costly(t)
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			took := map[int]time.Duration{}
			for _, n := range []int{1_000, 3_000} {
				var turn llmtest.Turn
				for i := range n {
					turn.Parts = append(turn.Parts, llmtest.Part{Call: "read", ID: fmt.Sprintf("call_%d", i), Args: fmt.Sprintf(`{"path":"f%d"}`, i)})
				}
				o, srv := f.options(t, turn, say("done"))
				var ran atomic.Int32
				o.Tools = []*tool.Tool{simple("read", tool.Reads, func(_ context.Context, path string) (*tool.Result, error) {
					ran.Add(1)
					return tool.Text(path), nil
				})}
				a := agent.New(o)
				began := time.Now()
				wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
				took[n] = time.Since(began)
				got := results(a.Messages())
				if len(got) != n || ran.Load() != 256 {
					t.Fatalf("%d results of %d calls, %d ran", len(got), n, ran.Load())
				}
				if !strings.Contains(got[256], "an answer may have 256 calls") || got[n-1] != got[256] || strings.Contains(got[255], "Error") {
					t.Errorf("results %q, %q, %q", got[255], got[256], got[n-1])
				}
				if srv.Err() != nil {
					t.Error(srv.Err())
				}
			}
			t.Logf("%v", took)
			if took[3_000] > 20*time.Second {
				t.Errorf("3,000 calls took %v", took[3_000])
			}
		})
	}
}
