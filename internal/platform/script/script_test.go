package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// told is an outcome in a few lines.
func told(o *Outcome) string {
	var b strings.Builder
	for _, l := range o.Printed {
		if l.Library != "" {
			b.WriteString(l.Library + " ")
		}
		b.WriteString("[" + l.Level + "] " + l.Text + "\n")
	}
	if o.Dropped > 0 {
		fmt.Fprintf(&b, "dropped %d\n", o.Dropped)
	}
	if o.Failed {
		b.WriteString("failed: ")
	}
	return b.String() + o.Result
}

func run(t *testing.T, p Program) string {
	t.Helper()
	o, err := New(1).Run(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", p.Code, err)
	}
	return told(o)
}

// What a program returns and prints is told as text.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`return 6 * 7`:                  "42",
		``:                              "undefined",
		`return "a" // a comment`:       "a",
		`return null`:                   "null",
		`return -0.5`:                   "-0.5",
		`return 2n ** 70n`:              "1180591620717411303424n",
		`return () => 1`:                "[Function]",
		`return {a: [1, "b"], f() {}}`:  "{\n  \"a\": [\n    1,\n    \"b\"\n  ],\n  \"f\": \"[Function]\"\n}",
		`return new Map([["a", 1n]])`:   "[\n  [\n    \"a\",\n    \"1n\"\n  ]\n]",
		`return new Uint8Array([1, 2])`: "[\n  1,\n  2\n]",
		`const a = {}; a.a = a; const b = {}; return [a, b, b]`: "[\n  {\n    \"a\": \"[Circular]\"\n  },\n  {},\n  {}\n]",
		`return Symbol("s")`: "Symbol(s)",
		`console.log("a", 1, {b: 2}); console.warn([]); console.error(new Error("x").message); console.info(); console.debug(undefined, null)`:                    "[LOG] a 1 {\n  \"b\": 2\n}\n[WARN] []\n[ERROR] x\n[INFO] \n[DEBUG] undefined null\nundefined",
		`return await new Promise((r) => setTimeout(r, 5, "later"))`:                                                                                              "later",
		`const said = []; setTimeout(() => said.push(2), 20); setTimeout(() => said.push(1), 1); await new Promise((r) => setTimeout(r, 25)); return said.join()`: "1,2",
		`let n = 0; return await new Promise((r) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); r(n); } }, 1) })`:                        "3",
		`const id = setTimeout(() => console.log("no"), 1); clearTimeout(id); await new Promise((r) => setTimeout(r, 3))`:                                         "undefined",
		`setTimeout(() => { throw new TypeError("late") }, 0); await new Promise((r) => setTimeout(r, 5)); return 1`:                                              "[ERROR] Uncaught TypeError: late",
		`await new Promise(() => {})`: "failed: Error: Promise did not resolve: nothing is left that could resolve it",
		`throw new RangeError("no")`:  "failed: RangeError: no",
		`throw "plain"`:               "failed: plain",
		`x = 1`:                       "failed: ReferenceError: 'x' is not defined",
		"const a = 1;\nconst b = ;":   "failed: SyntaxError: unexpected token in expression: ';' (line 2)",
		`try { halt("enough") } catch { console.log("caught") } finally { console.log("finally") }`: "[ERROR] enough\nfailed: Halted",
		`await null; halt({a: 1})`: "[ERROR] {\n  \"a\": 1\n}\nfailed: Halted",
		`return new TextDecoder().decode(new TextEncoder().encode("zwölf 🦓")) + new TextEncoder().encode("é").length`: "zwölf 🦓2",
		`return new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97, 0xff]).subarray(1)).length`:            "4",
		`return new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([0xff]))`:                               "failed: TypeError: the bytes aren't UTF-8",
		`return btoa("\xff\0a") + atob(" /wBh\n").length + atob(btoa("ab"))`:                                          "/wBh3ab",
		`return btoa("€")`: "failed: Error: InvalidCharacterError: btoa takes characters up to U+00FF",
		`return atob("!")`: "failed: Error: InvalidCharacterError: the text isn't base64",
		`return [typeof fetch, typeof require, typeof process, typeof fs, typeof __file, typeof __halt, typeof std, typeof os, self === globalThis]`: "[\n  \"undefined\",\n  \"undefined\",\n  \"undefined\",\n  \"undefined\",\n  \"undefined\",\n  \"undefined\",\n  \"undefined\",\n  \"undefined\",\n  true\n]",
		`return await import("std")`:    "failed: ReferenceError: could not load module 'std'",
		`return new Date(0).toString()`: "Thu Jan 01 1970 00:00:00 GMT+0000",
		`let said = ""; queueMicrotask(() => said += "b"); said += "a"; await null; return said + (performance.now() >= 0)`: "abtrue",
	} {
		t.Run(code[:min(len(code), 30)], func(t *testing.T) {
			t.Parallel()
			got := run(t, Program{Code: code})
			if i := strings.Index(got, "\n    at "); i > 0 { // where: the next test looks at that
				got = got[:i]
			}
			if got != want {
				t.Errorf("%s\nsays\n%s\nwant\n%s", code, got, want)
			}
		})
	}
}

