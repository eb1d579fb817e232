package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
)

// archive downloads the archive of somebody's account.
func (a asker) archive(c *httpClient) string {
	c.t.Helper()
	status, said := a.ask(c, "GET", "/v1/me/export", "")
	if status != http.StatusOK {
		c.t.Fatal(status, said)
	}
	return said
}

// brings imports a file.
func (a asker) brings(c *httpClient, status int, file string) (is project.Imported, said string) {
	c.t.Helper()
	got, said := a.ask(c, "POST", "/v1/chats/import", file)
	if got != status {
		c.t.Fatalf("import: %d %s", got, said)
	}
	if status == http.StatusOK {
		if err := json.Unmarshal([]byte(said), &is); err != nil {
			c.t.Fatal(err)
		}
	}
	return is, said
}

// changed is an archive with other files: a nil content removes one, names are by what they end with.
func changed(t *testing.T, archive string, with map[string][]byte) string {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	write := func(name string, data []byte) {
		w, err := to.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range z.File {
		skip := false
		for end, data := range with {
			if strings.HasSuffix(f.Name, end) {
				if skip = true; data != nil {
					write(f.Name, data)
				}
			}
		}
		if skip {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		write(f.Name, data)
	}
	for name, data := range with {
		if strings.HasPrefix(name, "+") {
			write(name[1:], data)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The archive of an account is imported into another one: projects with settings, files and chats with what the model and
// tools said and pictures, and prompts. Again it doubles nothing; one that is damaged or hostile changes nothing.
func TestServeBring(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	ann, ben := c.member(cmd, "ann", people.Member), c.member(cmd, "ben", people.Member)
	var p struct{ ID string }
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Zoo", "icon": "🦓", "instructions": "Rhyme.", "maxCost": 3}, &p)
	ann.does(c, http.StatusCreated, "PUT", "/v1/projects/"+p.ID+"/file?path=/notes/day.md", "# Day", nil)
	ann.does(c, http.StatusOK, "PATCH", "/v1/preferences", map[string]any{"revision": 0, "instructions": "Be brief.", "prompts": []map[string]any{{"name": "sum", "text": "Sum up."}}}, nil)
	var begun struct{ Chat chatOf }
	ann.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": p.ID, "title": "Animals"}, &begun)
	at := "/v1/sessions/" + begun.Chat.ID
	picture := pictureBytes(t, "")
	var pic project.Attachment
	status, said := ann.ask(c, "POST", "/v1/chats/"+begun.Chat.ID+"/attachments?name=a.png", string(picture))
	if err := json.Unmarshal([]byte(said), &pic); status != http.StatusCreated || err != nil {
		t.Fatal(status, said)
	}
	for i, content := range [][]any{
		{map[string]any{"type": "image", "url": "attachment:" + pic.ID}, map[string]any{"type": "text", "text": "say quagga"}},
		{map[string]any{"type": "text", "text": "say okapi"}},
	} {
		id := fmt.Sprint("m", i)
		ann.does(c, http.StatusOK, "POST", at+"/submit", map[string]any{"id": id, "message": map[string]any{"role": "user", "content": content}}, nil)
		ann.does(c, http.StatusOK, "POST", at+"/wait", map[string]any{"id": id}, nil)
	}
	ann.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": "Empty"}, nil)
	var gone struct{ Chat chatOf }
	ann.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": "Gone"}, &gone)
	ann.does(c, http.StatusOK, "DELETE", "/v1/chats/"+gone.Chat.ID, nil, nil)
	ann.rested(c)
	archive := ann.archive(c)

	// What can't be imported says why in one line, and changes nothing.
	for what, file := range map[string]string{
		"cut off":   archive[:len(archive)-100],
		"changed":   strings.Replace(archive, "PK\x01\x02", "PK\x01\x03", 1),
		"leads out": changed(t, archive, map[string][]byte{"+projects/x/files/../../etc": []byte("x")}),
		"absolute":  changed(t, archive, map[string][]byte{"+/etc/passwd": []byte("x")}),
		"bomb":      changed(t, archive, map[string][]byte{"+projects/x/files/zero": make([]byte, 65<<20)}),
		"headless":  changed(t, archive, map[string][]byte{"/project.json": nil}),
		"settings":  changed(t, archive, map[string][]byte{"/project.json": []byte(`{"id":"x","name":"` + strings.Repeat("x", 300) + `"}`)}),
		"no JSON":   changed(t, archive, map[string][]byte{"/project.json": []byte(`{`)}),
	} {
		if _, said := ben.brings(c, http.StatusUnprocessableEntity, file); !strings.Contains(said, "can't be imported") || strings.Count(said, "\n") > 1 {
			t.Errorf("%s: %s", what, said)
		}
	}
	var projects []project.Project
	if ben.does(c, http.StatusOK, "GET", "/v1/projects", nil, &projects); len(projects) > 0 {
		t.Errorf("after archives that can't be imported there are %v", projects)
	}

	// Another account has all of it then.
	is, _ := ben.brings(c, http.StatusOK, archive)
	if is.Projects != 1 || is.Files != 1 || is.Chats != 2 || is.Messages != 4 || is.There != 0 || is.Failed != 0 || is.Trashed != 1 {
		t.Errorf("imported %+v", is)
	}
	ben.does(c, http.StatusOK, "GET", "/v1/projects", nil, &projects)
	zoo := slices.IndexFunc(projects, func(p project.Project) bool { return p.Name == "Zoo" })
	if len(projects) != 2 || zoo < 0 || projects[zoo].Icon != "🦓" || projects[zoo].Instructions != "Rhyme." || projects[zoo].MaxCost == 0 || projects[zoo].ID == p.ID {
		t.Fatalf("the projects are %+v", projects)
	}
	if status, said := ben.ask(c, "GET", "/v1/projects/"+projects[zoo].ID+"/file?path=/notes/day.md", ""); status != http.StatusOK || said != "# Day" {
		t.Errorf("the file: %d %s", status, said)
	}
	var set project.Preferences
	if ben.does(c, http.StatusOK, "GET", "/v1/preferences", nil, &set); set.Instructions != "Be brief." || len(set.Prompts) != 1 {
		t.Errorf("the preferences are %+v", set)
	}
	var chats []project.Chat
	ben.does(c, http.StatusOK, "GET", "/v1/chats", nil, &chats)
	animals := slices.IndexFunc(chats, func(c project.Chat) bool { return c.Title == "Animals" })
	if len(chats) != 2 || animals < 0 || chats[animals].Project != projects[zoo].ID {
		t.Fatalf("the chats are %+v", chats)
	}
	their := "/v1/sessions/" + chats[animals].ID
	ben.does(c, http.StatusOK, "POST", their+"/submit", toldTo("m2", "say saola"), nil)
	ben.does(c, http.StatusOK, "POST", their+"/wait", map[string]any{"id": "m2"}, nil)
	all := b.srv.Requests()
	sent, err := json.Marshal(all[len(all)-1].Messages)
	if err != nil || !strings.Contains(string(sent), "say quagga") || !strings.Contains(string(sent), "okapi") || !strings.Contains(string(sent), base64.StdEncoding.EncodeToString(picture[:9])) {
		t.Errorf("the model got %.2000s", sent)
	}

	// Again, and in the account that it is of, nothing comes twice; what is missing does.
	for name, one := range map[string]asker{"ann": ann, "ben": ben} {
		if is, _ := one.brings(c, http.StatusOK, archive); is.Projects+is.Files+is.Chats != 0 || is.There != 2 {
			t.Errorf("%s again: %+v", name, is)
		}
	}
	ann.does(c, http.StatusOK, "DELETE", "/v1/chats/"+begun.Chat.ID, nil, nil)
	if is, _ := ann.brings(c, http.StatusOK, archive); is.Chats != 1 || is.There != 1 || is.Projects != 0 {
		t.Errorf("what was deleted: %+v", is)
	}
}
