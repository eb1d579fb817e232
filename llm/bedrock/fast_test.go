package bedrock

import (
	"encoding/json"
	"testing"
)

// FuzzPlainDelta holds the reader without a JSON decoder against the decoder:
// what it accepts must mean the same.
func FuzzPlainDelta(f *testing.F) {
	for _, s := range []string{
		`{"contentBlockIndex":0,"delta":{"text":"hi"},"p":"abc"}`,
		`{"contentBlockIndex":12,"delta":{"reasoningContent":{"text":"漢字 🦊"}}}`,
		`{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{}"}},"p":""}`,
		`{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"a\":1}"}},"p":"x"}`,
		`{"contentBlockIndex":007,"delta":{"text":"hi"}}`,
		`{"contentBlockIndex":0,"delta":{"text":"a","text":"b"}}`,
		`{"contentBlockIndex":0,"delta":{"text":"a"},"delta":{"text":"b"}}`,
		`{"contentBlockIndex":0,"delta":{"text":"a"},"p":"x"} `,
		`{"contentBlockIndex":0,"delta":{"text":"` + "\xff" + `"}}`,
		`{"contentBlockIndex":0,"delta":{"text":"` + "\x1f" + `"}}`,
		`{"contentBlockIndex":99999999999999999999,"delta":{"text":"a"}}`,
	} {
		f.Add([]byte(s))
	}
	var buf []byte
	f.Fuzz(func(t *testing.T, data []byte) {
		p, ok := plainDelta(data, &buf)
		if !ok {
			return
		}
		var d blockDelta
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%q was read as %q: %v", data, p.text, err)
		}
		var want string
		var kind blockKind
		switch x := d.Delta; {
		case x.Text != nil:
			want, kind = *x.Text, textKind
		case x.ReasoningContent != nil:
			want, kind = x.ReasoningContent.Text, thinkingKind
		case x.ToolUse != nil:
			want, kind = x.ToolUse.Input, callKind
		}
		if string(p.text) != want || p.kind != kind || p.index != d.ContentBlockIndex {
			t.Fatalf("%q: got %d %d %q, want %d %d %q", data, p.index, p.kind, p.text, d.ContentBlockIndex, kind, want)
		}
	})
}

// TestPlainDelta is there so that the fast way is really taken.
func TestPlainDelta(t *testing.T) {
	for data, want := range map[string]bool{
		`{"contentBlockIndex":0,"delta":{"text":"hi"},"p":"abc"}`:                true,
		`{"contentBlockIndex":0,"delta":{"text":"hi"}}`:                          true,
		`{"contentBlockIndex":3,"delta":{"reasoningContent":{"text":"x"}}}`:      true,
		`{"contentBlockIndex":3,"delta":{"toolUse":{"input":"1"}},"p":"q"}`:      true,
		`{"contentBlockIndex":0,"delta":{"text":"a\n"}}`:                         true,
		`{"contentBlockIndex":0,"delta":{"text":"\ud83d\ude00"}}`:                false,
		`{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"x"}}}`: false,
		`{"contentBlockIndex":0,"delta":{"text":"a` + "\x1f" + `"}}`:             false,
		`{"contentBlockIndex":0,"delta":{"text":"a` + "\xc3" + `"}}`:             false,
		`{ "contentBlockIndex":0,"delta":{"text":"hi"}}`:                         false,
		`{"contentBlockIndex":0,"delta":{"text":"hi"},"extra":1}`:                false,
	} {
		if _, ok := plainDelta([]byte(data), new([]byte)); ok != want {
			t.Errorf("%s: %v", data, ok)
		}
	}
}
