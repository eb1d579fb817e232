package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
)

// begins begins a chat in a project.
func (a asker) begins(c *httpClient, in string) string {
	c.t.Helper()
	var begun struct{ Chat chatOf }
	a.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": in}, &begun)
	return begun.Chat.ID
}

// says sends a message to a chat, and waits until it is answered.
func (a asker) says(c *httpClient, chat, id, text string) {
	c.t.Helper()
	a.does(c, http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", toldTo(id, text), nil)
	a.does(c, http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": id}, nil)
}

// sees is a project as somebody has it.
func (a asker) sees(c *httpClient, id string) (p project.Project) {
	c.t.Helper()
	a.does(c, http.StatusOK, "GET", "/v1/projects/"+id, nil, &p)
	return p
}

// id is that of somebody.
func (a asker) id(c *httpClient) string {
	c.t.Helper()
	var me server.Me
	a.does(c, http.StatusOK, "GET", "/v1/me", nil, &me)
	return me.ID
}

// heard is what the model was sent last: its system prompt, and the texts.
func (b *brain) heard() string {
	all := b.srv.Requests()
	last := all[len(all)-1]
	return last.System + "\n" + textsOf(last.Messages)
}

// A person shares a project with others. Who may read has its instructions and files, but no way to change them, and chats of their
// own; who may write changes them. Who isn't a member any more keeps their chats, also when a turn runs.
func TestServeMembers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	ann, bob, cid, eve := c.member(cmd, "ann", people.Member), c.member(cmd, "Bob", people.Member), c.member(cmd, "cid", people.Member), c.member(cmd, "eve", people.Admin)
	var p project.Project
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{
		"name": "Zoo", "instructions": "Say quagga.", "maxCost": 2,
		"tools": map[string]any{"filesystem": map[string]any{}, "memory": map[string]any{"systemPrompt": true}, "javascript": map[string]any{}, "sketchbook": map[string]any{}},
	}, &p)
	at := "/v1/projects/" + p.ID
	ann.does(c, http.StatusCreated, "PUT", at+"/file?path=/animals.txt", "okapi\n", nil)
	ann.does(c, http.StatusOK, "PUT", at+"/file?path=/animals.txt", "okapi and kudu\n", nil)

	// Only its owner shares it, and only with people who are there.
	var all []project.Member
	ann.does(c, http.StatusOK, "PUT", at+"/members/bob", map[string]any{"right": "read"}, &all) // names have no case
	if len(all) != 1 || all[0].Name != "Bob" || all[0].Right != project.Reads {
		t.Errorf("members %+v", all)
	}
	ann.does(c, http.StatusOK, "PUT", at+"/members/cid", map[string]any{"right": "write"}, nil)
	ann.refused(c, http.StatusNotFound, "", "PUT", at+"/members/nobody", map[string]any{"right": "read"}, `unknown person "nobody"`)
	ann.refused(c, http.StatusNotFound, "", "DELETE", at+"/members/eve", nil)
	ann.refused(c, http.StatusBadRequest, "", "PUT", at+"/members/ann", map[string]any{"right": "write"}, "yours already")
	ann.refused(c, http.StatusBadRequest, "", "PUT", at+"/members/eve", map[string]any{"right": "own"}, "read or write")
	for _, one := range []asker{bob, cid} {
		one.refused(c, http.StatusForbidden, "member", "PUT", at+"/members/eve", map[string]any{"right": "read"}, "only ann")
		one.refused(c, http.StatusForbidden, "member", "PUT", at+"/members/"+one.name, map[string]any{"right": "write"}, "only ann")
		one.refused(c, http.StatusForbidden, "member", "DELETE", at+"/members/"+map[string]string{"Bob": "cid", "cid": "bob"}[one.name], nil, "only ann")
		one.refused(c, http.StatusForbidden, "member", "DELETE", at, nil, "only ann")
		one.refused(c, http.StatusForbidden, "member", "POST", at+"/restore", nil, "only ann")
		one.refused(c, http.StatusNotFound, "", "DELETE", at+"?purge=true", nil)
		one.does(c, http.StatusOK, "GET", at+"/members", nil, &all)
		if len(all) != 2 {
			t.Errorf("%s sees members %+v", one.name, all)
		}
	}
	for verb, path := range map[string]string{"GET": at + "/members", "PUT": at + "/members/eve", "DELETE": at + "/members/bob", "PATCH": at, "POST": at + "/files/mkdir"} {
		body := map[string]map[string]any{"PUT": {"right": "write"}, "PATCH": {"name": "x"}, "POST": {"path": "/x"}}[verb]
		eve.refused(c, http.StatusNotFound, "", verb, path, body) // an admin, too
	}
	if got := bob.sees(c, p.ID); got.Owner != "ann" || got.Right != project.Reads || got.Instructions != "Say quagga." || got.Members != 0 {
		t.Errorf("a member has %+v", got)
	}
	if got := ann.sees(c, p.ID); got.Owner != "" || got.Right != "" || got.Members != 2 {
		t.Errorf("the owner has %+v", got)
	}

	// Who may read changes nothing, by no way.
	writes := []struct {
		verb, path string
		body       any
	}{
		{"PATCH", at, map[string]any{"name": "Mine"}},
		{"PUT", at + "/file?path=/b.txt", "x"},
		{"PUT", at + "/file?path=/animals.txt", "x"},
		{"DELETE", at + "/file?path=/animals.txt", nil},
		{"POST", at + "/files/mkdir", map[string]any{"path": "/d"}},
		{"POST", at + "/files/rename", map[string]any{"from": "/animals.txt", "to": "/b.txt"}},
		{"POST", at + "/files/rollback", map[string]any{"path": "/animals.txt", "version": 1}},
		{"POST", at + "/files/drop_versions", map[string]any{"path": "/animals.txt", "keep": 1}},
		{"POST", at + "/files/restore", map[string]any{"path": "/animals.txt"}},
		{"POST", at + "/files/empty_trash", map[string]any{"path": "/"}},
		{"POST", at + "/files/restore_orphan", map[string]any{"id": 1, "to": "/b.txt"}},
		{"POST", at + "/files/purge_orphan", map[string]any{"id": 1}},
		{"POST", at + "/files/import", ann.zipped(c, at)},
	}
	for _, w := range writes {
		bob.refused(c, http.StatusForbidden, "member", w.verb, w.path, w.body, "you may only read this project: ask ann")
	}
	for _, path := range []string{"/files", "/file?path=/animals.txt", "/files/versions?path=/animals.txt", "/files/export", "/files/usage", "/files/orphans", "/files/diff?path=/animals.txt&from=1&to=2"} {
		bob.does(c, http.StatusOK, "GET", at+path, nil, nil)
	}
	mine := bob.begins(c, p.ID)
	b.script = []string{
		`call read {"path":"animals.txt"}`, `call write {"path":"b.txt","content":"x"}`, `call filesystem {"command":"delete","path":"/animals.txt"}`,
		`call memory {"command":"create","path":"/memories/a.md","file_text":"x"}`, `call memory {"command":"view","path":"/memories"}`,
		`call sketchbook {"content":"x"}`, `call javascript {"code":"await fs.writeFile('/b.txt', 'x')"}`, `call javascript {"code":"return 6 * 7"}`, "Well.",
	}
	bob.says(c, mine, "1", "what is there?")
	heard := b.heard()
	if !strings.Contains(heard, "Say quagga.") || !strings.Contains(heard, "okapi and kudu") || !strings.Contains(heard, "42") {
		t.Errorf("the model of who may read heard\n%s", heard)
	}
	if n := strings.Count(heard, "you may only read this project: ask ann"); n != 4 {
		t.Errorf("%d tools were refused in words, not 4:\n%s", n, heard)
	}
	if !strings.Contains(heard, "READONLY") && !strings.Contains(heard, "read-only") && !strings.Contains(heard, "only be read") {
		t.Errorf("a program of the model wasn't refused:\n%s", heard)
	}
	var list struct{ Files []keptFile }
	ann.does(c, http.StatusOK, "GET", at+"/files?recursive=true&deleted=true", nil, &list)
	if len(list.Files) != 1 || list.Files[0].Version != 2 {
		t.Errorf("the files are %+v", list)
	}

	// Who may write does, and versions say who it was. What it may cost is the owner's.
	cids := cid.begins(c, p.ID)
	b.script = []string{`call write {"path":"cid.txt","content":"by a model"}`, "Done."}
	cid.says(c, cids, "1", "write")
	cid.does(c, http.StatusOK, "PUT", at+"/file?path=/cid.txt", "by Cid", nil)
	cid.does(c, http.StatusOK, "PATCH", at, map[string]any{"instructions": "Say zebra."}, nil)
	cid.refused(c, http.StatusForbidden, "member", "PATCH", at, map[string]any{"maxCost": 100}, "only ann")
	cid.refused(c, http.StatusForbidden, "member", "PATCH", at, map[string]any{"mode": "full"}, "only ann")
	cid.does(c, http.StatusOK, "PATCH", at, map[string]any{"maxCost": 2, "mode": "auto-edit"}, nil) // as it is
	ann.does(c, http.StatusOK, "PATCH", at, map[string]any{"model": "box/one"}, nil)
	run(t, cmd, "admin", "group", "set", "students", "--model", "box/t*")
	run(t, cmd, "admin", "group", "join", "students", "cid")
	cid.does(c, http.StatusOK, "PATCH", at, map[string]any{"model": "box/one", "icon": "🦓"}, nil) // the model of somebody who may use it stays
	cid.refused(c, http.StatusForbidden, "denied", "PATCH", at, map[string]any{"model": "box/one:high"}, "your groups may use")
	cid.refused(c, http.StatusForbidden, "denied", "POST", "/v1/sessions/"+cid.begins(c, p.ID)+"/submit", toldTo("1", "say hi"), "your groups may use")
	run(t, cmd, "admin", "group", "leave", "students", "cid")
	ann.does(c, http.StatusOK, "PATCH", at, map[string]any{"model": ""}, nil)
	if got := ann.sees(c, p.ID); got.Instructions != "Say zebra." || got.MaxCost != llm.Dollars(2) {
		t.Errorf("the owner has %+v", got)
	}
	for _, one := range []asker{ann, cid} {
		var versions []server.FileVersion
		one.does(c, http.StatusOK, "GET", at+"/files/versions?path=/cid.txt", nil, &versions)
		name, chat := "cid", ""
		if one.name == "cid" {
			name, chat = "", cids
		}
		if len(versions) != 2 || versions[0].By != "person" || versions[0].Name != name || versions[1].By != "model" || versions[1].Name != name || versions[1].Chat != chat {
			t.Errorf("%s has the versions %+v", one.name, versions)
		}
	}

	// A chat that moves out of the project has nothing of it any more, until it comes back.
	cid.begins(c, "")                                         // which makes a project for chats
	for _, in := range []string{"chats-" + cid.id(c), p.ID} { // in this order: where it is already, nothing moves
		hears := in == p.ID
		cid.does(c, http.StatusOK, "PATCH", "/v1/chats/"+cids, map[string]any{"project": in}, nil)
		cid.says(c, cids, in, "say hello")
		if heard := b.heard(); strings.Contains(heard, "Say zebra.") != hears {
			t.Errorf("in project %s the model heard\n%s", in, heard)
		}
	}
	cid.does(c, http.StatusOK, "PATCH", "/v1/chats/"+cids, map[string]any{"project": p.ID}, nil)

	// Chats are whose they are. What models do without asking is chosen for one's own only.
	anns := ann.begins(c, p.ID)
	ann.does(c, http.StatusOK, "PATCH", at, map[string]any{"mode": "full"}, nil)
	ann.says(c, anns, "1", "say hello")
	if heard := b.heard(); !strings.Contains(heard, "Permission: full") {
		t.Errorf("the owner's chat is\n%s", heard)
	}
	second := bob.begins(c, p.ID)
	bob.says(c, second, "1", "say hello")
	if heard := b.heard(); !strings.Contains(heard, "Permission: auto-edit") {
		t.Errorf("a member's chat is\n%s", heard)
	}
	for who, others := range map[*asker][]string{&ann: {mine, cids, second}, &bob: {anns, cids}, &eve: {anns, mine}} {
		var chats []chatOf
		who.does(c, http.StatusOK, "GET", "/v1/chats?project="+p.ID, nil, &chats)
		if slices.ContainsFunc(chats, func(one chatOf) bool { return slices.Contains(others, one.ID) }) {
			t.Errorf("%s lists %+v", who.name, chats)
		}
		for _, chat := range others {
			who.refused(c, http.StatusNotFound, "", "GET", "/v1/chats/"+chat, nil)
			who.refused(c, http.StatusNotFound, "", "PATCH", "/v1/chats/"+chat, map[string]any{"title": "x"})
			who.refused(c, http.StatusNotFound, "", "DELETE", "/v1/chats/"+chat, nil)
			if status, said := who.ask(c, "GET", "/v1/sessions/"+chat, ""); status != http.StatusNotFound && status != http.StatusForbidden {
				t.Errorf("%s opens a chat of another: %d %s", who.name, status, said)
			}
		}
	}

	// While the owner's keys are locked, members wait, and have what is theirs.
	ann.does(c, http.StatusOK, "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword}, nil)
	ann.does(c, http.StatusOK, "POST", "/v1/me/lock", map[string]any{}, nil)
	bob.refused(c, http.StatusLocked, "owner_locked", "GET", at, nil, "the keys of ann are locked")
	bob.refused(c, http.StatusLocked, "owner_locked", "GET", at+"/file?path=/animals.txt", nil, "the keys of ann are locked")
	cid.refused(c, http.StatusLocked, "owner_locked", "PUT", at+"/file?path=/animals.txt", "x", "the keys of ann are locked")
	cid.refused(c, http.StatusLocked, "owner_locked", "PATCH", at, map[string]any{"name": "x"}, "the keys of ann are locked")
	for late := time.Now().Add(time.Minute); ; { // until it has ended here
		if status, _ := bob.ask(c, "GET", "/v1/sessions/"+mine, ""); status == http.StatusLocked || time.Now().After(late) {
			break
		}
	}
	bob.refused(c, http.StatusLocked, "owner_locked", "GET", "/v1/sessions/"+mine, nil, "the keys of ann are locked")
	var projects []project.Project
	bob.does(c, http.StatusOK, "GET", "/v1/projects", nil, &projects)
	if len(projects) != 1 || !projects[0].Locked || projects[0].Owner != "ann" || projects[0].Name != "" {
		t.Errorf("a member lists %+v", projects)
	}
	bob.does(c, http.StatusOK, "GET", "/v1/chats/"+mine, nil, nil)
	bob.says(c, bob.begins(c, ""), "1", "say hello")
	ann = ann.signedIn(c, personPassword)
	bob.says(c, mine, "2", "say more")
	if heard := b.heard(); !strings.Contains(heard, "Say zebra.") || !strings.Contains(heard, "Well.|say more|") {
		t.Errorf("afterwards the model heard\n%s", heard)
	}

	// Somebody who is removed while a turn runs keeps the chat, and has nothing of the project.
	before := len(b.srv.Requests())
	bob.does(c, http.StatusOK, "POST", "/v1/sessions/"+mine+"/submit", toldTo("3", "gate say bye"), nil)
	b.started(t, before+1)
	ann.does(c, http.StatusOK, "DELETE", at+"/members/Bob", nil, nil)
	b.free()
	bob.rested(c)
	var chat struct{ Project, Title string }
	bob.does(c, http.StatusOK, "GET", "/v1/chats/"+mine, nil, &chat)
	if home := bob.sees(c, chat.Project); chat.Project == p.ID || home.Name != "Chats" || home.Owner != "" {
		t.Errorf("the chat %+v is in %+v", chat, home)
	}
	for _, path := range []string{at, at + "/files", at + "/members", at + "/file?path=/animals.txt", at + "/chats/export"} {
		bob.refused(c, http.StatusNotFound, "", "GET", path, nil)
	}
	for _, w := range writes {
		bob.refused(c, http.StatusNotFound, "", w.verb, w.path, w.body)
	}
	if status, said := bob.ask(c, "POST", "/v1/chats", fmt.Sprintf(`{"project":%q}`, p.ID)); status != http.StatusNotFound {
		t.Errorf("a chat begins: %d %s", status, said)
	}
	bob.does(c, http.StatusOK, "POST", "/v1/sessions/"+mine+"/submit", toldTo("4", "say once more"), nil)
	bob.does(c, http.StatusOK, "POST", "/v1/sessions/"+mine+"/wait", map[string]any{"id": "4"}, nil)
	if heard := b.heard(); strings.Contains(heard, "zebra") || !strings.Contains(heard, "Well.|say more|more|gate say bye") {
		t.Errorf("the chat went on with\n%s", heard)
	}

	// An export has one's own chats, and nothing else of what others share.
	names, _ := cid.export(c)
	if !slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "shared/Zoo "+p.ID+"/chats/") && strings.HasSuffix(n, ".jsonl")
	}) ||
		slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "animals.txt") || strings.Contains(n, anns) }) {
		t.Errorf("the export of a member has %v", names)
	}
	names, _ = ann.export(c)
	if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, cids) }) {
		t.Errorf("the export of the owner has %v", names)
	}

	// A member leaves; the project goes, and what members have stays; and the log says who did what.
	ann.does(c, http.StatusOK, "PUT", at+"/members/bob", map[string]any{"right": "write"}, nil)
	second = bob.begins(c, p.ID)
	bob.says(c, second, "1", "say kept")
	bob.does(c, http.StatusOK, "DELETE", at+"/members/bob", nil, nil)
	bob.refused(c, http.StatusNotFound, "", "GET", at, nil)
	ann.does(c, http.StatusOK, "DELETE", at, nil, nil)
	ann.does(c, http.StatusOK, "DELETE", at+"?purge=true", nil, nil)
	for who, id := range map[*asker]string{&bob: second, &cid: cids} {
		who.says(c, id, "9", "say still there")
		who.does(c, http.StatusOK, "GET", "/v1/chats/"+id, nil, &chat)
		if chat.Project == p.ID {
			t.Errorf("a chat of %s is in %s", who.name, chat.Project)
		}
	}
	log := run(t, cmd, "admin", "audit", "--limit", "50")
	for _, want := range []string{"member.set", "project " + p.ID + ": write", "member.remove"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log doesn't say %q:\n%s", want, log)
		}
	}
	if heardOf := filesWith(t, homeOf(cmd), "by a model"); len(heardOf) > 0 {
		t.Errorf("in the clear in %v", heardOf)
	}
}

// zipped is the files of a project as an archive.
func (a asker) zipped(c *httpClient, at string) string {
	c.t.Helper()
	status, data := a.ask(c, "GET", at+"/files/export", "")
	if status != http.StatusOK {
		c.t.Fatal(status, data)
	}
	return data
}
