package update

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A day is claimed once, however many burins start at once.
func TestClaimOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "update-check")
	for _, day := range []string{"2026-11-27", "2026-11-28", "2026-11-01"} { // clocks are set back, too
		var mu sync.Mutex
		var all sync.WaitGroup
		claimed := 0
		for range 20 {
			all.Go(func() {
				if claim(path, day) {
					mu.Lock()
					defer mu.Unlock()
					claimed++
				}
			})
		}
		all.Wait()
		if claimed != 1 {
			t.Errorf("%s was claimed %d times", day, claimed)
		}
	}
	if claim(filepath.Join(t.TempDir(), "update-check", "\x00"), "2026-11-27") {
		t.Error("a day is claimed that can't be noted")
	}
}

func TestHintNeedsRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "update-check")
	u := &Updater{version: "devel", getenv: func(string) string { t.Error("the address is looked for"); return "" }}
	if got := u.Hint(t.Context(), path, time.Now()); got != "" {
		t.Error(got)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the day was noted")
	}
}
