package update

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// hintTime is how long the daily question may take.
const hintTime = 10 * time.Second

// Hint asks once a day whether there is a newer release, and says so in a line; "" is
// none. The day is noted in the file at path, before it is asked: without a network it is
// not tried again at each start. It fails silently, as nobody has asked for it.
func (u *Updater) Hint(ctx context.Context, path string, now time.Time) string {
	if !u.Released() || !claim(path, now.Format(time.DateOnly)) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	r, err := u.Newest(ctx)
	if err != nil || !u.Newer(r.Version) {
		return ""
	}
	return "burin " + r.Version + " is available: " + u.How(ctx)
}

// claim notes a day. It reports whether this process is the first that does.
func claim(path, day string) bool {
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	defer filelock.Close(f) //nolint:errcheck // a note
	if ok, err := filelock.Try(f); !ok || err != nil {
		return false
	}
	noted := make([]byte, len(day))
	if _, err := io.ReadFull(f, noted); err == nil && string(noted) == day {
		return false
	}
	_, err = f.WriteAt([]byte(day+"\n"), 0)
	return err == nil
}