// Errors name the line of the program.
func TestLines(t *testing.T) {
	t.Parallel()
	if got := run(t, Program{Code: "const a = 1;\nfunction f() {\n  return a.b.c;\n}\nf();"}); !strings.Contains(got, "TypeError: cannot read property 'c' of undefined\n    at f (<eval>:3:") {
		t.Error(got)
	}
}

// Libraries share the global scope, in their order; one that fails is told of and stops nothing.
func TestLibraries(t *testing.T) {
	t.Parallel()
	got := run(t, Program{Code: "console.log(twice(4)); return typeof broken", Libraries: []Library{
		{"a.js", "function twice(x) { return x * factor }\nvar factor = 1"}, {"b.js", "factor = 2; console.log('ready')"}, {"c.js", "nothing()\nvar broken = 1"}, {"d.js", "halt.x ="},
	}})
	want := "b.js [LOG] ready\nc.js [ERROR] It failed, and the program runs without the rest of it: ReferenceError: 'nothing' is not defined\n"
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "d.js [ERROR] ") || !strings.HasSuffix(got, "\n[LOG] 8\nundefined") {
		t.Error(got)
	}
}

// shelf are files in memory.
type shelf struct {
	mu    sync.Mutex
	files map[string]string
	asked []string
}

func (s *shelf) do(_ context.Context, c FileCall) (FileAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSpace(c.Op+" "+c.Path+" "+c.To))
	text, there := s.files[c.Path]
	switch {
	case c.Op == "write":
		s.files[c.Path] = string(c.Data)
	case c.Op == "exists":
		return FileAnswer{Exists: there}, nil
	case c.Op == "readdir":
		return FileAnswer{Names: slices.Sorted(maps.Keys(s.files))}, nil
	case c.Path == "/broken":
		return FileAnswer{}, errors.New("the disk is gone")
	case !there:
		return FileAnswer{}, &FileError{"ENOENT", "no such file or directory, '" + c.Path + "'"}
	case c.Op == "read":
		return FileAnswer{Data: []byte(text)}, nil
	case c.Op == "stat":
		return FileAnswer{Stat: &Stat{Size: int64(len(text)), Modified: 5, MIME: "text/plain"}}, nil
	}
	return FileAnswer{}, nil
}

// Each call of fs reaches the caller, with bytes as they are, and errors can be caught.
func TestFiles(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	s := &shelf{files: map[string]string{"/a": "zwölf", "/all": string(all)}}
	got := run(t, Program{Files: s.do, Code: `
		console.log(await fs.readFile("/a", "utf8"), (await fs.readFile("/a")).byteLength, await fs.readFile("/a", {encoding: "utf-8"}));
		const all = new Uint8Array(await fs.readFile("/all"));
		console.log(all.every((b, i) => b === i), all.length);
		await fs.writeFile("/b", "text\u0000 🦓");
		await fs.writeFile("/view", all.subarray(250, 253));
		await fs.writeFile("/buffer", all.buffer);
		console.log(await fs.exists("/a"), await fs.exists("/x"), await fs.readdir("/"), await fs.stat("/a"));
		await fs.mkdir("/a"); await fs.unlink("/a"); await fs.rmdir("/a"); await fs.rename("/a", "/c");
		for (const f of [() => fs.readFile("/x"), () => fs.stat("/broken"), () => fs.writeFile("/y", 5), () => fs.readFile(7), () => fs.rename("/a"), () => fs.readFile("/a", "latin1")])
			try { await f(); console.log("no error") } catch (e) { console.log(e.name, e.message, e.code, e.path) }`})
	want := `[LOG] zwölf 6 zwölf
[LOG] true 256
[LOG] true false [
  "/a",
  "/all",
  "/b",
  "/buffer",
  "/view"
] {
  "isFile": true,
  "isDirectory": false,
  "size": 6,
  "readonly": false,
  "mtime": 5,
  "isBinary": false,
  "mime": "text/plain"
}
[LOG] Error ENOENT: no such file or directory, '/x' ENOENT /x
[LOG] Error EIO: the disk is gone EIO /broken
[LOG] Error EINVAL: invalid argument, data must be string or buffer, '/y' EINVAL undefined
[LOG] TypeError the path must be a string undefined undefined
[LOG] TypeError the path must be a string undefined undefined
[LOG] RangeError the encoding latin1 isn't known: there is utf-8 undefined undefined
undefined`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if s.files["/b"] != "text\x00 🦓" || s.files["/view"] != string(all[250:253]) || s.files["/buffer"] != string(all) {
		t.Errorf("written: %q", s.files)
	}
	if last := s.asked[len(s.asked)-7:]; !slices.Equal(last, []string{"mkdir /a", "unlink /a", "rmdir /a", "rename /a /c", "read /x", "stat /broken", "read /a"}) {
		t.Errorf("asked: %q", last)
	}
}

