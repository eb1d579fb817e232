package robot

import (
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// Golden compares the screen, with its styles in words, with testdata/NAME.golden.
// Wait for a state of the screen before. With -update the file is written instead.
// Each change turns text that differs between runs, such as times, into what
// stands in the file.
func (r *Robot) Golden(name string, change ...*strings.Replacer) {
	r.t.Helper()
	got := r.Dump()
	for _, c := range change {
		got = c.Replace(got)
	}
	path := filepath.Join("testdata", name+".golden")
	if updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatalf("%v: write it with go test -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		r.t.Errorf("the screen is not as in %s (-want +got); if it is right, write it with go test -update:\n%s", path, d)
	}
}

// updating reports whether -update was given. Tests define it, with
// [Flag]; a program that links this package gets no flags.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// Flag defines -update. Call it in TestMain, before flags are parsed.
func Flag() { flag.Bool("update", false, "write golden files instead of comparing with them") }

// Picture draws the screen into a PNG file.
func (r *Robot) Picture(path string, o vt.PictureOptions) {
	r.t.Helper()
	var png []byte
	var err error
	r.Look(func(t *vt.Terminal) { png, err = t.PNG(o) })
	if err == nil {
		err = os.WriteFile(path, png, 0o644)
	}
	if err != nil {
		r.t.Fatalf("picture of the screen: %v", err)
	}
}
