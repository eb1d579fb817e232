package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/sqlfile"
)

const (
	gremlinKey    = "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq"
	gremlinTenant = "8d6f32246b7c9461f3f808b41d218a3dc01eb5250944aa0e7ec92e4abbd3e3ec"
)

// ask asks as a client of GremlinOFA does.
func askStorage(t *testing.T, base, password, verb, path, body string, head ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), verb, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(gremlinTenant, password)
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(data)
}

// The storage is off unless a setting says so, serves registered keys only, pages of the addresses in the
// settings, and leaves no id of a tenant in logs and files; SBE-05, SBE-09, SBE-10.
func TestServeStorage(t *testing.T) {
	t.Parallel()
	off := serveIt(t, machine(t, newBrain(t), rpcConfig))
	for _, path := range []string{"/storage/health", "/storage/api/projects"} {
		if answer, body := askStorage(t, off.url, "", "GET", path, ""); answer.StatusCode != 401 || !strings.Contains(body, `"title"`) {
			t.Errorf("while it is off, %s: %d %s", path, answer.StatusCode, body)
		}
	}
	if status, body := off.do(off.request("GET", "/v1/storage/tenants", "")); status != 404 || !bytes.Contains(body, []byte("server.storage")) {
		t.Errorf("%d %s", status, body)
	}

	const page = "https://chat.example.org"
	cmd := machine(t, newBrain(t), rpcConfig+"server: {storage: true, storageOrigins: ['"+page+"/', 'https://other.example:8443']}\n")
	c := serveIt(t, cmd, "--log")
	if answer, body := askStorage(t, c.url, "", "GET", "/storage/health", "", "Origin", page); answer.StatusCode != 200 || body != `{"status":"ok"}` || answer.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("%d %s %v", answer.StatusCode, body, answer.Header)
	}
	if answer, _ := askStorage(t, c.url, "", "OPTIONS", "/storage/api/projects", "", "Origin", page); answer.StatusCode != 204 {
		t.Errorf("a preflight: %d", answer.StatusCode)
	}
	if answer, _ := askStorage(t, c.url, "", "OPTIONS", "/storage/api/projects", "", "Origin", "https://evil.example"); answer.StatusCode != 401 || answer.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight of another page: %d %v", answer.StatusCode, answer.Header)
	}
	refused := func(password string) {
		t.Helper()
		answer, body := askStorage(t, c.url, password, "GET", "/storage/api/projects", "")
		if answer.StatusCode != 401 || !strings.HasPrefix(body, `{"error":"`) || answer.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("with %q: %d %s %v", password, answer.StatusCode, body, answer.Header)
		}
	}
	refused("")
	hash := gremlin.PasswordHash("hunter2")
	register := func(body string) (int, string) {
		status, said := c.do(c.request("POST", "/v1/storage/tenants", body))
		return status, string(said)
	}
	for _, bad := range []string{`{"name":"x","tenant":"` + gremlinTenant[1:] + `"}`, `{"tenant":"` + gremlinTenant + `"}`, `{"name":"x","tenant":"` + gremlinTenant + `","password":"hunter2"}`} {
		if status, said := register(bad); status != 400 || strings.Contains(said, gremlinTenant[1:]) {
			t.Errorf("%s: %d %s", bad, status, said)
		}
	}
	if status, said := register(`{"name":"laptop","tenant":"` + gremlinTenant + `","password":"` + hash + `"}`); status != 201 || said != "{\"id\":1}\n" {
		t.Errorf("%d %s", status, said)
	}
	refused("")
	refused("hunter2")
	if answer, body := askStorage(t, c.url, hash, "PUT", "/storage/api/projects/api_default_(x)", `{"encryptedData":"d1234"}`, "Origin", page); answer.StatusCode != 204 {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	if answer, body := askStorage(t, c.url, hash, "GET", "/storage/api/projects/_export", ""); body != `{"rows":[{"id":"api_default_(x)","encryptedData":"d1234"}],"hasMore":false}` {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	status, said := c.do(c.request("GET", "/v1/storage/tenants", ""))
	var list []gremlin.Tenant
	if err := json.Unmarshal(said, &list); err != nil || status != 200 || len(list) != 1 || list[0].Name != "laptop" || !list[0].Password || list[0].Rows != 1 || list[0].Bytes != 5 {
		t.Errorf("%d %s", status, said)
	}
	if listed := run(t, cmd, "admin", "storage", "list"); !strings.Contains(listed, "laptop") {
		t.Errorf("the list:\n%s", listed)
	}
	for path, want := range map[string]int{"2": 404, "x": 404, "1": 200} {
		if status, said := c.do(c.request("POST", "/v1/storage/tenants/"+path+"/remove", "")); status != want {
			t.Errorf("remove %s: %d %s", path, status, said)
		}
	}
	refused(hash)
	c.end()
	log := c.said.String()
	if !strings.Contains(log, `"route":"/storage/"`) || strings.Contains(log, gremlinTenant[:16]) || strings.Contains(log, "api_default") || strings.Contains(log, hash[:16]) {
		t.Errorf("the log:\n%s", log)
	}
	searchFolder(t, filepath.Dir(cmd.Dir), gremlinTenant[:16], hash[:16])

	broken := again(machine(t, newBrain(t), rpcConfig+"server: {storage: true, storageOrigins: ['chat.example.org']}\n"))
	broken.Args = append(broken.Args, "serve", "--check", "--addr", "127.0.0.1:0")
	if out, err := broken.CombinedOutput(); err == nil || !strings.Contains(string(out), `server.storageOrigins: "chat.example.org" is not an address`) {
		t.Errorf("%v %s", err, out)
	}
}

// searchFolder looks for words in all files.
func searchFolder(t *testing.T, dir string, words ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, w := range words {
			if bytes.Contains(data, []byte(w)) {
				t.Errorf("%s has %s", path, w)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// storageOnly starts the storage server alone, and gives its address.
func storageOnly(t *testing.T, cmd *exec.Cmd, environment ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd = again(cmd)
	cmd.Args = append(cmd.Args, "serve", "--storage-only")
	cmd.Env = append(slices.Clone(cmd.Env), environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

// In the place of the original it uses the original's file and variables, leaves nothing else on the disk, and
// ends with 0; SBE-01, SBE-02, SBE-36, ACC-06.
func TestStorageOnly(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	first := command(t)
	file := filepath.Join(first.Dir, "kept", "data.db")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sqlfile.Open(file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	// As the original makes it, with what it wrote.
	if _, err := db.Exec(`PRAGMA journal_mode = WAL;
		CREATE TABLE records (userId TEXT NOT NULL, tableName TEXT NOT NULL, id TEXT NOT NULL, encryptedData TEXT NOT NULL, timestamp TEXT, parentId TEXT, unencryptedData TEXT, PRIMARY KEY (userId, tableName, id));
		CREATE INDEX idx_user_table_parent_ts ON records(userId, tableName, parentId, timestamp);
		INSERT INTO records VALUES ('` + gremlinTenant + `', 'messages', 'b', 'db', '2024', 'c', NULL), ('` + gremlinTenant + `', 'messages', 'a', 'da', '2024', 'c', '{"x":1}'), ('other', 'messages', 'a', 'x', NULL, NULL, NULL)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, at := storageOnly(t, first, "PORT=0", "DB_PATH="+file, "CORS_ORIGIN= https://a.example , https://b.example")
	for path, want := range map[string]string{
		"/health":                  `{"status":"ok"}`,
		"/api/messages?parentId=c": `[{"encryptedData":"da","unencryptedData":"{\"x\":1}"},{"encryptedData":"db"}]`,
		"/api/messages?parentId=c&orderDirection=asc": `[{"encryptedData":"db"},{"encryptedData":"da","unencryptedData":"{\"x\":1}"}]`,
		"/api/messages/a":            `{"encryptedData":"da","timestamp":"2024","unencryptedData":"{\"x\":1}"}`,
		"/api/messages/_export":      `{"rows":[{"id":"a","encryptedData":"da","unencryptedData":"{\"x\":1}","timestamp":"2024","parentId":"c"},{"id":"b","encryptedData":"db","timestamp":"2024","parentId":"c"}],"hasMore":false}`,
		"/api/messages/_batch?ids=b": `{"rows":[{"id":"b","encryptedData":"db","timestamp":"2024","parentId":"c"}]}`,
		"/api/messages/_count":       `{"count":2}`,
	} {
		answer, body := askStorage(t, at, "any password", "GET", path, "", "Origin", "https://b.example")
		if body != want || answer.Header.Get("Access-Control-Allow-Origin") != "https://b.example" {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
	if answer, _ := askStorage(t, at, "", "PUT", "/api/chats/x", `{"encryptedData":"d"}`); answer.StatusCode != 204 {
		t.Errorf("%d", answer.StatusCode)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	var there []string
	for _, dir := range []string{first.Dir, filepath.Dir(file)} {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			there = append(there, f.Name())
		}
	}
	if got := fmt.Sprint(there); got != "[kept data.db]" {
		t.Errorf("the disk has %s", got)
	}

	_, at = storageOnly(t, first, "PORT=0", "DB_PATH="+file, "CORS_ORIGIN=*")
	if answer, body := askStorage(t, at, "", "GET", "/api/chats/x", ""); body != `{"encryptedData":"d"}` || answer.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s %v", body, answer.Header)
	}
	for _, tt := range []struct{ environment, args, want string }{
		{"PORT=x", "", `PORT: "x" is not a port`},
		{"PORT=0", "--addr 0.0.0.0:0", "--addr"},
		{"PORT=0", "--tls-cert a --tls-key b", "--storage-only"},
		{"CORS_ORIGIN=example.org", "", "CORS_ORIGIN"},
		{"DB_PATH=" + first.Dir, "", "open "},
	} {
		bad := again(first)
		bad.Args = append(append(bad.Args, "serve", "--storage-only", "--check"), strings.Fields(tt.args)...)
		bad.Env = append(slices.Clone(bad.Env), tt.environment)
		if out, err := bad.CombinedOutput(); err == nil || !strings.Contains(string(out), tt.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s %s: %v %s", tt.environment, tt.args, err, out)
		}
	}
}

// aBackup writes a backup of messages, as many bytes as are asked for at least.
func aBackup(t *testing.T, path string, size int) (rows int) {
	t.Helper()
	raw := make([]byte, 32)
	for i := range raw {
		raw[i] = byte(i)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	n, _ := fmt.Fprintln(w, "tableName,id,encryptedData,timestamp,parentId,unencryptedData")
	plain := make([]byte, 200_000)
	for n < size {
		nonce := make([]byte, 12)
		_, _ = rand.Read(nonce)
		_, _ = rand.Read(plain[:64])
		length := 500 + rows%20*300
		if rows%500 == 0 {
			length = len(plain)
		}
		sealed := aead.Seal(nonce, nonce, plain[:length], nil)
		wrote, _ := fmt.Fprintf(w, "messages,msg_%07d,%s,2026-02-15T10:00:00.%03dZ,chat_%d,\n", rows, base64.StdEncoding.EncodeToString(sealed), rows%1000, rows%100)
		n += wrote
		rows++
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

const (
	storedSize   = 60 << 20 // bytes of a backup; BURIN_STORED_MB gives another size
	storedMemory = 90 << 20 // bytes that burin may take for it, however large it is
)

// A backup of any size is imported, served and exported with the same memory; EXP-07, EXP-19.
func TestStorageMemory(t *testing.T) {
	pacetest.Costly(t)
	size := pacetest.Long(storedSize/4, storedSize, storedSize)
	if mb := os.Getenv("BURIN_STORED_MB"); mb != "" {
		if _, err := fmt.Sscan(mb, &size); err != nil {
			t.Fatal(err)
		}
		size <<= 20
	}
	first := command(t)
	backup, key, other := filepath.Join(first.Dir, "backup.csv"), filepath.Join(first.Dir, "key"), filepath.Join(first.Dir, "other")
	rows := aBackup(t, backup, size)
	writeFile(t, key, []byte(gremlinKey), 0o600)
	writeFile(t, other, []byte(strings.ToUpper(strings.Repeat("b", 52))), 0o600)
	limit := max(storedMemory, ownPeakMemory(t)) // a process has counted what this one held when it started
	if raced {
		limit *= 2
	}
	storage := func(args ...string) string {
		t.Helper()
		c := again(first)
		c.Args = append(append(c.Args, "admin", "storage"), args...)
		began := time.Now()
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		most := peakMemory(c.ProcessState)
		t.Logf("%s: %v, %d MB", args[0], time.Since(began).Round(time.Millisecond), most>>20)
		if most > limit {
			t.Errorf("%s took %d MB", args[0], most>>20)
		}
		return string(out)
	}
	want := fmt.Sprintf("%d rows imported, 0 skipped.", rows)
	if out := storage("import", backup, "--key-file", key); !strings.Contains(out, want) {
		t.Error(out)
	}
	if out := storage("import", backup, "--key-file", other, "--from-key-file", key); !strings.Contains(out, want) {
		t.Error(out)
	}
	exported := filepath.Join(first.Dir, "exported.csv")
	storage("export", exported, "--key-file", key)
	if out, err := exec.Command("cmp", backup, exported).CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	storage("add", "x", "--key-file", key)
	writeFile(t, filepath.Join(first.Dir, "burin", "config.yml"), []byte("server: {storage: true}\n"), 0o600)
	c := serveIt(t, first)
	r, err := http.NewRequestWithContext(context.Background(), "GET", c.url+"/storage/api/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(gremlinTenant, "")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	// The list goes through without being held on either side.
	dec := json.NewDecoder(answer.Body)
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; dec.More(); n++ {
		var one struct{ EncryptedData string }
		if err := dec.Decode(&one); err != nil || one.EncryptedData == "" {
			t.Fatalf("row %d: %v", n, err)
		}
	}
	if n != rows {
		t.Errorf("%d rows of %d", n, rows)
	}
	if most, ok := procMemory(c.cmd.Process.Pid, "VmHWM:"); ok {
		t.Logf("serve: %d MB", most>>20)
		if most > limit {
			t.Errorf("the server took %d MB", most>>20)
		}
	}
}

// The commands of docs/gremlin.md run as they stand there, one after the other.
func TestGremlinPage(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	text, err := os.ReadFile("../../docs/gremlin.md")
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t)
	writeFile(t, filepath.Join(cmd.Dir, "key.txt"), []byte(gremlinKey+"\n"), 0o600)
	backup, err := os.ReadFile("testdata/script/admin_storage.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(backup), "-- exported.csv --\n")
	rows := strings.SplitAfter(rest, "\n")
	writeFile(t, filepath.Join(cmd.Dir, "backup.csv"), []byte(rows[0]+rows[1]+rows[2]), 0o600)
	ran := 0
	for _, m := range consoleStep.FindAllStringSubmatch(string(text), -1) {
		ran++
		c := again(cmd)
		c.Args = append(c.Args, strings.Fields(m[1])...)
		out, err := c.CombinedOutput()
		want := strings.ReplaceAll(regexp.QuoteMeta(m[2]), "…", ".*")
		if err != nil || !regexp.MustCompile("^"+want+"$").Match(out) {
			t.Errorf("burin %s: %v: the page says\n%s\nit says\n%s", m[1], err, m[2], out)
		}
	}
	if ran != 4 {
		t.Errorf("%d commands ran", ran)
	}
}
