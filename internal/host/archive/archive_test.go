package archive

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

// archiveIn is an archive of a home of its own, whose sessions belong to the folder that
// is given.
func archiveIn(t *testing.T) (a *Archive, warned *[]string) {
	t.Helper()
	home := t.TempDir()
	t.Chdir(t.TempDir())
	warned = new([]string)
	a = New(Options{
		Paths:    config.Paths{Data: filepath.Join(home, "data"), Config: filepath.Join(home, "config"), Cache: filepath.Join(home, "cache"), State: filepath.Join(home, "state")},
		Settings: &config.Config{}, Version: "1",
		Keys: func(context.Context) place.Keys { return nil },
		Warn: func(line string) { *warned = append(*warned, line) },
	})
	return a, warned
}

// talk is a session of the archive in which something was said.
func talk(t *testing.T, a *Archive) string {
	t.Helper()
	return sessionIn(t, a.Root(), transcript.Options{}, message(llm.RoleUser, llm.Text{Text: "Why is the clock late?"}), message(llm.RoleAssistant, llm.Text{Text: "It is not wound."}))
}

// idOf is the id of the session in a file.
func idOf(t *testing.T, file string) string {
	t.Helper()
	info, err := index.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

// A draft may be published between the look that finds it and the one that reads it.
func TestPublishedDraftIsFound(t *testing.T) {
	a, _ := archiveIn(t)
	file := talk(t, a)
	if found, err := a.Find(t.Context(), file+".draft"); err != nil || found != file {
		t.Errorf("found %q, %v", found, err)
	}
	l, _, err := a.read(t.Context(), file+".draft")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Find(t.Context(), file+"x.draft"); err == nil {
		t.Error("a draft without a session is found")
	}
}

func TestSessionsAreFoundListedAndCopied(t *testing.T) {
	a, warned := archiveIn(t)
	file := talk(t, a)
	id := idOf(t, file)
	if found, err := a.Find(t.Context(), id[:8]); err != nil || found != file {
		t.Errorf("found %q, %v", found, err)
	}
	hits, err := a.Search(t.Context(), "wound", "", 10)
	if err != nil || hits.Stale != nil || len(hits.Hits) != 1 || hits.Hits[0].ID != id {
		t.Errorf("searched %+v, %v", hits, err)
	}
	dir, err := WorkDir()
	if err != nil {
		t.Fatal(err)
	}
	made, err := a.Fork(t.Context(), id, dir)
	if err != nil || made.Dir != dir || made.ID == id || idOf(t, made.File) != made.ID {
		t.Errorf("copied %+v, %v", made, err)
	}
	list, err := a.List(t.Context(), dir, 0)
	if err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("of this folder: %+v, %v", list, err)
	}
	if list, err = a.List(t.Context(), "", 0); err != nil || len(list) != 2 {
		t.Errorf("of all folders: %+v, %v", list, err)
	}
	moved, err := a.Move(t.Context(), file, dir)
	if err != nil || moved.ID != id || moved.Dir != dir || moved.File == file {
		t.Errorf("moved %+v, %v", moved, err)
	}
	if len(*warned) > 0 {
		t.Errorf("warned of %q", *warned)
	}
}

func TestDeletedSessionsComeBack(t *testing.T) {
	a, _ := archiveIn(t)
	file := talk(t, a)
	id := idOf(t, file)
	gone, err := a.Delete(t.Context(), id, nil)
	if diff := cmp.Diff(Deleted{File: file, Name: id}, gone); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if list, err := a.Trash(t.Context()); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("in the trash: %+v, %v", list, err)
	}
	if back, err := a.Restore(t.Context(), gone.Name); err != nil || back != file {
		t.Errorf("restored %q, %v", back, err)
	}
	no := errors.New("no")
	if _, err := a.Delete(t.Context(), id, func(s index.Info) error { return no }); !errors.Is(err, no) || !exists(file) {
		t.Errorf("who says no: %v", err)
	}
	gone, err = a.Delete(t.Context(), id, func(s index.Info) error { return nil })
	if list, lerr := a.Trash(t.Context()); err != nil || gone.Name != "" || lerr != nil || len(list) > 0 || exists(file) {
		t.Errorf("for good: %+v, %v; the trash has %+v, %v", gone, err, list, lerr)
	}
}

func TestExportReportsItsFile(t *testing.T) {
	a, _ := archiveIn(t)
	file := talk(t, a)
	written, err := a.Export(t.Context(), ExportOptions{Session: file, To: "talk.md"})
	if diff := cmp.Diff(Exported{File: "talk.md", Format: "md", Entries: 2}, written); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if text, err := os.ReadFile("talk.md"); err != nil || !bytes.Contains(text, []byte("It is not wound.")) {
		t.Errorf("it reads %q, %v", text, err)
	}
	if _, err := a.Export(t.Context(), ExportOptions{Session: file, To: "talk.md"}); err == nil {
		t.Error("a file that was there was replaced")
	}
	var wrong UsageError
	if _, err := a.Export(t.Context(), ExportOptions{Session: file, Format: "pdf"}); !errors.As(err, &wrong) {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestDoctorReportsDamageAndRepairs(t *testing.T) {
	a, _ := archiveIn(t)
	file := talk(t, a)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "half a line\n"+`{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-02T10:00:00Z","model":"x"}`+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []Finding
	r, err := a.Doctor(t.Context(), DoctorOptions{Session: file, Found: func(f Finding) { told = append(told, f) }})
	if err != nil || r.Sessions != 1 || r.Left() != 1 || r.Findings[0].File != file || r.Findings[0].Kind != Problem || len(told) != 1 {
		t.Fatalf("reported %+v, told %+v, %v", r, told, err)
	}
	if r, err = a.Doctor(t.Context(), DoctorOptions{Session: file, Fix: true}); err != nil || r.Left() != 0 || !r.Findings[0].Repaired {
		t.Errorf("the repair: %+v, %v", r, err)
	}
	if r, err = a.Doctor(t.Context(), DoctorOptions{Session: file}); err != nil || len(r.Findings) != 0 {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
}

func TestScrubReportsKindsAndAsks(t *testing.T) {
	a, _ := archiveIn(t)
	file := sessionIn(t, a.Root(), transcript.Options{}, message(llm.RoleUser, llm.Text{Text: openQuote}), message(llm.RoleAssistant, llm.Text{Text: "Hm."}))
	r, err := a.Scrub(t.Context(), ScrubOptions{All: true})
	if err != nil || r.Clean() || r.Looked != 1 || r.Sessions[0].File != file || len(r.Sessions[0].Kinds) == 0 || r.Rewritten {
		t.Fatalf("looked: %+v, %v", r, err)
	}
	no := errors.New("no")
	if _, err = a.Scrub(t.Context(), ScrubOptions{All: true, Write: true, Sure: func(ScrubReport) error { return no }}); !errors.Is(err, no) {
		t.Errorf("who says no: %v", err)
	}
	if r, err = a.Scrub(t.Context(), ScrubOptions{All: true, Write: true}); err != nil || !r.Rewritten || r.Cleaned != 1 {
		t.Errorf("written: %+v, %v", r, err)
	}
	if r, err = a.Scrub(t.Context(), ScrubOptions{All: true}); err != nil || !r.Clean() {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
}
