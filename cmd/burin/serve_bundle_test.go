package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
)

// bundle downloads a project as a file.
func (a asker) bundle(c *httpClient, id string) (status int, file string) {
	c.t.Helper()
	return a.ask(c, "GET", "/v1/projects/"+id+"/export", "")
}

// A project is exported as one file with its settings and files, and nothing else, and imported as a new project: here, by
// others and on another server. Nothing is trusted because of it, and an import that fails leaves nothing.
func TestServeBundle(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	ann, ben, eve := c.member(cmd, "ann", people.Member), c.member(cmd, "ben", people.Member), c.member(cmd, "eve", people.Member)
	var p project.Project
	settings := map[string]any{
		"name": "Zoo / animals", "icon": "🦓", "instructions": "Rhyme.", "model": "gone/model", "thinking": "low", "temperature": 0.5, "maxTokens": 900, "prefill": "Well,", "mode": "full", "maxCost": 3,
		"tools": map[string]any{"memory": map[string]any{"systemPrompt": true}, "checkpoint": map[string]any{"keep": []string{"memory"}}}, "format": map[string]any{"mode": "metadata", "time": "utc"},
	}
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", settings, &p)
	put := func(path, content string) {
		t.Helper()
		if status, said := ann.ask(c, "PUT", "/v1/projects/"+p.ID+"/file?path="+path, content); status != http.StatusCreated && status != http.StatusOK {
			t.Fatal(status, said)
		}
	}
	picture := string(pictureBytes(t, ""))
	put("/notes/day.md", "# An old quagga")
	put("/notes/day.md", "# Day")
	put("/memories/README.md", "Likes okapis.")
	put("/deleted.txt", "dodo")
	put("/a%20b/ü.png", picture)
	ann.does(c, http.StatusOK, "DELETE", "/v1/projects/"+p.ID+"/file?path=/deleted.txt", nil, nil)
	ann.does(c, http.StatusOK, "POST", "/v1/projects/"+p.ID+"/files/mkdir", map[string]any{"path": "/empty"}, nil)
	var begun struct{ Chat chatOf }
	ann.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": p.ID, "title": "Secret thoughts"}, &begun)
	ann.does(c, http.StatusOK, "PUT", "/v1/projects/"+p.ID+"/members/ben", map[string]any{"right": "read"}, nil)

	// The file has the settings and the files as they are.
	status, file := ann.bundle(c, p.ID)
	if status != http.StatusOK {
		t.Fatal(status, file)
	}
	z, err := zip.NewReader(strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var plain strings.Builder
	for _, f := range z.File {
		names = append(names, f.Name)
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		plain.WriteString(f.Name + "\n" + string(data) + "\n")
	}
	slices.Sort(names)
	const at = "projects/Zoo _ animals/"
	if want := []string{at + "files/a b/", at + "files/a b/ü.png", at + "files/empty/", at + "files/memories/", at + "files/memories/README.md", at + "files/notes/", at + "files/notes/day.md", at + "project.json"}; !slices.Equal(names, want) {
		t.Errorf("in the file is %q", names)
	}
	for _, not := range []string{"Secret", "quagga", "dodo", p.ID, begun.Chat.ID, "ann", "ben", "members", "revision", "created", "source"} {
		if strings.Contains(plain.String(), not) {
			t.Errorf("the file has %q", not)
		}
	}

	// Who may read the project may export it, others not.
	if status, said := ben.bundle(c, p.ID); status != http.StatusOK || len(said) < len(picture) {
		t.Errorf("a member: %d", status)
	}
	if status, said := eve.bundle(c, p.ID); status != http.StatusNotFound {
		t.Errorf("somebody else: %d %s", status, said)
	}

	// Each import makes a project, as it was, but for what nobody else may allow.
	other := machine(t, newBrain(t), rpcConfig)
	there := serveIt(t, other)
	for name, in := range map[string]struct {
		c   *httpClient
		who asker
	}{"here": {c, ann}, "eve": {c, eve}, "there": {there, there.member(other, "zoe", people.Member)}} {
		for n := range 2 {
			is, _ := in.who.brings(in.c, http.StatusOK, file)
			if is.Projects != 1 || is.Files != 3 || is.Chats+is.There+is.Failed != 0 || is.Project == p.ID || is.Project == "" {
				t.Fatalf("%s, %d: %+v", name, n, is)
			}
			var got project.Project
			in.who.does(in.c, http.StatusOK, "GET", "/v1/projects/"+is.Project, nil, &got)
			want := p.Settings
			want.Mode = "auto-edit"
			if a, b := jsonOf(t, want), jsonOf(t, got.Settings); a != b || got.Owner != "" || got.Members != 0 {
				t.Errorf("%s, %d: the settings are\n%s, not\n%s", name, n, b, a)
			}
			for path, content := range map[string]string{"/notes/day.md": "# Day", "/memories/README.md": "Likes okapis.", "/a%20b/%C3%BC.png": picture} {
				if status, said := in.who.ask(in.c, "GET", "/v1/projects/"+is.Project+"/file?path="+path, ""); status != http.StatusOK || said != content {
					t.Errorf("%s, %d: %s: %d %.60q", name, n, path, status, said)
				}
			}
			var chats []project.Chat
			if in.who.does(in.c, http.StatusOK, "GET", "/v1/chats?project="+is.Project, nil, &chats); len(chats) > 0 {
				t.Errorf("%s: there are the chats %v", name, chats)
			}
		}
	}

	// What is hostile or doesn't fit changes nothing.
	var before, after []project.Project
	eve.does(c, http.StatusOK, "GET", "/v1/projects", nil, &before)
	for what, bad := range map[string]string{
		"cut off":   file[:len(file)-100],
		"leads out": changed(t, file, map[string][]byte{"+" + at + "files/../../../etc": []byte("x")}),
		"bomb":      changed(t, file, map[string][]byte{"+" + at + "files/zero": make([]byte, 65<<20)}),
		"nameless":  changed(t, file, map[string][]byte{"/project.json": []byte(`{"instructions": "x"}`)}),
		"tool":      changed(t, file, map[string][]byte{"/project.json": []byte(`{"name": "x", "tools": {"checkpoint": {"keep": ["shell"]}}}`)}),
		"mode":      changed(t, file, map[string][]byte{"/project.json": []byte(`{"name": "x", "mode": "yolo"}`)}),
	} {
		if _, said := eve.brings(c, http.StatusUnprocessableEntity, bad); !strings.Contains(said, "can't be imported") {
			t.Errorf("%s: %s", what, said)
		}
	}
	var me struct{ ID string }
	eve.does(c, http.StatusOK, "GET", "/v1/me", nil, &me)
	c.must(http.StatusOK, "POST", "/v1/admin/people/"+me.ID, map[string]any{"quota": map[string]any{"storage": 100}}, nil)
	if status, said := eve.ask(c, "POST", "/v1/chats/import", file); status/100 != 4 && status != http.StatusInsufficientStorage || !strings.Contains(said, "import the files") {
		t.Errorf("above the quota: %d %s", status, said)
	}
	eve.does(c, http.StatusOK, "GET", "/v1/projects", nil, &after)
	var trash []project.Project
	if eve.does(c, http.StatusOK, "GET", "/v1/projects?trash=true", nil, &trash); len(after) != len(before) || len(trash) > 0 {
		t.Errorf("there were %d projects, and are %d, and in the trash %v", len(before), len(after), trash)
	}

	// A project in the trash isn't exported.
	ann.does(c, http.StatusOK, "DELETE", "/v1/chats/"+begun.Chat.ID, nil, nil)
	ann.does(c, http.StatusOK, "DELETE", "/v1/projects/"+p.ID, nil, nil)
	if status, said := ann.bundle(c, p.ID); status != http.StatusNotFound {
		t.Errorf("from the trash: %d %.80q", status, said)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
