package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// Whatever shows a private key, no line of it reaches the model, a file of burin's
// or an export; and a key that the model writes by its placeholders is the key.
func TestPrivateKeysStayHome(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(edKey, "me")
	if err != nil {
		t.Fatal(err)
	}
	rsaText := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}))
	edText := string(pem.EncodeToMemory(block))

	bash := func(line string) llmtest.Turn {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		return callTurn("bash", string(args))
	}
	placeholders := regexp.MustCompile(`\d+\|(SECRET\.PRIVATE_KEY\.[a-z0-9]{10}|-----[A-Z ]+-----)`)
	turns := []llmtest.Turn{
		callTurn("read", `{"path":"tls/k.pem"}`), // its placeholders are taken for the last call
		{Reply: func(q *llm.Request) []llm.Event {
			var lines []string
			for _, m := range q.Messages {
				for _, b := range m.Content {
					if text, ok := b.(llm.Text); ok && len(lines) == 0 {
						for _, found := range placeholders.FindAllStringSubmatch(text.Text, -1) {
							lines = append(lines, found[1])
						}
					}
				}
			}
			args, err := json.Marshal(map[string]string{"path": "copy.pem", "content": strings.Join(lines, "\n") + "\n"})
			if err != nil {
				return nil
			}
			return llmtest.Call("w", "write", string(args))
		}},
		callTurn("read", `{"path":"tls/k.pem:10-20"}`), callTurn("read", `{"path":"tls/k.pem:3,7,25-26"}`), callTurn("read", `{"path":"tls/k.pem:raw"}`),
		callTurn("read", `{"path":"id_ed25519:3-4"}`), callTurn("read", `{"path":"values.yml:4-6"}`), callTurn("read", `{"path":"key.json"}`),
		callTurn("grep", `{"pattern":"[A-Za-z0-9+/]{30}"}`), callTurn("grep", `{"pattern":"^M","path":"tls","context":2}`), callTurn("grep", `{"pattern":"==?$"}`),
		bash("cat -n tls/k.pem"), bash("sed -n 5,9p tls/k.pem; sed -n 3p id_ed25519"), bash("head -c 500 tls/k.pem | tail -c 300"), bash("base64 tls/k.pem"), bash("base64 -w0 id_ed25519"),
		bash("nl tls/k.pem | tail -20"), bash("grep -rn . tls"), bash("diff /dev/null tls/k.pem"), bash("fold -w 31 tls/k.pem"), bash("cut -c9- tls/*.pem"), bash("sed 's/^/> /' id_ed25519"),
		bash("find . -name '*.pem' -exec sed -n 8p {} +"), bash("awk '{print FILENAME\":\"FNR\": \"$0}' tls/k.pem id_ed25519"), bash("cat key.json"), bash("tr -d '\\n' < tls/k.pem"),
		bash("while read -r l; do echo \"line: $l\"; sleep 0.01; done < tls/k.pem"), bash("seq 20000; cat tls/k.pem; seq 20000; cat tls/k.pem"),
		{Parts: []llmtest.Part{{Text: "done"}}},
	}
	script := llmtest.New(llmtest.Script{Turns: turns}, openai.ResponsesServer{})
	defer script.Close()
	var mu sync.Mutex
	var requests [][]byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		requests = append(requests, body)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		script.ServeHTTP(w, r)
	}))
	defer srv.Close()

	cmd := command(t, "-p", "look at @id_ed25519", "--mode", "json", "--approval", "full", "--model", "openai/gpt-5.1", "--base-url", srv.URL+"/v1")
	home := cmd.Dir
	work := filepath.Join(home, "work")
	asJSON, err := json.Marshal(map[string]string{"type": "service_account", "private_key": rsaText})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"tls/k.pem": rsaText, "id_ed25519": edText, "key.json": string(asJSON),
		"values.yml": "tls:\n  key: |\n    " + strings.ReplaceAll(rsaText, "\n", "\n    ") + "\nname: x\n",
	}
	for name, text := range files {
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Dir = work
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-x")
	var events, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &events, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v %s", err, &errs)
	}
	if len(requests) != len(turns) {
		t.Fatalf("%d requests, want %d: %s", len(requests), len(turns), &errs)
	}

	var pieces []string
	for _, text := range []string{rsaText, edText, base64.StdEncoding.EncodeToString([]byte(rsaText)), base64.StdEncoding.EncodeToString([]byte(edText))} {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "-----") {
				continue
			}
			for i := 0; i+20 <= len(line); i += 5 {
				// What all keys of a kind begin with, and an empty comment, is no secret.
				if piece := line[i : i+20]; !strings.Contains(piece, "AAAAA") && !strings.Contains(piece, "b3BlbnNzaC1rZXk") && !strings.Contains(piece, "LS0tLS1") && len(pieces) < 5000 {
					pieces = append(pieces, piece)
				}
			}
		}
	}
	clean := func(where string, text []byte) {
		text = bytes.ReplaceAll(text, []byte(`\/`), []byte("/"))
		for _, piece := range pieces {
			if at := bytes.Index(text, []byte(piece)); at >= 0 {
				t.Errorf("%s: %q of a key in %q", where, piece, text[max(0, at-200):min(len(text), at+60)])
				return
			}
		}
	}
	clean("the events", events.Bytes())
	for i, r := range requests[1:] {
		clean("request of call "+turnName(turns[i]), r)
	}
	clean("the first request", requests[0])
	err = filepath.WalkDir(filepath.Join(home, "burin"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		clean(path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	export := exec.Command(cmd.Path, "sessions")
	export.Args = append([]string{"burin"}, "sessions", "export", lastSession(t, home), "--format", "html", "-o", filepath.Join(home, "out.html"))
	export.Dir, export.Env = work, cmd.Env
	if out, err := export.CombinedOutput(); err != nil {
		t.Fatalf("export: %v %s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(home, "out.html"))
	if err != nil {
		t.Fatal(err)
	}
	clean("the export", page)
	if back, err := os.ReadFile(filepath.Join(work, "copy.pem")); err != nil || string(back) != rsaText {
		t.Errorf("the key that was written by placeholders is %q, %v", back, err)
	}
}

func turnName(t llmtest.Turn) string {
	if len(t.Parts) == 0 {
		return "write"
	}
	return t.Parts[0].Call + t.Parts[0].Args
}

// lastSession is the id of the only session.
func lastSession(t *testing.T, home string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, "burin", "sessions", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("sessions: %v, %v", found, err)
	}
	name := strings.TrimSuffix(filepath.Base(found[0]), ".jsonl")
	return name[strings.LastIndexByte(name, '_')+1:]
}
