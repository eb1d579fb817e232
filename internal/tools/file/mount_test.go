package file_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/file"
)

// withMounts is a bench with a folder behind local://, another behind memory://user/ and one
// that there is none of behind gone://.
func withMounts(t *testing.T, engine string, readOnly bool) (b *bench, local string) {
	t.Helper()
	parent := t.TempDir()
	local = filepath.Join(parent, "session", "local")
	at := func(dir string) func() (string, error) { return func() (string, error) { return dir, nil } }
	b = openIn(t, engine, map[string]string{"a.txt": "in the workspace\n"}, file.Options{}, workspace.Options{StateDir: t.TempDir(), ReadOnly: readOnly, Mounts: []workspace.Mount{
		{Address: "local://", Dir: at(local), Always: true},
		{Address: "memory://user/", Dir: at(filepath.Join(parent, "user"))},
		{Address: "gone://", Dir: func() (string, error) { return "", errors.New("gone:// is not available here") }},
	}})
	return b, local
}

// Files behind an address are written, read, edited, searched and taken back like others, and
// results name them by their address.
func TestMount(t *testing.T) {
	b, local := withMounts(t, "replace", false)
	b.want("ls", args{"path": "local://"}, "(empty folder)")
	b.want("write", args{"path": "local://notes/plan.md", "content": "one\ntwo\n"}, "Created local://notes/plan.md: 8 B, 2 lines")
	b.refused("write", args{"path": "local://nothing/../../x", "content": "x"}, "write a path without .. behind local://")
	b.want("read", args{"path": "local://notes/plan.md:2"}, "2|two\n")
	b.want("edit", args{"path": "local://notes/plan.md", "edits": []any{args{"old": "two", "new": "three"}}}, "Edited local://notes/plan.md\n+1 -1 lines")
	b.want("grep", args{"pattern": "three", "path": "local://"}, "local://notes/plan.md\n2:three\n")
	b.want("grep", args{"pattern": "three", "path": "local://notes/", "output": "count"}, "local://notes/plan.md: 1\n")
	b.want("find", args{"pattern": "*.md", "path": "local://"}, "local://notes/plan.md  now\n")
	b.want("ls", args{"path": "local://notes"}, "plan.md  10 B  now\n")
	b.want("read", args{"path": "local://"}, "notes/  now\n  plan.md  10 B  now\n")
	b.want("read", args{"path": "local:/notes/plan.md"}, "1|one\n2|three\n")
	b.want("undo_edit", args{"path": "local://notes/plan.md"}, "Restored local://notes/plan.md")
	if data, err := os.ReadFile(filepath.Join(local, "notes", "plan.md")); string(data) != "one\ntwo\n" || err != nil {
		t.Errorf("the file holds %q, %v", data, err)
	}
	b.refused("read", args{"path": "local://plan.md"}, "local://plan.md does not exist")
	b.refused("grep", args{"path": "local://plan.md", "pattern": "x"}, "local://plan.md does not exist")
	b.want("write", args{"path": "memory://user/x.md", "content": "y\n"}, "Created memory://user/x.md: 2 B, 1 line")
	b.refused("write", args{"path": "memory://other/x.md", "content": "y\n"}, "cannot be written; write takes paths and local://, memory://user/, gone://, conflict://")
	b.refused("write", args{"path": "gone://x.md", "content": "y\n"}, "gone:// is not available here")
	b.refused("read", args{"path": "gone://x.md"}, "gone:// is not available here")
	if names, err := os.ReadDir(b.dir); len(names) != 1 || err != nil {
		t.Errorf("the workspace has %v, %v", names, err)
	}
}

// What the model has not seen is not overwritten there either, and links lead nowhere else.
func TestMountKeepsWhatIsThere(t *testing.T) {
	b, local := withMounts(t, "replace", false)
	b.want("ls", args{"path": "local://"}, "(empty folder)")
	if err := os.WriteFile(filepath.Join(local, "a.md"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.refused("write", args{"path": "local://a.md", "content": "x\n"}, "local://a.md exists and you have not read it")
	if err := os.Symlink(b.dir, filepath.Join(local, "out")); err != nil {
		t.Fatal(err)
	}
	b.refused("read", args{"path": "local://out/a.txt"}, "")
	b.refused("write", args{"path": "local://out/b.txt", "content": "x\n"}, "escapes")
}

// In a workspace that is open for reading only, the scratch folder can be written.
func TestMountWhileReadOnly(t *testing.T) {
	b, _ := withMounts(t, "replace", true)
	b.want("write", args{"path": "local://plan.md", "content": "x\n"}, "Created local://plan.md: 2 B, 1 line")
	b.want("edit", args{"path": "local://plan.md", "edits": []any{args{"old": "x", "new": "y"}}}, "Edited local://plan.md\n+1 -1 lines")
	b.refused("write", args{"path": "memory://user/a.md", "content": "x\n"}, "reading only")
	b.refused("write", args{"path": "b.txt", "content": "x\n"}, "reading only")
}

// Every engine of edits changes files behind addresses, and declares them by their address.
func TestMountEngines(t *testing.T) {
	for engine, edit := range map[string]func(shown string) args{
		"replace": func(string) args {
			return args{"path": "local://p.md", "edits": []any{args{"old": "one", "new": "two"}}}
		},
		"patch": func(string) args {
			return args{"patch": "*** Begin Patch\n*** Update File: local://p.md\n@@\n-one\n+two\n*** Update File: a.txt\n@@\n-in the workspace\n+changed\n*** End Patch"}
		},
		"whole": func(string) args { return args{"path": "local://p.md", "content": "two\n"} },
		"hashline": func(shown string) args {
			header, line, _ := strings.Cut(strings.TrimSpace(shown), "\n")
			_, tag, _ := strings.Cut(strings.Trim(header, "[]"), "#")
			name, _, _ := strings.Cut(line, "|")
			return args{"path": "local://p.md", "tag": tag, "edits": []any{args{"op": "replace", "at": name, "text": "two"}}}
		},
	} {
		t.Run(engine, func(t *testing.T) {
			b, local := withMounts(t, engine, false)
			if said, err := b.call("write", args{"path": "local://p.md", "content": "one\n"}); err != nil || !strings.HasPrefix(said, "Created local://p.md") {
				t.Fatalf("%q, %v", said, err)
			}
			shown, err := b.call("read", args{"path": "local://p.md"})
			if err != nil {
				t.Fatal(err)
			}
			call := edit(shown)
			raw, err := json.Marshal(call)
			if err != nil {
				t.Fatal(err)
			}
			access, err := b.tools["edit"].Accesses(raw)
			if err != nil || len(access) == 0 || access[0].Target != "local://p.md" {
				t.Errorf("it declares %v, %v", access, err)
			}
			if said, err := b.call("edit", call); err != nil {
				t.Fatalf("%v\nof %s", err, shown)
			} else if !strings.Contains(said, "Edited local://p.md") {
				t.Errorf("it says %q", said)
			}
			if data, _ := os.ReadFile(filepath.Join(local, "p.md")); string(data) != "two\n" {
				t.Errorf("the file holds %q", data)
			}
		})
	}
}
