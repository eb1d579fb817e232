package transcript_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func put(t *testing.T, b *transcript.Blobs, data string) string {
	t.Helper()
	ref, err := b.Put([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func blobPath(dir, ref string) string {
	return filepath.Join(dir, strings.TrimPrefix(ref, "blob:sha256:"))
}

// age makes a blob as old as a collection wants it.
func age(t *testing.T, dir, ref string) {
	t.Helper()
	then := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(blobPath(dir, ref), then, then); err != nil {
		t.Fatal(err)
	}
}

func roots(paths ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, p := range paths {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func TestBlobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agent", "blobs")
	b := transcript.NewBlobs(dir)
	for _, data := range []string{"", "x", strings.Repeat("picture\x00\n", 100_000)} {
		ref := put(t, b, data)
		if want := fmt.Sprintf("blob:sha256:%x", sha256.Sum256([]byte(data))); ref != want || !transcript.IsRef(ref) {
			t.Fatalf("reference %s, want %s", ref, want)
		}
		if again := put(t, b, data); again != ref {
			t.Errorf("the second Put gave %s", again)
		}
		got, err := b.Get(ref)
		if err != nil || string(got) != data {
			t.Errorf("%d bytes came back of %d, error %v", len(got), len(data), err)
		}
		info, err := os.Stat(blobPath(dir, ref))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("mode %o, want 600", info.Mode().Perm())
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("%d files for three blobs, error %v", len(files), err)
	}
}

func TestBlobErrors(t *testing.T) {
	dir := t.TempDir()
	b := transcript.NewBlobs(dir)
	missing := fmt.Sprintf("blob:sha256:%064x", 7)
	if _, err := b.Get(missing); !errors.Is(err, transcript.ErrNoBlob) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing blob: %v", err)
	}
	for _, ref := range []string{"", "blob:sha256:", "blob:sha256:../../etc/passwd", strings.ToUpper(missing), missing + "0", missing[:len(missing)-1] + "g"} {
		if _, err := b.Get(ref); err == nil || errors.Is(err, transcript.ErrNoBlob) || transcript.IsRef(ref) {
			t.Errorf("%q passes for a reference: %v", ref, err)
		}
	}
	ref := put(t, b, "the picture")
	for name, spoil := range map[string]string{"changed": "the Picture", "cut": "the pict", "grown": "the picture!", "emptied": ""} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(blobPath(dir, ref), []byte(spoil), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Get(ref); !errors.Is(err, transcript.ErrBadBlob) || got != nil {
				t.Errorf("a damaged blob gave %q, %v", got, err)
			}
			put(t, b, "the picture")
			if got, err := b.Get(ref); err != nil || string(got) != "the picture" {
				t.Errorf("putting it again did not mend it: %q, %v", got, err)
			}
		})
	}
}

func TestBlobsWhereNothingCanBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := transcript.NewBlobs(file).Put([]byte("x")); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line", err)
	}
}