// Whatever a program does, it ends in time, and what it printed and wrote before stays.
func TestEndless(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, p := range map[string]Program{
		"loop":     {Code: `for (;;);`},
		"caught":   {Code: `try { for (;;); } catch { return "caught" } finally { return "finally" }`},
		"promises": {Code: `for (;;) await null`},
		"chain":    {Code: `const again = () => Promise.resolve().then(again); await again()`},
		"timers":   {Code: `await new Promise(() => setInterval(() => {}, 1))`},
		"far":      {Code: `await new Promise((r) => setTimeout(r, 1e9))`},
		"pattern":  {Code: `return /^(a+)+$/.test("a".repeat(50) + "b")`},
		"library":  {Libraries: []Library{{"a.js", `for (;;);`}}},
		"async":    {Libraries: []Library{{"a.js", `(async () => { for (;;) await null })()`}}},
		"thenable": {Code: `return {then() { for (;;); }}`},
		"getter":   {Code: `return {get a() { for (;;); }}`},
		"proxy":    {Code: `throw new Proxy({}, {get() { for (;;); }})`},
		"sort":     {Code: `for (;;) [3, 1, 2].sort(() => { for (;;); })`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{files: map[string]string{}}
			p.Files, p.Time = s.do, 300*time.Millisecond
			p.Code = "console.log('begins'); await fs.writeFile('/a', 'kept'); " + p.Code
			began := time.Now()
			got := run(t, p)
			if !strings.HasSuffix(got, "failed: Error: Execution timeout (0.3s)") || time.Since(began) > MaxTime/2 {
				t.Errorf("after %v: %s", time.Since(began), got)
			}
			if p.Libraries == nil && (s.files["/a"] != "kept" || !strings.HasPrefix(got, "[LOG] begins\n")) {
				t.Errorf("kept %q: %s", s.files, got)
			}
		})
	}
}

// A program that doesn't end is stopped; [TestEndless] has more of them.
func TestStops(t *testing.T) {
	t.Parallel()
	if got := run(t, Program{Code: `try { for (;;); } catch { return "caught" }`, Time: 200 * time.Millisecond}); got != "failed: Error: Execution timeout (0.2s)" {
		t.Error(got)
	}
}

// What would need too much is an error of the program.
func TestTooMuch(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for code, want := range map[string]string{
		`const all = []; for (;;) all.push(new Array(1000).fill("x"))`:       "out of memory",
		`let s = "x"; for (;;) s += s`:                                       "",
		`return new ArrayBuffer(1e10)`:                                       "RangeError",
		`const f = () => f() + 1; return f()`:                                "stack overflow",
		`return JSON.stringify(Array(1e7).fill(1))`:                          "out of memory",
		`let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a`:        "InternalError",
		`await Promise.all(Array.from({length: 1e7}, async () => null))`:     "memory",
		`return (2n ** 100000000n).toString()`:                               "",
		`const e = new Error("x"); e.stack = "y".repeat(1e6); throw e`:       "Error: x\nyyy",
		`return "x".repeat(1e6)`:                                             "",
		`class A extends Error { get message() { throw this } } throw new A`: "",
	} {
		t.Run(code[:20], func(t *testing.T) {
			t.Parallel()
			if got := run(t, Program{Code: code, Time: 20 * time.Second}); !strings.Contains(got, want) || len(got) > MaxOutput+100 {
				t.Errorf("%s: %d bytes: %.200s", code, len(got), got)
			}
		})
	}
}

// Of what is printed the beginning is kept.
func TestOutput(t *testing.T) {
	t.Parallel()
	o, err := New(1).Run(t.Context(), Program{Code: `for (let i = 0; i < 100; i++) console.log("x".repeat(1e5)); console.log("end"); return "y".repeat(3e5)`})
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, l := range o.Printed {
		kept += len(l.Text)
	}
	if kept > MaxOutput || kept < MaxOutput-10 || kept+o.Dropped != 1e7+3 || !strings.HasSuffix(o.Result, "\n[37856 more bytes]") {
		t.Errorf("%d bytes kept, %d dropped, result %q", kept, o.Dropped, o.Result[len(o.Result)-30:])
	}
}

// A program ends with its context, and one that waits for its turn does, too.
func TestCanceled(t *testing.T) {
	t.Parallel()
	e := New(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	began := make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := e.Run(ctx, Program{Code: `await fs.exists("/"); for (;;);`, Files: func(context.Context, FileCall) (FileAnswer, error) {
			close(began)
			return FileAnswer{}, nil
		}})
		first <- err
	}()
	<-began
	waits, giveUp := context.WithCancelCause(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := e.Run(waits, Program{Code: `return 1`})
		second <- err
	}()
	giveUp(stopped)
	if err := <-second; !errors.Is(err, stopped) {
		t.Errorf("the one that waits: %v", err)
	}
	cancel(stopped)
	if err := <-first; !errors.Is(err, stopped) {
		t.Errorf("the one that runs: %v", err)
	}
	if got, err := e.Run(t.Context(), Program{Code: `return 1`}); err != nil || got.Result != "1" {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}

// BenchmarkRun is what a call costs: a process, an engine and the scope of a program.
func BenchmarkRun(b *testing.B) {
	e := New(1)
	for b.Loop() {
		if o, err := e.Run(b.Context(), Program{Code: `return 1`}); err != nil || o.Result != "1" {
			b.Fatal(o, err)
		}
	}
}
