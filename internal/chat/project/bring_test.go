package project_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/pacetest"
)

// piece is a file of an archive.
type piece struct{ name, text string }

func zipped(t *testing.T, files ...piece) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// spoken is a transcript with one message.
func spoken(content string) string {
	return `{"type":"session","version":3,"id":"x","timestamp":"2026-01-02T03:04:05Z","cwd":"/"}` + "\n" +
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":[` + content + `]}}` + "\n"
}

// A hostile archive costs neither memory nor room beyond what it is: one attachment that a message names again and again, a
// transcript that many chats have, settings without end.
func TestHostileArchives(t *testing.T) {
	pacetest.Costly(t)
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, s := t.Context(), fresh(t, open())
		head := piece{"projects/Zoo z/project.json", `{"id":"z","name":"Zoo"}`}
		log := piece{"projects/Zoo z/chats/c.jsonl", spoken(`{"type":"text","text":"quagga"}`)}
		twice := []piece{head, log}
		for i := range 3 {
			twice = append(twice, piece{"projects/Zoo z/chats/c.json", fmt.Sprintf(`{"id":"c%d"}`, i)})
		}
		vast := []piece{}
		for i := range 9 {
			vast = append(vast, piece{fmt.Sprintf("projects/%d/project.json", i), `{"name":"Zoo"` + strings.Repeat(" ", 8<<20-20) + `}`})
		}
		for what, files := range map[string][]piece{"name is there twice": twice, "settings of its projects are larger than 64 MB": vast} {
			if _, err := project.OpenArchive(ctx, zipped(t, files...)); !errors.Is(err, project.ErrArchive) || !strings.Contains(err.Error(), what) {
				t.Errorf("not %q, but %v", what, err)
			}
		}
		ref := `{"type":"image","mimeType":"image/png","data":"blob:attachment:big"}`
		a := must[*project.Archive](t)(project.OpenArchive(ctx, zipped(t, head, log,
			piece{"projects/Zoo z/chats/c.json", `{"id":"c","title":"Fine"}`},
			piece{"projects/Zoo z/chats/d.json", `{"id":"d","title":"Heavy"}`},
			piece{"projects/Zoo z/chats/d.jsonl", spoken(strings.Repeat(ref+",", 5) + ref)},
			piece{"attachments/big", strings.Repeat("\x00", 30<<20)},
		)))
		is := must[project.Imported](t)(project.ImportArchive(ctx, s, "ann", a, func(int) {}))
		if is.Chats != 1 || is.Failed != 1 || !strings.Contains(is.Failures[0].Reason, "attachments of a message are larger than 128 MB") {
			t.Errorf("imported %+v", is)
		}
	})
}

// What somebody had in projects of others comes into their own project for chats, temporary chats don't come, and a project that
// is somebody else's here stays as it is.
func TestBringShared(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, s := t.Context(), fresh(t, open())
		theirs := share(t, s, map[string]project.Right{"bob": project.Reads})
		text := spoken(`{"type":"text","text":"quagga"}`)
		a := must[*project.Archive](t)(project.OpenArchive(ctx, zipped(t,
			piece{"projects/Zoo/project.json", `{"id":"` + theirs.ID + `","name":"Zoo"}`},
			piece{"projects/Zoo/files/a.txt", "okapi"},
			piece{"projects/Zoo/chats/t.json", `{"id":"t","title":"Brief","temporary":true}`},
			piece{"projects/Zoo/chats/t.jsonl", text},
			piece{"shared/Trip p/chats/c.json", `{"id":"c","title":"Trip"}`},
			piece{"shared/Trip p/chats/c.jsonl", text},
		)))
		is := must[project.Imported](t)(project.ImportArchive(ctx, s, "bob", a, func(int) {}))
		if is.Projects != 1 || is.Files != 1 || is.Chats != 1 || is.Messages != 1 || is.Project == theirs.ID {
			t.Fatalf("imported %+v", is)
		}
		home := must[project.Project](t)(s.Default(ctx, "bob"))
		chats := must[[]project.Chat](t)(s.Chats(ctx, "bob", project.Listing{}))
		if len(chats) != 1 || chats[0].Title != "Trip" || chats[0].Project != home.ID || home.Name != "Chats" {
			t.Errorf("the chats are %+v in %+v", chats, home)
		}
		files := must[*vfs.Tree](t)(s.Files(ctx, "bob", is.Project))
		versions := must[[]vfs.Version](t)(files.Versions(ctx, "/a.txt"))
		if err := files.Remove(ctx, "/a.txt", false); err != nil {
			t.Fatal(err)
		}
		// A file that is where the archive has a folder stays, and the rest comes.
		must[vfs.Info](t)(files.Write(ctx, "/notes", []byte("kudu"), vfs.Missing))
		again := must[*project.Archive](t)(project.OpenArchive(ctx, zipped(t,
			piece{"projects/Zoo/project.json", `{"id":"` + theirs.ID + `","name":"Zoo"}`},
			piece{"projects/Zoo/files/notes/", ""},
			piece{"projects/Zoo/files/notes/b.txt", "okapi"},
			piece{"projects/Zoo/files/a.txt", "okapi"},
		)))
		if more := must[project.Imported](t)(project.ImportArchive(ctx, s, "bob", again, func(int) {})); more.Files != 1 || more.Project != is.Project {
			t.Errorf("imported again %+v", more)
		}
		if len(versions) != 1 || versions[0].By != (vfs.Author{Who: vfs.Person, ID: "bob"}) {
			t.Errorf("the file is by %+v", versions)
		}
	})
}