func TestCollect(t *testing.T) {
	ignore := cmpopts.IgnoreFields(transcript.CollectReport{}, "Bytes", "RemovedBytes", "Blocked")
	type place struct {
		dir, session string
		used, free   string
		blobs        *transcript.Blobs
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, p *place)
		more    string // another root
		options transcript.CollectOptions
		want    transcript.CollectReport
		blocked string
	}{
		{name: "unused", want: transcript.CollectReport{Sessions: 1, Blobs: 2, Removed: 1}},
		{
			name: "dry run", options: transcript.CollectOptions{DryRun: true},
			want: transcript.CollectReport{Sessions: 1, Blobs: 2, Removed: 1},
		},
		{
			name: "young",
			prepare: func(t *testing.T, p *place) {
				now := time.Now()
				if err := os.Chtimes(blobPath(p.dir, p.free), now, now); err != nil {
					t.Fatal(err)
				}
			},
			want: transcript.CollectReport{Sessions: 1, Blobs: 2, Young: 1},
		},
		{
			name:    "put again",
			prepare: func(t *testing.T, p *place) { put(t, p.blobs, "free") },
			want:    transcript.CollectReport{Sessions: 1, Blobs: 2, Young: 1},
		},
		{
			name: "in a damaged line",
			prepare: func(t *testing.T, p *place) {
				line := "{\"type\":\x00\xff garbage" + p.free + `","parentId`
				if err := os.WriteFile(p.session, []byte(p.used+"\n"+line), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			want: transcript.CollectReport{Sessions: 1, Blobs: 2},
		},
		{
			name: "a session that is gone", more: "gone.jsonl", blocked: "gone.jsonl",
			want: transcript.CollectReport{Sessions: 1},
		},
		{
			name: "a directory", more: ".", blocked: "session",
			want: transcript.CollectReport{Sessions: 1},
		},
		{
			name: "sealed", blocked: "encrypted",
			prepare: func(t *testing.T, p *place) {
				if err := os.WriteFile(p.session, []byte(`{"type":"sealed","v":1}`+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "sealed behind a torn line", blocked: "encrypted",
			prepare: func(t *testing.T, p *place) {
				if err := os.WriteFile(p.session, []byte("{\"ty\n"+`{"type":"sealed","v":1}`+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "a reader", more: "db:1",
			options: transcript.CollectOptions{Open: openMemory(`{"image":"blob:sha256:%x"}`)},
			want:    transcript.CollectReport{Sessions: 2, Blobs: 2},
		},
		{
			name: "a reader that cannot read it all", more: "db:1", blocked: "encrypted",
			options: transcript.CollectOptions{Open: openMemory(`{"type":"sealed" %x`)},
			want:    transcript.CollectReport{Sessions: 1},
		},
		{
			name: "what a killed collection left",
			prepare: func(t *testing.T, p *place) {
				for _, ref := range []string{p.used, p.free} {
					if err := os.Rename(blobPath(p.dir, ref), blobPath(p.dir, ref)+".gone"); err != nil {
						t.Fatal(err)
					}
					if _, err := p.blobs.Get(ref); err != nil {
						t.Errorf("a blob that a killed collection left: %v", err)
					}
				}
			},
			want: transcript.CollectReport{Sessions: 1, Blobs: 2, Removed: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &place{dir: t.TempDir(), session: filepath.Join(t.TempDir(), "s.jsonl")}
			p.blobs = transcript.NewBlobs(p.dir)
			p.used, p.free = put(t, p.blobs, "used"), put(t, p.blobs, "free")
			age(t, p.dir, p.used)
			age(t, p.dir, p.free)
			if err := os.WriteFile(p.session, []byte(`{"image":"`+p.used+`"}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.prepare != nil {
				tt.prepare(t, p)
			}
			all := []string{p.session}
			if tt.more != "" {
				all = append([]string{tt.more}, all...)
			}
			got, err := p.blobs.Collect(context.Background(), roots(all...), tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, ignore); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if blocked := fmt.Sprint(got.Blocked); tt.blocked != "" && !strings.Contains(blocked, tt.blocked) || tt.blocked == "" && len(got.Blocked) > 0 {
				t.Errorf("blocked by %s, want %q", blocked, tt.blocked)
			}
			if _, err := p.blobs.Get(p.used); err != nil {
				t.Errorf("a blob in use: %v", err)
			}
			_, err = p.blobs.Get(p.free)
			if removed := tt.want.Removed > 0 && !tt.options.DryRun; removed != errors.Is(err, transcript.ErrNoBlob) {
				t.Errorf("the unused blob: %v, want it removed: %v", err, removed)
			}
		})
	}
}

// openMemory opens roots that begin with db: as sessions of one record, in which
// the hash of the blob "free" stands.
func openMemory(record string) func(string) (transcript.Store, error) {
	return func(root string) (transcript.Store, error) {
		if !strings.HasPrefix(root, "db:") {
			return nil, nil
		}
		m := new(transcript.Memory)
		_, err := m.Append(fmt.Appendf(nil, record, sha256.Sum256([]byte("free"))))
		return m, err
	}
}

func TestCollectIsStopped(t *testing.T) {
	dir := t.TempDir()
	b := transcript.NewBlobs(dir)
	ref := put(t, b, "free")
	age(t, dir, ref)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := func(yield func(string, error) bool) {
		cancel()
		yield(filepath.Join(dir, "s.jsonl"), nil)
	}
	if _, err := b.Collect(ctx, stopped, transcript.CollectOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	broken := func(yield func(string, error) bool) { yield("folder", fs.ErrPermission) }
	if r, err := b.Collect(context.Background(), broken, transcript.CollectOptions{}); err != nil || len(r.Blocked) != 1 {
		t.Errorf("%+v, error %v", r, err)
	}
	second := func(func(string, error) bool) {
		if _, err := b.Collect(context.Background(), roots(), transcript.CollectOptions{}); !errors.Is(err, transcript.ErrCollecting) {
			t.Errorf("two collections at a time: %v", err)
		}
	}
	if _, err := b.Collect(context.Background(), second, transcript.CollectOptions{DryRun: true}); err != nil {
		t.Error(err)
	}
	if _, err := b.Get(ref); err != nil {
		t.Error(err)
	}
	none := transcript.NewBlobs(filepath.Join(dir, "none"))
	if r, err := none.Collect(context.Background(), roots(), transcript.CollectOptions{}); err != nil || r.Blobs != 0 {
		t.Errorf("a folder that was never made: %+v, %v", r, err)
	}
}

// A hash is found wherever it stands, also across the pieces in which a long file
// is read, and behind a run of digits that only looks like one.
func TestCollectFindsHashes(t *testing.T) {
	dir := t.TempDir()
	b := transcript.NewBlobs(dir)
	ref := put(t, b, "used")
	hash := strings.TrimPrefix(ref, "blob:sha256:")
	session := filepath.Join(t.TempDir(), "s.jsonl")
	const piece = 256 << 10
	for _, filler := range []string{"-", "a", "f0-", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefg"} {
		for _, at := range []int{0, 1, 62, 63, 64, 65, 127, 128, 1000, piece - 65, piece - 64, piece - 63, piece - 1, piece, piece + 1, 2*piece - 63 - 30} {
			text := strings.Repeat(filler, at/len(filler)+1)[:at] + hash
			if err := os.WriteFile(session, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			age(t, dir, ref)
			r, err := b.Collect(context.Background(), roots(session), transcript.CollectOptions{DryRun: true})
			if err != nil || r.Removed != 0 || r.Blobs != 1 {
				t.Errorf("behind %d bytes of %q: %+v, %v", at, filler, r, err)
			}
		}
	}
}

// Sessions are written, and blobs put, while others collect: whatever a session
// refers to is there.
func TestCollectBesideWriters(t *testing.T) {
	dir, sessions := t.TempDir(), t.TempDir()
	b := transcript.NewBlobs(dir)
	wrote, stop := make(chan struct{}), make(chan struct{})
	all := func(yield func(string, error) bool) {
		paths, err := filepath.Glob(filepath.Join(sessions, "*.jsonl"))
		if err != nil {
			yield("sessions", err)
		}
		for _, p := range paths {
			if !yield(p, nil) {
				return
			}
		}
		for range 20 { // references that come when their session has been read
			select {
			case <-wrote:
			case <-stop:
				return
			}
		}
	}
	// A day goes by between a collection and the next, but not between a Put and the
	// line that refers to it.
	var day sync.RWMutex
	var collecting, writing sync.WaitGroup
	removed, rounds := 0, 0
	collecting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			day.Lock()
			ageAll(t, dir)
			day.Unlock()
			r, err := b.Collect(context.Background(), all, transcript.CollectOptions{MinAge: time.Hour})
			if err != nil {
				t.Error(err)
				return
			}
			removed += r.Removed
			rounds++
		}
	})
	refs := make([][]string, 3)
	for w := range refs {
		writing.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 2))
			for i := range 400 {
				day.RLock()
				ref, err := b.Put(fmt.Append(nil, rng.IntN(300)))
				if err == nil && rng.IntN(3) == 0 {
					refs[w] = append(refs[w], ref)
					err = appendLine(filepath.Join(sessions, fmt.Sprintf("%d-%d.jsonl", w, i%7)), `{"image":"`+ref+`"}`)
				}
				day.RUnlock()
				select {
				case wrote <- struct{}{}:
				default:
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	collecting.Wait()
	ageAll(t, dir)
	last, err := b.Collect(context.Background(), all, transcript.CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	removed += last.Removed
	for _, ref := range slices.Concat(refs...) {
		if _, err := b.Get(ref); err != nil {
			t.Error(err)
		}
	}
	if removed == 0 {
		t.Errorf("%d collections removed nothing: the test proves nothing", rounds)
	}
}

// A blob that is put again after a collection has found it unused stays.
func TestCollectPutBetweenLookAndRemoval(t *testing.T) {
	dir := t.TempDir()
	b := transcript.NewBlobs(dir)
	ref := put(t, b, "picture")
	hash := strings.TrimPrefix(ref, "blob:sha256:")
	age(t, dir, ref)
	put(t, b, "picture")
	if removed, err := transcript.RemoveUnused(b, hash); removed || err != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, err := b.Get(ref); err != nil {
		t.Error(err)
	}
	age(t, dir, ref)
	if removed, err := transcript.RemoveUnused(b, hash); !removed || err != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, err := b.Get(ref); !errors.Is(err, transcript.ErrNoBlob) {
		t.Error(err)
	}
}

func ageAll(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	then := time.Now().Add(-48 * time.Hour)
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(dir, e.Name()), then, then); err != nil {
			t.Error(err)
		}
	}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func BenchmarkBlobPut(b *testing.B) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	blobs := transcript.NewBlobs(b.TempDir())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() { // there already, as when a session is opened and forked
		if _, err := blobs.Put(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	dir := b.TempDir()
	blobs := transcript.NewBlobs(dir)
	for i := range 100 {
		if _, err := blobs.Put(fmt.Append(nil, i)); err != nil {
			b.Fatal(err)
		}
	}
	session := filepath.Join(b.TempDir(), "s.jsonl")
	text := strings.Repeat(`{"type":"message","message":{"role":"user","content":"the quick brown fox and a decade of fed beef"}}`+"\n", 200_000)
	if err := os.WriteFile(session, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blobs.Collect(context.Background(), roots(session), transcript.CollectOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// letters keeps pieces in memory.
type letters map[string][]byte

func (l letters) Put(data []byte) (string, error) {
	if bytes.HasPrefix(data, []byte("refused")) {
		return "", errors.New("no room")
	}
	id := fmt.Sprintf("%08x", crc32.ChecksumIEEE(data))
	l[id] = data
	return id, nil
}

func (l letters) Get(id string) ([]byte, error) {
	if data, ok := l[id]; ok {
		return data, nil
	}
	return nil, transcript.ErrNoBlob
}

// Where a session has no folder, its blobs are kept by another one.
func TestBlobsElsewhere(t *testing.T) {
	kept, store := letters{}, new(transcript.Memory)
	o := transcript.Options{Blobs: transcript.KeptBy(kept)}
	l, err := transcript.Create(store, transcript.Header{}, o)
	if err != nil {
		t.Fatal(err)
	}
	picture, refused := bytes.Repeat([]byte("picture"), 1000), bytes.Repeat([]byte("refused"), 1000)
	const text = "blob:attachment:abc" // of somebody who writes like that
	id, err := l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: llm.RoleUser, Content: []llm.Block{
		llm.Image{MIME: "image/png", Data: picture}, llm.Text{Text: text}, llm.Image{MIME: "image/png", Data: refused},
	}}})
	if err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a piece was not kept: %v", err)
	}
	check := func(lost int) {
		t.Helper()
		e, err := l.Entry(id)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := e.Message.Content[0].(llm.Image)
		last, _ := e.Message.Content[2].(llm.Image)
		if second, _ := e.Message.Content[1].(llm.Text); second.Text != text || !bytes.Equal(last.Data, refused) || bytes.Equal(first.Data, picture) == (lost > 0) || len(e.Lost) != lost {
			t.Errorf("read %+v, lost %v", e.Message.Content[1], e.Lost)
		}
	}
	check(0)
	if len(kept) != 1 {
		t.Errorf("%d pieces", len(kept))
	}
	clear(kept)
	check(1)
	for ref, want := range map[string]bool{"blob:attachment:0a": true, "blob:attachment:": false, "blob:attachment:A": false, "blob:attachment:a/b": false, "attachment:0a": false, "blob:attachment:" + strings.Repeat("a", 65): false} {
		if transcript.IsRef(ref) != want {
			t.Errorf("%q: %v", ref, !want)
		}
	}
	if _, err := transcript.NewBlobs(t.TempDir()).Get("blob:attachment:0a"); !errors.Is(err, transcript.ErrNoBlob) {
		t.Errorf("of files: %v", err)
	}
}
