package foreign_test

import (
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/transcript/foreign"
)

// FuzzImport reads any bytes as any format: it ends, what it gives opens without
// damage, and it is legal on the active branch for every vendor.
func FuzzImport(f *testing.F) {
	for _, file := range single(f) {
		if text := read(f, file); len(text) < 4<<10 {
			f.Add(text, uint8(0))
		}
	}
	f.Add(`{"type":"session","version":3,"id":"ab"}`+"\n"+`{"id":"e1","parentId":null,"message":{"role":"user","content":"an entry without a type"}}`, uint8(0))
	for i := range foreign.Formats() {
		f.Add(`{"type":"user","uuid":"a","parentUuid":"a","id":"a","sessionId":"s","messages":[{}],"message":{"content":[{}]}}`, uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, text string, pick uint8) {
		if len(text) > 16<<10 {
			return
		}
		path := write(t, filepath.Join(t.TempDir(), "conversations.json"), text)
		if pick%2 == 1 {
			path = write(t, filepath.Join(filepath.Dir(path), "lines.jsonl"), text)
		}
		var o foreign.Options
		if n := int(pick) % (len(foreign.Formats()) + 1); n > 0 {
			o.Format = foreign.Formats()[n-1]
		}
		_, _ = foreign.Detect(path)
		for s, err := range foreign.Import(t.Context(), path, o) {
			if err == nil && s.Report.Messages > 0 {
				checkLeaf(t, s)
			}
		}
	})
}
