package index_test

import (
	"encoding/json"
	"testing"

	"github.com/burin-dev/burin/transcript/index"
)

const sample = `{"type":"message","n":[1,-2.5e3,true,null,{"a":"\u00e4\n\"x\\"}],"message":{"role":"user","content":[{"type":"text","text":"hello \ud83d\ude00 you"}]}}`

// Wherever a record breaks off, what came before is there.
func TestWhole(t *testing.T) {
	for n := 1; n <= len(sample); n++ {
		got := index.Whole([]byte(sample[:n]))
		if !json.Valid(got) {
			t.Fatalf("%s\nbecomes %s", sample[:n], got)
		}
	}
	var v struct {
		Message struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(index.Whole([]byte(sample[:len(sample)-20])), &v); err != nil || v.Message.Content[0].Text != "hello " && v.Message.Content[0].Text != "hello \ufffd" {
		t.Errorf("%+v %v", v, err)
	}
}

func FuzzWhole(f *testing.F) {
	for _, n := range []int{0, 1, 7, 20, 40, 60, 90, len(sample)} {
		f.Add(sample[:n])
	}
	f.Add(`{"a":1}}}`)
	f.Add(`]`)
	f.Fuzz(func(t *testing.T, text string) {
		index.Whole([]byte(text)) // whatever it is, it ends
	})
}
