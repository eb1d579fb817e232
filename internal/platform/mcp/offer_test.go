package mcp_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/mcp"
)

// What a server has for prompts is known without waiting, once it is connected and was asked, and
// in the next run; values are proposed by a server that is connected.
func TestOffer(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir := t.TempDir()
	l, leave := pool(t, mcp.Options{Environ: os.Environ(), Cache: cache}).Use(program("0"), dir)
	if o := l.Offer(); len(o.Prompts) > 0 || l.Words() != "" {
		t.Errorf("of a server that isn't connected: %+v", o)
	}
	propose := func(l *mcp.Link, ctx context.Context) []string {
		return l.Propose(ctx, "greet", "", "who", "he", nil)
	}
	if got := propose(l, t.Context()); got != nil {
		t.Errorf("proposed without a connection: %q", got)
	}
	if err := l.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(l.Offer().Prompts) == 0 {
		select {
		case <-tick.C:
		case <-time.After(20 * time.Second):
			t.Fatal("the prompts stay unknown")
		}
	}
	if o := l.Offer(); len(o.Prompts) != 1 || o.Prompts[0].Arguments[0].Name != "who" || len(o.Resources) != 2 {
		t.Errorf("offered: %+v", o)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if got := propose(l, gone); got != nil {
		t.Errorf("proposed to who has typed on: %q", got)
	}
	for range 2 { // the second time from memory
		if got := propose(l, t.Context()); !slices.Equal(got, []string{"herons", "hens"}) {
			t.Errorf("proposed: %q", got)
		}
	}
	if got := propose(l, gone); len(got) != 2 {
		t.Errorf("what is known does not wait: %q", got)
	}
	if got := l.Propose(t.Context(), "greet", "", "how", "as", map[string]string{"who": "hens"}); !slices.Equal(got, []string{"as kindly as hens"}) {
		t.Errorf("with another argument: %q", got)
	}
	if got := l.Propose(t.Context(), "", "test://of/{name}", "name", "st", nil); !slices.Equal(got, []string{"storks"}) {
		t.Errorf("of a template: %q", got)
	}
	leave()
	next, leave := pool(t, mcp.Options{Environ: os.Environ(), Cache: cache}).Use(program("0"), dir)
	defer leave()
	if o := next.Offer(); len(o.Prompts) != 1 || len(o.Resources) != 2 {
		t.Errorf("in the next run: %+v", o)
	}
}
