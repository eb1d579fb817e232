package llm_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
)

func TestParseObject(t *testing.T) {
	tests := []struct {
		name, in, want string
		state          llm.ArgsState
	}{
		{"complete", `{"path":"a.go"}`, `{"path":"a.go"}`, llm.ArgsComplete},
		{"spaces around", " {\"a\": 1}\n", `{"a": 1}`, llm.ArgsComplete},
		{"no arguments", "", `{}`, llm.ArgsComplete},
		{"raw newline in a string", "{\"a\":\"x\ny\tz\x01\"}", `{"a":"x\ny\tz\u0001"}`, llm.ArgsRepaired},
		{"lone backslash of a regular expression", `{"re":"\d+\.go"}`, `{"re":"\\d+\\.go"}`, llm.ArgsRepaired},
		{"unfinished unicode escape", `{"a":"\u12"}`, `{"a":"\\u12"}`, llm.ArgsRepaired},
		{"windows path", `{"p":"C:\Users\x"}`, `{"p":"C:\\Users\\x"}`, llm.ArgsRepaired},
		{"legal escapes stay", `{"p":"\"\\\n\u00e9"}`, `{"p":"\"\\\n\u00e9"}`, llm.ArgsComplete},
		{"cut in a string", `{"path":"a`, "", llm.ArgsPartial},
		{"cut after a value", `{"path":"a"`, "", llm.ArgsPartial},
		{"cut after the brace", `{`, "", llm.ArgsPartial},
		{"cut in an escape", `{"path":"a\`, "", llm.ArgsPartial},
		{"two objects", `{"a":1}{"b":2}`, "", llm.ArgsInvalid},
		{"list", `["a"]`, "", llm.ArgsInvalid},
		{"prose", `I will read a.go`, "", llm.ArgsInvalid},
		{"null", `null`, "", llm.ArgsInvalid},
		{"trailing comma", `{"a":1,}`, "", llm.ArgsInvalid},
		{"unquoted key", `{a:1}`, "", llm.ArgsInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, state, err := llm.ParseObject(tt.in)
			if string(got) != tt.want || state != tt.state {
				t.Errorf("ParseObject(%q) = %q, %s; want %q, %s", tt.in, got, state, tt.want, tt.state)
			}
			if runs := state == llm.ArgsComplete || state == llm.ArgsRepaired; runs != (err == nil) {
				t.Errorf("state %s with error %v", state, err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error is not one line: %q", err)
			}
		})
	}
}

func TestDefectNeverRuns(t *testing.T) {
	for _, d := range []llm.Defect{llm.DefectCut, llm.DefectCorrupt} {
		for _, args := range []string{"", "{}", `{"path":"/"}`} {
			c := llm.ToolCall{ID: "1", Name: "delete", Arguments: args, Defect: d}
			if obj, state, err := c.Object(); err == nil {
				t.Errorf("call with defect %s and arguments %q may run: %s, %s", d, args, obj, state)
			}
		}
	}
}

func TestPartialJSON(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"a":{"b":[1,2,{"c":"d`, `{"a":{"b":[1,2,{"c":"d"}]}}`},
		{`{"a":1,"b`, `{"a":1}`},
		{`{"a":1,"b":`, `{"a":1}`},
		{`{"a":1,"b":tr`, `{"a":1}`},
		{`{"a":true`, `{"a":true}`},
		{`{"a":-`, `{}`},
		{`{"a":12`, `{"a":12}`},
		{`{"a":12.`, `{"a":12}`},
		{`{"a":12.5e`, `{"a":12.5}`},
		{`{"a":"x\`, `{"a":"x"}`},
		{`{"a":"x\\`, `{"a":"x\\"}`},
		{`{"a":"x\u00`, `{"a":"x"}`},
		{`{"a":"x\u00e9`, `{"a":"x\u00e9"}`},
		{"{\"a\":\"é\xf0\x9f", `{"a":"é"}`},
		{`[`, `[]`},
		{`{`, `{}`},
		{` `, ``},
		{`"abc`, `"abc"`},
		{`{"a":1}x`, `{"a":1}`},
		{`{"a":"x` + "\n", `{}`},
	}
	for _, tt := range tests {
		for step := 1; step <= 3; step++ {
			var p llm.PartialJSON
			for s := tt.in; s != ""; {
				n := min(step, len(s))
				p.Write(s[:n])
				s = s[n:]
			}
			if got := string(p.Value()); got != tt.want {
				t.Errorf("after %q in steps of %d: %q, want %q", tt.in, step, got, tt.want)
			}
		}
	}
}

// Every prefix of a value gives a value, and the whole gives itself.
func TestPartialJSONPrefixes(t *testing.T) {
	const whole = `{"path":"dir/ü😀.go","edits":[{"old":"a\nb\\","new":"\u00e9\""},{"n":-1.5e+3,"ok":false,"x":null}],"deep":[[[{}]]],"empty":""}`
	var p llm.PartialJSON
	for i := range len(whole) {
		p.Write(whole[i : i+1])
		v := p.Value()
		if !json.Valid(v) || !utf8.Valid(v) {
			t.Fatalf("after %q: %q is not JSON", whole[:i+1], v)
		}
		if p.Complete() != (i == len(whole)-1) {
			t.Fatalf("after %q: complete = %v", whole[:i+1], p.Complete())
		}
	}
	if diff := cmp.Diff(whole, string(p.Value())); diff != "" {
		t.Error(diff)
	}
}

func FuzzPartialJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\u00e9"],"b":{}}`, `{"a":"\`, `[1,-0.1e+5`, "nul", `{"a":tru`, "\x00", `"\ud83d`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p llm.PartialJSON
		p.Write(s)
		if v := p.Value(); v != nil && utf8.ValidString(s) && !json.Valid(v) {
			t.Fatalf("%q gives %q, which is not JSON", s, v)
		}
		if valid := json.Valid([]byte(s)); valid != p.Complete() {
			t.Fatalf("%q: valid %v, complete %v", s, valid, p.Complete())
		}
		obj, state, err := llm.ParseObject(s)
		if err == nil && (!json.Valid(obj) || obj[0] != '{') {
			t.Fatalf("%q may run with %q (%s)", s, obj, state)
		}
	})
}

// The cost of a delta does not depend on how much came before it.
func BenchmarkPartialJSON(b *testing.B) {
	for name, size := range map[string]int{"1KB": 1 << 10, "1MB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			const deltas = 1000
			head := `{"content":"` + strings.Repeat("a", size)
			var spent time.Duration
			for b.Loop() {
				var p llm.PartialJSON
				p.Write(head)
				p.Write("a") // what the buffer grows by now is enough for what follows
				began := time.Now()
				for range deltas {
					p.Write("some more")
				}
				spent += time.Since(began)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N*deltas), "ns/delta")
		})
	}
}
