package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// A vendor that never tells of a cache misses nothing.
func TestNoCacheNothingMissed(t *testing.T) {
	none := llm.Usage{Input: 5000, Output: 5}
	r := start(t, formats()[1], nil, used("a", none), used("b", none))
	r.prompt("one", agent.ReasonDone)
	r.prompt("two", agent.ReasonDone)
	all := r.seen(session.CacheReport)
	if len(all) != 2 || all[1].Data.(*session.CacheInfo).Missed != "" || all[1].Data.(*session.CacheInfo).Fresh != 5000 {
		t.Errorf("%d reports, the last: %+v", len(all), all[len(all)-1].Data.(*session.CacheInfo))
	}
}

func TestCacheReport(t *testing.T) {
	f := formats()[0]
	other := called(f.model, "other")
	now := time.Now()
	hit := llm.Usage{Input: 10, CacheRead: 5000, CacheWrite: 100, Output: 5}
	miss := llm.Usage{Input: 10, CacheWrite: 5000, Output: 5}
	r := start(t, f, func(r *rig, o *session.Options) {
		o.Now = func() time.Time { return now }
		o.Models, o.Compaction = r.opener(f.model, other), small()
	}, used(long(600), miss), used("b", hit), used("c", miss),
		refused(llm.ErrOverload, "busy"), used("d", miss), // the model was changed
		used("e", miss), // it was idle
		say("SUMMARY"), say("short"), used("f", miss), used("g", hit))
	check := func(text, want string) {
		t.Helper()
		r.prompt(text, agent.ReasonDone)
		all := r.seen(session.CacheReport)
		c := all[len(all)-1].Data.(*session.CacheInfo)
		if c.Missed != want && (want == "" || !strings.HasPrefix(c.Missed, want)) {
			t.Errorf("%s: %q, want %q", text, c.Missed, want)
		}
	}
	check("first "+long(600), "")
	check("again", "")
	check("the vendor forgot", "nothing changed")
	if err := r.SetModel(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	check("another model", "model")
	now = now.Add(10 * time.Minute)
	check("idle", "the cache had 10m0s to end")
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	check("condensed", "message 1 (custom)")
	check("all well", "")
	first := r.seen(session.CacheReport)[1].Data.(*session.CacheInfo)
	if first.Read != 5000 || first.Write != 100 || first.Fresh != 10 {
		t.Errorf("figures: %+v", first)
	}
}
