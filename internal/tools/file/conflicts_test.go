package file_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/tool"
)

const twoConflicts = `top
<<<<<<< HEAD
ours 1
=======
theirs 1
>>>>>>> topic
middle
<<<<<<< HEAD
ours 2
||||||| base
base 2
=======
theirs 2
>>>>>>> topic
end
`

// says checks that the answer of a tool has a text in it.
func (b *bench) says(tool string, a args, want string) {
	b.Helper()
	if got, err := b.call(tool, a); err != nil || !strings.Contains(got, want) {
		b.Errorf("%s %v gave %q, %v; want %q in it", tool, a, got, err, want)
	}
}

// A conflict is read whole and by side, and resolved by what is written to its address.
func TestConflicts(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.go": twoConflicts})
	b.refused("read", args{"path": "conflict://1"}, "no such conflict; read lists those of a file as FILE:conflicts")
	b.refused("write", args{"path": "conflict://1", "content": "x"}, "no such conflict")
	b.says("read", args{"path": "a.go"}, "\n[2 merge conflicts: conflict://1 to conflict://2. Read one by its address")
	b.want("read", args{"path": "conflict://2"}, "[a.go, lines 8-14: HEAD against topic]\n"+twoConflicts[strings.LastIndex(twoConflicts, "<<<<<<<"):len(twoConflicts)-len("end\n")])
	b.says("read", args{"path": "conflict://1/theirs"}, "against topic]\ntheirs 1\n")
	b.says("read", args{"path": "conflict://2/base"}, "base 2\n")
	b.says("read", args{"path": "a.go:conflict://2/ours"}, "ours 2\n")
	b.refused("read", args{"path": "conflict://1/base"}, "it has no base side")
	b.refused("read", args{"path": "conflict://1/mine"}, `"mine" is no side: want ours, theirs or base`)
	b.says("read", args{"path": "conflict://"}, "conflict://1: a.go:2-6, HEAD against topic\nconflict://2: a.go:8-14,")
	b.refused("write", args{"path": "conflict://1/ours", "content": "x"}, "conflict://1/ours can only be read: write to conflict://1")
	b.refused("write", args{"path": "conflict://1", "content": "@base"}, "it has no base side")
	b.refused("write", args{"path": "conflict://1", "content": "<<<<<<< HEAD\nx"}, "still has the marks")
	b.refused("edit", args{"path": "conflict://1", "edits": []any{args{"old": "a", "new": "b"}}}, "conflict:// cannot be written; edit takes paths")
	b.refused("write", args{"path": "b.go:conflict://1", "content": "x"}, "conflict://1 is in a.go")
	for _, name := range []string{"ls", "grep", "find"} {
		b.refused(name, args{"path": "conflict://1", "pattern": "x"}, "")
	}

	b.put("a.go", "new first line\n"+twoConflicts) // the place moves, the conflict stays
	b.want("write", args{"path": "conflict://2", "content": "before\n  @theirs\n@base\nafter"}, "Resolved 1 conflict in 1 file:\na.go: 1, 1 left")
	if want := "new first line\n" + strings.Split(twoConflicts, "<<<<<<< HEAD\nours 2")[0] + "before\ntheirs 2\nbase 2\nafter\nend\n"; b.get("a.go") != want {
		t.Errorf("the file holds %q, want %q", b.get("a.go"), want)
	}
	b.refused("write", args{"path": "conflict://2", "content": "x"}, "conflict://2 is not there any more as it was read: read a.go:conflicts again")
	b.says("read", args{"path": "a.go:conflicts"}, "conflict://1: a.go:3-7, HEAD against topic\n[1 conflict.")
	b.want("write", args{"path": "a.go:conflict://1", "content": "@both\n"}, "Resolved 1 conflict in 1 file:\na.go: 1, no conflict left\nNote: the address is enough without the file: conflict://1")
	if !strings.Contains(b.get("a.go"), "top\nours 1\ntheirs 1\nmiddle\n") {
		t.Errorf("the file holds %q", b.get("a.go"))
	}
	b.want("undo_edit", args{"path": "a.go"}, "Restored a.go")
	b.want("read", args{"path": "a.go:conflicts"}, "conflict://1: a.go:3-7, HEAD against topic\n[1 conflict. Read one by its address, then write what it should be to that address, without the marks; @ours, @theirs, @base or @both on a line of its own stands for a side.]")
	b.want("write", args{"path": "conflict://1", "content": ""}, "Resolved 1 conflict in 1 file:\na.go: 1, no conflict left")
	if !strings.Contains(b.get("a.go"), "top\nmiddle\n") {
		t.Errorf("the file holds %q", b.get("a.go"))
	}
}

