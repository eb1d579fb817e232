package kit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/kit"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/platform/script"
)

func TestMain(m *testing.M) {
	script.Main()
	os.Exit(m.Run())
}

// What the model reads of a program, and what it does with the files of the project.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	files := tree(t)
	for name, text := range map[string]string{
		"/data.csv": "a,1\nb,2\n", "/lib/b.js": "console.log('b'); const sum = (xs) => xs.reduce((a, b) => a + b, start);", "/lib/a.js": "var start = 0",
		"/lib/deep/c.js": "console.log('no')", "/lib/notes.txt": "no", "/memories/README.md": "a note", "/f.bin": "\x00\x01",
	} {
		if _, err := files.Write(t.Context(), name, []byte(text), vfs.Anything); err != nil {
			t.Fatal(err)
		}
	}
	with := func(o project.JavaScriptTool, f *project.FilesystemTool) func(code string) string {
		k := kit.New(kit.Options{Tools: &project.Tools{JavaScript: &o, Filesystem: f, Memory: &project.MemoryTool{}}, Tree: files, Chat: "c", Engine: kit.NewEngine()})
		call := caller(t, k)
		return func(code string) string {
			t.Helper()
			said, _, _ := strings.Cut(call("javascript", m{"code": code}), "\n    at ")
			return said
		}
	}
	run := with(project.JavaScriptTool{}, nil)
	const lib = "=== Output of library b.js ===\nb\n"
	for _, step := range []struct{ code, want string }{
		{`return sum([1, 2])`, lib + "=== Result ===\n3"},
		{`console.log("x", {a: 1}); console.error("y")`, lib + "=== Console output ===\n[LOG] x {\n  \"a\": 1\n}\n[ERROR] y\n=== Result ===\nundefined"},
		{`halt("enough")`, "failure: " + lib + "=== Console output ===\n[ERROR] enough\n=== Result ===\nHalted"},
		{`throw new Error("no")`, "failure: " + lib + "=== Result ===\nError: no"},
		{`const rows = (await fs.readFile("data.csv", "utf8")).trim().split("\n"); await fs.writeFile("out/sum.txt", String(sum(rows.map((r) => Number(r.split(",")[1])))))`, lib + "=== Result ===\nundefined"},
		{`return [await fs.readFile("/out/sum.txt", "utf8"), await fs.readdir("/out"), await fs.exists("/out"), await fs.exists("/no")].join()`, lib + "=== Result ===\n3,sum.txt,true,false"},
		{
			`const said = []; for (const f of [() => fs.readFile("/no"), () => fs.readFile("/out"), () => fs.mkdir("/out"), () => fs.unlink("/out"), () => fs.rmdir("/data.csv"), () => fs.readdir("/data.csv"), () => fs.writeFile("/memories/README.md", "x"), () => fs.writeFile("/data.csv/x", "x"), () => fs.rename("/data.csv", "/out/sum.txt"), () => fs.unlink("/no")])
			  try { await f(); said.push("done") } catch (e) { said.push(e.code + " " + e.message.includes("'")) } return said.join()`,
			lib + "=== Result ===\nENOENT true,EISDIR true,EEXIST true,EISDIR true,ENOTDIR true,ENOTDIR true,EROFS true,ENOTDIR true,EEXIST true,ENOENT true",
		},
		{`const s = await fs.stat("/f.bin"); const r = await fs.stat("/memories/README.md"); return [s.isFile, s.size, s.isBinary, s.readonly, r.isBinary, r.readonly, Date.now() - s.mtime < 60000, (await fs.stat("/out")).isDirectory].join()`, lib + "=== Result ===\ntrue,2,true,false,false,true,true,true"},
		{`await fs.rename("/out", "/new"); await fs.unlink("/new/sum.txt"); await fs.rmdir("/new"); return fs.exists("/new")`, lib + "=== Result ===\nfalse"},
		{`await fs.writeFile("/../../etc/x", "in the project"); return fs.readFile("/etc/x", "utf8")`, lib + "=== Result ===\nin the project"},
	} {
		if got := run(step.code); got != step.want {
			t.Errorf("%s\nsays\n%s\nwant\n%s", step.code, got, step.want)
		}
	}
	if versions, err := files.Versions(t.Context(), "/data.csv"); err != nil || len(versions) != 1 {
		t.Errorf("what was only read has %v, %v", versions, err)
	}
	if got := with(project.JavaScriptTool{NoLibrary: true}, nil)(`return typeof sum`); got != "undefined" {
		t.Errorf("without libraries: %s", got)
	}
	for name, run := range map[string]func(string) string{
		"readOnly": with(project.JavaScriptTool{NoLibrary: true, ReadOnly: true}, nil), "filesystem": with(project.JavaScriptTool{NoLibrary: true}, &project.FilesystemTool{ReadOnly: true}),
	} {
		if got := run(`console.log((await fs.stat("/data.csv")).readonly); await fs.writeFile("/data.csv", "gone")`); got != "failure: === Console output ===\n[LOG] true\n=== Result ===\nError: EROFS: read-only file system, write '/data.csv'" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if k := kit.New(kit.Options{Tools: &project.Tools{JavaScript: &project.JavaScriptTool{}}, Tree: files}); len(k.Tools) != 0 {
		t.Errorf("without an engine there is %v", k.Tools)
	}
}
