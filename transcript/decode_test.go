package transcript_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
)

// in puts a message into a record.
func in(message string) string {
	return `{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z","message":` + message + `}`
}

// plainRecords are read by the short way.
var plainRecords = map[string]string{
	"a person":    in(`{"role":"user","content":[{"type":"text","text":"a<b"}],"timestamp":1760000000123}`),
	"a string":    in(`{"role":"user","content":"plain"}`),
	"empty":       in(`{"role":"user","content":[]}`),
	"no content":  in(`{"role":"assistant"}`),
	"spaces":      ` { "type" : "message" , "parentId" : "x" , "message" : { "content" : [ { "text" : "t" , "type" : "text" } ] , "role" : "user" } } `,
	"escapes":     in(`{"role":"user","content":"\"\\\/\b\f\n\r\t\u00e9\u20AC\u0000 and ü€𝄞"}`),
	"a signature": in(`{"role":"assistant","content":[{"type":"text","text":"t","textSignature":"s"}]}`),
	"an answer": in(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"thinking","thinking":"","thinkingSignature":"x","redacted":true},` +
		`{"type":"toolCall","id":"1","name":"read","arguments":{"path":"a&b \" \\"}},{"type":"toolCall","id":"2","name":"read","arguments":{ "path" : "b" },"rawArguments":"{ \"path\": \"b\" }","thoughtSignature":"g"},` +
		`{"type":"toolCall","id":"3","name":"read","arguments":{},"rawArguments":"{\"pa","defect":"cut"},{"type":"toolCall","name":"none"}],` +
		`"api":"anthropic-messages","provider":"anthropic","model":"claude","responseId":"r","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":0,"cacheWriteLong":4,"reasoning":5,"webSearches":6,"webFetches":7,"totalTokens":-6,` +
		`"cost":{"input":0.000003,"output":1.25,"cacheRead":0,"cacheWrite":-0.5,"tools":12,"total":0.1234567891,"unknown":true,"unreliable":false}},"stopReason":"toolUse","timestamp":1760000000123}`),
	"a result": in(`{"role":"toolResult","toolCallId":"1","toolName":"read","content":[{"type":"text","text":"no"}],"details":{"n":[1,{"a":null}]},"isError":true}`),
	"custom":   in(`{"role":"custom","customType":"x","content":[{"type":"text","text":"c"}],"display":true,"details":"d"}`),
	"long":     in(`{"role":"user","content":"` + strings.Repeat("0123456", 9) + `\n` + strings.Repeat("é", 9) + `"}`),
}

// oddRecords are left to encoding/json, be they good or bad.
var oddRecords = map[string]string{
	"a key in capitals":   in(`{"Role":"user","content":[]}`),
	"an unknown field":    in(`{"role":"user","content":[],"novel":1}`),
	"a field twice":       in(`{"role":"user","role":"assistant","content":[]}`),
	"null":                in(`{"role":"user","content":null}`),
	"null details":        in(`{"role":"toolResult","details":null}`),
	"another role":        in(`{"role":"bashExecution","command":"ls","output":"a"}`),
	"no role":             in(`{"content":[]}`),
	"a picture":           in(`{"role":"user","content":[{"type":"image","data":"AQI=","mimeType":"image/png"}]}`),
	"citations":           in(`{"role":"assistant","content":[{"type":"text","text":"t","citations":[{"url":"u"}]}]}`),
	"an unknown block":    in(`{"role":"assistant","content":[{"type":"novel","text":"x"}]}`),
	"an error":            in(`{"role":"assistant","content":[],"errorMessage":"boom","stopReason":"error"}`),
	"a surrogate pair":    in(`{"role":"user","content":"\ud834\udd1e"}`),
	"half a pair":         in(`{"role":"user","content":"\ud834"}`),
	"not UTF-8":           in("{\"role\":\"user\",\"content\":\"a\xff\"}"),
	"a control character": in("{\"role\":\"user\",\"content\":\"01234567\x01\"}"),
	"a bad escape":        in(`{"role":"user","content":"\x"}`),
	"a short escape":      in(`{"role":"user","content":"\u12"}`),
	"bad details":         in(`{"role":"toolResult","details":{"a":01}}`),
	"a fraction":          in(`{"role":"user","content":[],"timestamp":1.5}`),
	"an exponent":         in(`{"role":"assistant","usage":{"input":1e3}}`),
	"a leading zero":      in(`{"role":"assistant","usage":{"input":01}}`),
	"a large number":      in(`{"role":"assistant","usage":{"input":12345678901234567890}}`),
	"a word":              in(`{"role":"toolResult","isError":truth}`),
	"more behind it":      in(`{"role":"user","content":[]}`) + `{}`,
	"a zero behind it":    in(`{"role":"user","content":[]}`) + "\x00",
	"a comma too many":    in(`{"role":"user","content":["a",]}`),
	"cut":                 `{"type":"message","id":"a1","message":{"role":"user","content":[{"type":"text","text":"a`,
	"no type":             `{"id":"a1","message":{"role":"user","content":[]}}`,
	"no message":          `{"type":"message","id":"a1"}`,
	"another type":        `{"type":"custom","id":"a1","message":{"role":"user","content":[]}}`,
	"an id of no string":  `{"type":"message","id":1,"message":{"role":"user","content":[]}}`,
}

func TestDecode(t *testing.T) {
	for name, record := range plainRecords {
		if _, ok := transcript.DecodeMessage([]byte(record)); !ok {
			t.Errorf("%s is left to encoding/json", name)
		}
		sameDecoded(t, record)
	}
	for name, record := range oddRecords {
		if _, ok := transcript.DecodeMessage([]byte(record)); ok {
			t.Errorf("%s is not left to encoding/json", name)
		}
	}
}

// sameDecoded holds a record that was read by the short way against encoding/json.
func sameDecoded(t *testing.T, record string) {
	t.Helper()
	got, ok := transcript.DecodeMessage([]byte(record))
	if !ok {
		return
	}
	var want transcript.Entry
	if err := json.Unmarshal([]byte(record), &want); err != nil {
		t.Fatalf("%s was read, but is wrong: %v", record, err)
	}
	want.ID, want.ParentID = "", nil // the log knows them
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n%s", record, cmp.Diff(want, got))
	}
}

// Whatever is read by the short way is what encoding/json reads.
func FuzzDecode(f *testing.F) {
	for _, record := range plainRecords {
		f.Add(record)
	}
	for _, record := range oddRecords {
		f.Add(record)
	}
	f.Fuzz(sameDecoded)
}

// One byte of a record, changed in every way that means something to JSON, is read as
// encoding/json reads it.
func TestDecodeChanged(t *testing.T) {
	for _, record := range plainRecords {
		for i := range record {
			for _, c := range []byte("\x00\x1f \"\\{}[],:0-.etnu\x80\xc3") {
				sameDecoded(t, record[:i]+string([]byte{c})+record[i+1:])
			}
			sameDecoded(t, record[:i]+record[i+1:])
			sameDecoded(t, record[:i])
		}
	}
}
