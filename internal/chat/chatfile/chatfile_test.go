package chatfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is a chat as lines: who said what, after what, and when.
func told(c Chat) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q %s-%s", c.Kind, c.ID, c.Title, c.Created.Format("15:04:05"), c.Modified.Format("15:04:05"))
	if c.Pinned {
		b.WriteString(" pinned")
	}
	fmt.Fprintf(&b, " %v omitted %d\n", c.Tags, c.Omitted)
	for _, m := range c.Messages {
		now := ""
		if m.ID == c.Current {
			now = " <"
		}
		fmt.Fprintf(&b, "%s>%s %s %s %s %q%s\n", m.Parent, m.ID, m.Role, m.Model, m.Time.UTC().Format("15:04:05"), m.Said(), now)
	}
	return b.String()
}

func readAll(t *testing.T, data []byte) (chats, failures []string) {
	t.Helper()
	f, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.All(func(n int, c Chat, err error) error {
		if err != nil {
			failures = append(failures, fmt.Sprintf("%d %q %v", n, c.Title, err))
		} else {
			chats = append(chats, told(c))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if f.Chats != len(chats)+len(failures) {
		t.Errorf("Chats = %d, want %d", f.Chats, len(chats)+len(failures))
	}
	return chats, failures
}

func TestKinds(t *testing.T) {
	for kind, want := range map[string]string{
		ChatGPT: `chatgpt gpt-1 "A walk" 22:13:20-22:15:00 [] omitted 3
>u1 user  22:13:21 "Where is this?\n\nAttached: hill.png"
u1>a1 assistant gpt-4o 22:13:22 "In Wales."
u1>a2 assistant gpt-5 22:13:25 "In Scotland." <
`,
		Claude: `claude cl-1 "Notes" 10:00:00-10:05:00 [] omitted 2
` + ">m1 user  10:00:01 \"Read this.\\n\\nAttached: a.txt\\n\\n```\\nalpha\\n```\\n\\nAttached: photo.jpg\"" + `
m1>m2 assistant  10:00:02 "It says alpha."
m2>m3 user  10:00:03 "Shorter."
m3>m4 assistant  10:00:04 "Alpha." <
`,
		OpenWebUI: `openwebui ow-1 "Bread" 16:00:00-16:00:30 pinned [kitchen] omitted 1
>q user  16:00:00 "How long?\n\nAttached: recipe.pdf"
q>a assistant llama3 16:00:10 "An hour."
q>b assistant qwen3 16:00:20 "Forty minutes." <
a>c user  16:00:30 "Thanks"
`,
		LibreChat: `librechat lc-1 "Tides" 03:04:05-03:04:09 [] omitted 1
>1 user  03:04:05 "Why tides?\n\nAttached: sea.png"
1>2 assistant gpt-4 03:04:06 "The moon."
1>3 assistant gpt-4o-mini 03:04:09 "Moon and sun." <
`,
		Burin: `burin b-1 "Own" 03:04:05-03:04:09 [t] omitted 0
>1 user  03:04:05 "Hello"
1>2 assistant anthropic/claude 03:04:06 "Hi" <
1>3 assistant  03:04:07 "Hey\n\nAttached: picture"
`,
	} {
		t.Run(kind, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + kind + ".json")
			if err != nil {
				t.Fatal(err)
			}
			archive := zipped(t, map[string]string{"in/conversations.json": string(data), "user.json": `{"id":1}`, "picture.png": "x"})
			for name, data := range map[string][]byte{"json": data, "zip": archive, "mark": append([]byte("\xef\xbb\xbf"), data...)} {
				chats, failures := readAll(t, data)
				if diff := cmp.Diff([]string{want}, chats); diff != "" || failures != nil {
					t.Errorf("%s: %v\n%s", name, failures, diff)
				}
			}
		})
	}
}

// TestDocumentedForm reads the example of docs/serve.md, and writes it as it is.
func TestDocumentedForm(t *testing.T) {
	page, err := os.ReadFile("../../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "```json\n{\n \"format\": \"burin.chat\"")
	example, _, _ = strings.Cut(example, "```")
	if !found {
		t.Fatal("docs/serve.md has no example of a chat")
	}
	const want = `burin b4f0 "Tides" 03:04:05-03:04:09 [sea] omitted 0
>1 user  03:04:05 "Why are there tides?\n\nAttached: sea.png"
1>2 assistant anthropic/claude-opus-4-5 03:04:09 "The moon." <
`
	f, err := Open([]byte(`{"format": "burin.chat"` + example))
	if err != nil {
		t.Fatal(err)
	}
	err = f.All(func(_ int, c Chat, err error) error {
		if err != nil {
			return err
		}
		if got := told(c); got != want {
			t.Errorf("%s", cmp.Diff(want, got))
		}
		var again bytes.Buffer
		if err := Write(&again, c); err != nil {
			return err
		}
		if chats, _ := readAll(t, again.Bytes()); len(chats) != 1 || chats[0] != want {
			t.Errorf("written and read again: %v", chats)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLibreChatAnswersWithinQuestions(t *testing.T) {
	chats, failures := readAll(t, []byte(`{"conversationId":"n","title":"Nested","messages":[{"messageId":"1","text":"Q","isCreatedByUser":true,"createdAt":"2025-01-01T00:00:00Z",
		"children":[{"messageId":"2","text":"A","sender":"x","isCreatedByUser":false,"createdAt":"2025-01-01T00:00:01Z","children":[]}]}]}`))
	want := "librechat n \"Nested\" 00:00:00-00:00:01 [] omitted 0\n>1 user  00:00:00 \"Q\"\n1>2 assistant  00:00:01 \"A\" <\n"
	if diff := cmp.Diff([]string{want}, chats); diff != "" || failures != nil {
		t.Errorf("%v\n%s", failures, diff)
	}
}

func TestOneDamagedChatDoesNotStopOthers(t *testing.T) {
	good := `{"format":"burin.chat","version":1,"id":"g","title":"Good","messages":[{"id":"1","role":"user","text":"a"}]}`
	bad := []string{
		`{"title":"Circle","mapping":{"a":{"parent":"b","message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}},"b":{"parent":"a","message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}}}}`,
		`{"format":"burin.chat","version":9,"title":"Later","messages":[]}`,
		`{"format":"burin.chat","version":1,"title":"Role","messages":[{"id":"1","role":"system","text":"a"}]}`,
		`{"format":"burin.chat","version":1,"title":"Twice","messages":[{"id":"1","role":"user","text":"a"},{"id":"1","role":"user","text":"a"}]}`,
		`{"uuid":"e","name":"Empty","chat_messages":[]}`,
		`{"title":"Types","mapping":{"a":{"parent":7}}}`,
		`{"title":"Other","lines":[]}`,
		`{"broken` + "\x00" + `":}`,
		`7`,
	}
	chats, failures := readAll(t, []byte("["+strings.Join(bad, ",")+","+good+"]"))
	if len(chats) != 1 || len(failures) != len(bad) {
		t.Fatalf("%d chats, failures:\n%s", len(chats), strings.Join(failures, "\n"))
	}
	for i, want := range []string{`1 "Circle" its messages answer each other in a circle`, `2 "Later" version 9`, `3 "Role" message 1: role "system"`, `4 "Twice" message 2 has no id`, `5 "Empty" nothing was said in it`, `6 "Types" parent: a number isn't possible there`, `7 "Other" it isn't a chat`, `8 "" it isn't a chat`, `9 "" it isn't`} {
		if !strings.HasPrefix(failures[i], want) {
			t.Errorf("%s\nwant %s", failures[i], want)
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"empty":   {"", "it is empty"},
		"text":    {"hello", "neither JSON nor a ZIP archive"},
		"none":    {"[]", "there are no chats in it"},
		"other":   {`[{"a":1},{"b":2}]`, "isn't an export of"},
		"cut":     {`[{"mapping":{}},{"mapping`, "ends too early"},
		"after":   {`{"mapping":{}} {`, "something follows"},
		"between": {`[{"mapping":{}} {`, "between two chats"},
		"comma":   {`[{"mapping":{}},]`, "where a chat is expected"},
		"zip":     {"PK\x03\x04 and no more", "the archive is damaged"},
		"no json": {string(zipped(t, map[string]string{"a.txt": "x"})), "the archive has no JSON"},
	} {
		if _, err := Open([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLongChat reads a chain of parts that are left out, which must not take the square of its time.
func TestLongChat(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"title":"Long","mapping":{"x0":{"parent":null,"message":null}`)
	const n = 60_000
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `,"x%d":{"parent":"x%d","message":null}`, i, i-1)
	}
	fmt.Fprintf(&b, `,"u":{"parent":"x%d","message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}}}}`, n-1)
	if chats, failures := readAll(t, []byte(b.String())); len(chats) != 1 || !strings.Contains(chats[0], "\n>u user") {
		t.Errorf("%v %v", chats, failures)
	}
}

func TestTooLargeChatIsNamed(t *testing.T) {
	n, long := 0, 0
	err := values(strings.NewReader(`[{"a":"`+strings.Repeat("x", 100)+`"},{"b":1}]`), 50, func(value []byte, tooLong bool) error {
		n++
		long += len(value) * b2i(tooLong)
		return nil
	})
	if err != nil || n != 2 || long != 50 {
		t.Errorf("%d values, %d bytes of the long one: %v", n, long, err)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzOpen(f *testing.F) {
	for _, kind := range []string{Burin, ChatGPT, Claude, OpenWebUI, LibreChat} {
		data, err := os.ReadFile("testdata/" + kind + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(zipped(f, map[string]string{"a.json": `{"mapping":{}}`}))
	f.Fuzz(func(t *testing.T, data []byte) {
		is, err := Open(data)
		if err != nil {
			return
		}
		_ = is.All(func(_ int, c Chat, err error) error {
			if err != nil {
				return nil
			}
			known := map[string]bool{"": true}
			for _, m := range c.Messages {
				if !known[m.Parent] {
					t.Fatalf("%q comes before %q", m.ID, m.Parent)
				}
				known[m.ID] = true
			}
			if !known[c.Current] {
				t.Fatalf("current %q", c.Current)
			}
			return nil
		})
	})
}
