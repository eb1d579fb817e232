package snap_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/compact/snap"
	"github.com/burin-dev/burin/transcript"
	"github.com/google/go-cmp/cmp"
)

func seeing(provider, id string, api llm.API) *llm.Model {
	return &llm.Model{Provider: provider, ID: id, API: api, Input: []llm.Modality{llm.ModalityText, llm.ModalityImage}}
}

func claude() *llm.Model { return seeing("anthropic", "claude-sonnet-4-5", llm.APIAnthropic) }

func plan(t testing.TB, path []transcript.Entry) *compact.Cut {
	t.Helper()
	s := compact.Defaults()
	s.KeepRecentTokens = 200
	c, err := compact.Plan(path, compact.PlanOptions{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func archive(t *testing.T, e transcript.Entry) snap.Archive {
	t.Helper()
	var p struct {
		Snap *snap.Archive `json:"snapcompact"`
	}
	if err := json.Unmarshal(e.PreserveData, &p); err != nil || p.Snap == nil {
		t.Fatalf("no archive in %.100s: %v", e.PreserveData, err)
	}
	return *p.Snap
}

func compacted(t *testing.T, path []transcript.Entry, m *llm.Model, o snap.Options) transcript.Entry {
	t.Helper()
	e, err := snap.Compact(context.Background(), plan(t, path), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCompact(t *testing.T) {
	path := conversation(12)
	o := snap.Options{Summary: compact.SummaryOptions{
		Keep:     compact.Keep{Goal: "bound it"},
		Preserve: json.RawMessage(`{"mine":1,"openaiRemoteCompaction":{}}`),
	}}
	e := compacted(t, path, claude(), o)
	a := archive(t, e)
	if len(a.Frames) == 0 || a.TruncatedChars != 0 || a.TextTail != "" {
		t.Fatalf("%d frames, %d characters truncated, tail %.20q", len(a.Frames), a.TruncatedChars, a.TextTail)
	}
	if want := fmt.Sprintf("Archived %d chars of history onto %d snapcompact frame(s)", a.TotalChars, len(a.Frames)); e.ShortSummary != want {
		t.Errorf("short summary %q, want %q", e.ShortSummary, want)
	}
	for _, want := range []string{"[Assistant tool calls]", "Rows of 136 characters", "bound it", "<files>", "=== burin dropped ==="} {
		if !strings.Contains(e.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, e.Summary)
		}
	}
	var kept map[string]json.RawMessage
	if err := json.Unmarshal(e.PreserveData, &kept); err != nil || len(kept) != 2 || string(kept["mine"]) != "1" {
		t.Errorf("what others keep became %d keys (%v)", len(kept), err)
	}
	if diff := cmp.Diff(e, compacted(t, path, claude(), o)); diff != "" {
		t.Error("the same history gives another entry")
	}
	blocks, err := snap.Images(&e)
	if err != nil || len(blocks) != len(a.Frames) {
		t.Fatalf("%d images, %v", len(blocks), err)
	}
	if m := blocks[0].(llm.Image); m.MIME != "image/png" || !bytes.Equal(m.Data, a.Frames[0].Data) {
		t.Error("the first image is not the first frame")
	}
}

func TestCompactRefuses(t *testing.T) {
	path := conversation(6)
	var foreign branch
	for range 8 {
		foreign.user(strings.Repeat("слова ", 200))
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		path  []transcript.Entry
		model *llm.Model
		o     snap.Options
		want  error
		text  string
	}{
		{name: "blind", path: path, model: &llm.Model{Input: []llm.Modality{llm.ModalityText}}, want: snap.ErrNoImages},
		{name: "no model", path: path, want: snap.ErrNoImages},
		{name: "script", path: foreign.path, model: claude(), want: snap.ErrScript},
		{name: "canceled", ctx: canceled, path: path, model: claude(), want: context.Canceled},
		{name: "shape", path: path, model: claude(), o: snap.Options{Shape: "8x8r-bw"}, text: "want auto or 5x8-bw"},
		{name: "preserve", path: path, model: claude(), o: snap.Options{Summary: compact.SummaryOptions{Preserve: json.RawMessage(`[]`)}}, text: "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := tt.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			_, err := snap.Compact(ctx, plan(t, tt.path), tt.model, tt.o)
			if tt.want != nil && !errors.Is(err, tt.want) || tt.want == nil && (err == nil || !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("error %v, want %v%s", err, tt.want, tt.text)
			}
		})
	}
}

// Ten compactions stay within the budget, keep the first frame, and lose no count.
func TestFramesAreCarriedForward(t *testing.T) {
	b := branch{path: conversation(8)}
	var first []byte
	before := snap.Archive{}
	for n := range 10 {
		for _, e := range conversation(3 + 9*(n%3)) {
			b.add(e)
		}
		e := compacted(t, b.path, claude(), snap.Options{MaxFrames: 6})
		b.add(e)
		a := archive(t, e)
		if len(a.Frames) > 6 {
			t.Fatalf("compaction %d has %d frames", n, len(a.Frames))
		}
		if n == 0 {
			first = a.Frames[0].Data
		}
		if !bytes.Equal(a.Frames[0].Data, first) {
			t.Fatalf("compaction %d has lost the first frame", n)
		}
		sum := a.TruncatedChars + len([]rune(strings.NewReplacer("\x0e", "", "\x0f", "").Replace(a.TextTail)))
		for _, f := range a.Frames {
			sum += f.Chars
		}
		// Each elision puts some words of its own into the archive, and each tail a line end.
		if d := sum - a.TotalChars; d < 0 || d > 40*(n+1) {
			t.Errorf("compaction %d: %d characters are somewhere, %d were put in", n, sum, a.TotalChars)
		}
		if a.TotalChars <= before.TotalChars || a.TruncatedChars < before.TruncatedChars {
			t.Errorf("compaction %d: counts go back", n)
		}
		before = a
	}
	if before.TruncatedChars == 0 {
		t.Error("nothing faded: the test shows nothing")
	}
}

func TestTailBecomesFrames(t *testing.T) {
	b := branch{path: conversation(40)}
	e := compacted(t, b.path, claude(), snap.Options{MaxFrames: 2})
	a := archive(t, e)
	if len(a.Frames) != 2 || a.TextTail == "" || a.TruncatedChars == 0 || !strings.Contains(e.ShortSummary, "chars as text") {
		t.Fatalf("%d frames, %d truncated, %s", len(a.Frames), a.TruncatedChars, e.ShortSummary)
	}
	if !strings.Contains(e.Summary, "\n| [User]: Please look at") || !strings.Contains(e.Summary, "are gone") {
		t.Error("the summary does not show the tail or what is gone")
	}
	b.add(e)
	for _, more := range conversation(2) {
		b.add(more)
	}
	next := archive(t, compacted(t, b.path, claude(), snap.Options{}))
	if len(next.Frames) < 4 || next.TextTail != "" {
		t.Fatalf("%d frames, tail %.20q", len(next.Frames), next.TextTail)
	}
}

func TestSummaryInWordsIsPrinted(t *testing.T) {
	var b branch
	b.user("first")
	b.user("second")
	b.add(transcript.Entry{Type: transcript.TypeCompaction, Summary: "They\n[User] spoke.\n\n<files>\na.go (Read)\n</files>", FirstKeptID: b.path[1].ID})
	for range 10 {
		b.user(strings.Repeat("more words ", 40))
	}
	e := compacted(t, b.path, claude(), snap.Options{})
	s, err := snap.ShapeFor(claude(), "")
	if err != nil {
		t.Fatal(err)
	}
	var said []transcript.Entry
	for _, e := range plan(t, b.path).History {
		if e.Type == transcript.TypeMessage {
			said = append(said, e)
		}
	}
	text := "[Summary of earlier history]█ They█ [User] spoke.█[Recent conversation]█" + snap.Serialize(said, snap.SerializeOptions{})
	want, err := snap.Render(context.Background(), text, s, snap.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := archive(t, e); !bytes.Equal(got.Frames[0].Data, want.Frames[0].Data) {
		t.Errorf("the frame does not begin with the summary: %d characters, want %d", got.Frames[0].Chars, want.Frames[0].Chars)
	}
}

// What was pruned after the cut is printed in its short form too.
func TestPruneBehindTheCut(t *testing.T) {
	b := branch{path: conversation(4)}
	whole := archive(t, compacted(t, b.path, claude(), snap.Options{}))
	b.prune(transcript.Prune{Entries: []transcript.Short{{EntryID: b.path[2].ID, Text: "left out"}}})
	short := archive(t, compacted(t, b.path, claude(), snap.Options{}))
	if d := whole.TotalChars - short.TotalChars; d < 1900 {
		t.Errorf("the prune saves %d characters", d)
	}
}

func TestShapeFor(t *testing.T) {
	for _, tt := range []struct {
		id, name string
		api      llm.API
		want     string
		size     int
		tokens   int
		detail   string
	}{
		{"claude-opus-4-7", "", llm.APIAnthropic, "8on16-bw", 1932, 5000, ""},
		{"anthropic/claude-mythos-1", "auto", llm.APICompletions, "8on16-bw", 1932, 4466, "original"},
		{"claude-sonnet-4-5", "", llm.APIVertex, "8on16-bw", 1092, 1120, ""},
		{"gemini-3-pro", "", llm.APIGoogle, "doc-8on16-sent-dim", 2048, 1120, ""},
		{"gpt-5.2", "", llm.APIResponses, "8on16-bw", 1568, 2882, "original"},
		{"Kimi-K2", "", llm.APIAnthropic, "8on16-bw", 1568, 3293, ""},
		{"llava", "", llm.APICompletions, "8on16-bw", 1568, 2882, "original"},
		{"unheard-of", "", llm.APIBedrock, "8on16-bw", 1092, 1598, ""},
		{"claude-opus-4-7", "5x8-sent", llm.APIAnthropic, "5x8-sent", 2576, 5024, ""},
		{"gemini-3-pro", "6x12-dim", llm.APIGoogle, "6x12-dim", 1568, 1120, ""},
	} {
		s, err := snap.ShapeFor(seeing("p", tt.id, tt.api), tt.name)
		if err != nil || s.Name != tt.want || s.Size != tt.size || s.Tokens != tt.tokens || s.Detail != tt.detail {
			t.Errorf("%s over %s: %s of %d pixels for %d tokens %q (%v), want %s %d %d %q",
				tt.id, tt.api, s.Name, s.Size, s.Tokens, s.Detail, err, tt.want, tt.size, tt.tokens, tt.detail)
		}
	}
	if s, err := snap.ShapeFor(nil, "auto"); err != nil || s.Name != "8on16-bw" {
		t.Errorf("for no model: %s, %v", s.Name, err)
	}
}

// picture is a gray PNG of that size.
func picture(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileArchives(t *testing.T) {
	good := picture(t, 8, 8)
	huge := bytes.Clone(good) // claims 16000×16000 pixels
	binary.BigEndian.PutUint32(huge[16:], 16000)
	binary.BigEndian.PutUint32(huge[20:], 16000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	var deep bytes.Buffer
	if err := png.Encode(&deep, image.NewRGBA64(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	frame := func(data []byte, mime string) snap.Frame {
		return snap.Frame{Data: data, MIMEType: mime, Chars: 10}
	}
	many := make([]snap.Frame, 30)
	for i := range many {
		many[i] = frame(good, "image/png")
	}
	for _, tt := range []struct {
		name   string
		frames any
		want   int
		err    string
	}{
		{"sound", []snap.Frame{frame(good, "image/png")}, 1, ""},
		{"too many", many, 16, "14 pictures of the history are left out"},
		{"another type", []snap.Frame{frame(good, "image/svg+xml"), frame(good, "image/png")}, 1, "picture 1 of the history is left out"},
		{"no picture", []snap.Frame{frame([]byte("GIF89a"), "image/png")}, 0, "picture 1"},
		{"a bomb", []snap.Frame{frame(huge, "image/png")}, 0, "16000x16000 pixels"},
		{"deep", []snap.Frame{frame(deep.Bytes(), "image/png")}, 0, "16 bits"},
		{"cut", []snap.Frame{frame(good[:len(good)-20], "image/png")}, 0, "decode it"},
		{"too large", []snap.Frame{frame(append(bytes.Clone(good), make([]byte, 5<<20)...), "image/png")}, 0, "bytes (at most"},
		{"not base64", []any{map[string]any{"data": "%%%", "mimeType": "image/png"}, frame(good, "image/png")}, 1, "picture 1"},
		{"no list", "frames", 0, "read the pictures"},
		{"nothing", nil, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := json.Marshal(map[string]any{"snapcompact": map[string]any{"frames": tt.frames, "totalChars": -5, "truncatedChars": 1 << 60}})
			if err != nil {
				t.Fatal(err)
			}
			e := transcript.Entry{Type: transcript.TypeCompaction, PreserveData: raw}
			blocks, err := snap.Images(&e)
			if len(blocks) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d images and error %v, want %d and %q", len(blocks), err, tt.want, tt.err)
			}
			b := branch{path: conversation(2)}
			e.Summary, e.FirstKeptID = "# History as pictures", b.path[1].ID
			b.add(e)
			for _, more := range conversation(4) {
				b.add(more)
			}
			a := archive(t, compacted(t, b.path, claude(), snap.Options{}))
			if a.TotalChars <= 0 || a.TruncatedChars < 0 || len(a.Frames) > 8 {
				t.Errorf("carried on: %d frames, %d of %d characters truncated", len(a.Frames), a.TruncatedChars, a.TotalChars)
			}
		})
	}
	for _, raw := range []string{"", "null", "[1]", `{"other":{}}`, `{"snapcompact":null}`} {
		if blocks, err := snap.Images(&transcript.Entry{PreserveData: json.RawMessage(raw)}); len(blocks) != 0 || err != nil {
			t.Errorf("%q gives %d images and %v", raw, len(blocks), err)
		}
	}
}

func FuzzImages(f *testing.F) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		f.Fatal(err)
	}
	sound, err := json.Marshal(map[string]any{"snapcompact": snap.Archive{Frames: []snap.Frame{{Data: b.Bytes(), MIMEType: "image/png"}}, TextTail: "x"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add([]byte(`{"snapcompact":{"frames":[{},null,1]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		blocks, _ := snap.Images(&transcript.Entry{PreserveData: raw})
		for _, b := range blocks {
			if _, err := png.Decode(bytes.NewReader(b.(llm.Image).Data)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
