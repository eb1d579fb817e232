package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// The loop of private projects is taken from the program, from the folder next to it or from share, and
// never from a burin of another version.
func TestLoopOfPrivateProjects(t *testing.T) {
	const version = "v1.2.3 0123456789ab"
	root := t.TempDir()
	program := filepath.Join(root, "bin", "burin")
	has := func(dir, of string) string {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{loopProgram: "loop in " + filepath.Base(filepath.Dir(dir)), versionFile: of + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	is := func(want string, built fs.FS) {
		t.Helper()
		files, err := loopFolder.of(built, program, version)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(files, loopProgram); err != nil || string(got) != want {
			t.Errorf("found %q, %v, want %q", got, err, want)
		}
	}
	none := fstest.MapFS{}
	if _, err := loopFolder.of(none, program, version); !isAbsent(err) || !strings.Contains(err.Error(), "docs/private.md") {
		t.Errorf("where there is none: %v", err)
	}
	has(filepath.Join(root, "share", "burin", "private"), version)
	is("loop in burin", none)
	beside := has(filepath.Join(root, "bin", "private"), version)
	is("loop in bin", none)
	is("its own", fstest.MapFS{loopProgram: {Data: []byte("its own")}})

	has(beside, "v1.2.2")
	if _, err := loopFolder.of(none, program, version); !isAbsent(err) || !strings.Contains(err.Error(), "is of another version") || strings.Contains(err.Error(), root) {
		t.Errorf("one of another version: %v", err)
	}
	// One without a version was built by hand.
	if err := os.Remove(filepath.Join(beside, versionFile)); err != nil {
		t.Fatal(err)
	}
	is("loop in bin", none)
}

// Only the worker of a project with models in the browser may load the library, from where it is, and reaches what
// Hugging Face sends browsers on to. What stands for the browser is no place.
func TestWorkerPolicy(t *testing.T) {
	const here = "https://burin.example"
	for _, tt := range []struct {
		origins, script, connect, scripts string
	}{
		{"", "'wasm-unsafe-eval'", "'self'", "worker.js"},
		{"https://api.example", "'wasm-unsafe-eval'", "'self' https://api.example", "worker.js"},
		{"https://huggingface.co", "'wasm-unsafe-eval'", "'self' https://huggingface.co", "worker.js"},
		{"https://w.example https://webllm.invalid", "'wasm-unsafe-eval' https://burin.example/private/webllm.js", "'self' https://w.example", "webllm.js worker.js"},
		{
			"https://huggingface.co https://webllm.invalid", "'wasm-unsafe-eval' https://burin.example/private/webllm.js",
			"'self' https://huggingface.co https://*.hf.co https://raw.githubusercontent.com", "webllm.js worker.js",
		},
	} {
		policy, scripts := workerPolicy(here, strings.Fields(tt.origins))
		if want := "default-src 'none'; script-src " + tt.script + "; connect-src " + tt.connect; policy != want || strings.Join(scripts, " ") != tt.scripts {
			t.Errorf("%q has the policy\n%s, and %q, want\n%s, and %s", tt.origins, policy, scripts, want, tt.scripts)
		}
	}
}