// A conflict that was not known when permission judged the call is not written.
func TestConflictJudgedBefore(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.go": twoConflicts, "b.go": twoConflicts})
	access := func() {
		if _, err := b.tools["write"].Accesses([]byte(`{"path":"conflict://*","content":"@ours"}`)); err != nil {
			t.Fatal(err)
		}
	}
	run := func() error {
		_, err := b.tools["write"].Run(t.Context(), tool.Call{ID: "c", Name: "write", Arguments: []byte(`{"path":"conflict://*","content":"@ours"}`)})
		return err
	}
	access()
	b.says("read", args{"path": "a.go:conflicts"}, "conflict://1")
	if err := run(); err == nil || !strings.Contains(err.Error(), "call again") || b.get("a.go") != twoConflicts {
		t.Errorf("it was written: %v", err)
	}
	access() // judged by a.go; another call with it is judged by both
	b.says("read", args{"path": "b.go:conflicts"}, "conflict://3")
	access()
	if err := run(); err == nil || b.get("b.go") != twoConflicts {
		t.Errorf("it was written: %v", err)
	}
	access()
	if err := run(); err != nil || strings.Contains(b.get("a.go")+b.get("b.go"), "<<<") {
		t.Errorf("it was not written: %v", err)
	}
}

// All conflicts that were read are resolved at once, those of a file all or none.
func TestAllConflicts(t *testing.T) {
	b := open(t, "replace", map[string]string{
		"a.go": twoConflicts, "b.go": strings.ReplaceAll(twoConflicts, "\n", "\r\n"), "c.go": "<<<<<<< HEAD\nno end\n=======\n", "d.go": twoConflicts,
	})
	for _, name := range []string{"a.go", "b.go", "d.go"} {
		b.says("read", args{"path": name + ":conflicts"}, name+":2-6")
	}
	b.want("read", args{"path": "c.go:conflicts"}, "c.go has no merge conflicts")
	access, err := b.tools["write"].Accesses([]byte(`{"path":"conflict://*","content":"@ours"}`))
	if err != nil || len(access) != 3 || access[1].Target != "b.go" || access[1].Kind != "write" {
		t.Errorf("it declares %v, %v", access, err)
	}
	b.refused("write", args{"path": "conflict://*", "content": "@base"}, "a.go: conflict://1: it has no base side")
	if b.get("a.go") != twoConflicts {
		t.Error("half of a file was resolved")
	}
	b.put("a.go", strings.Replace(twoConflicts, "theirs 1", "theirs changed", 1)) // one is not there any more, as if edited
	b.put("d.go", "package d\n")
	b.want("write", args{"path": "conflict://*", "content": "@ours\nnew"}, "Resolved 3 conflicts in 2 files:\na.go: 1, 1 left\nb.go: 2, no conflict left")
	if got, want := b.get("b.go"), "top\r\nours 1\r\nnew\r\nmiddle\r\nours 2\r\nnew\r\nend\r\n"; got != want {
		t.Errorf("b.go holds %q, want %q", got, want)
	}
	b.refused("write", args{"path": "conflict://*", "content": "@ours"}, "no conflict is left of those that were read")
}

// A file that cannot be written fails alone, and the result is an error.
func TestConflictsFailByFile(t *testing.T) {
	b := open(t, "hashline", map[string]string{"a.go": twoConflicts, "gen.go": "// Code generated by x; DO NOT EDIT.\n\n" + twoConflicts})
	b.says("read", args{"path": "a.go"}, "merge conflicts")
	b.says("read", args{"path": "gen.go"}, "merge conflicts")
	r, err := b.result("write", args{"path": "conflict://*", "content": "@theirs"})
	if err != nil || !r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	b.says("read", args{"path": "a.go:raw"}, "top\ntheirs 1\nmiddle\ntheirs 2\nend\n")
	b.says("read", args{"path": "gen.go:raw"}, "<<<<<<< HEAD")
}

func FuzzConflicts(f *testing.F) {
	f.Add(twoConflicts, "@both\n@base")
	f.Add("<<<<<<<\n=======\n>>>>>>>", "@ours")
	f.Fuzz(func(t *testing.T, text, content string) {
		b := open(t, "replace", map[string]string{"a.txt": text})
		if said, err := b.call("read", args{"path": "a.txt:conflicts"}); err != nil || !strings.HasPrefix(said, "conflict://1") {
			return
		}
		if said, err := b.call("write", args{"path": "conflict://1", "content": content}); err == nil && !strings.HasPrefix(said, "Resolved 1 conflict") {
			t.Errorf("it says %q", said)
		}
	})
}
