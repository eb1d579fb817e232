package edit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/edit"
)

// whateverComes runs an engine on arguments of any kind: it must refuse, or give a
// result that agrees with itself.
func whateverComes(t *testing.T, engine string, before files, raw []byte) {
	e := edit.Engines()[engine]
	_, _ = e.Paths(raw)
	res, err := e.Apply(before, raw)
	var r *edit.Refusal
	if err != nil {
		if !errors.As(err, &r) {
			t.Fatalf("%v is no refusal", err)
		}
		if !utf8.ValidString(r.Error()) {
			t.Fatalf("refusal is no UTF-8: %q", r.Error())
		}
		return
	}
	for _, c := range res.Changes {
		from := c.Path
		if c.From != "" {
			from = c.From
		}
		if string(c.Before) != before[from] || c.Before == nil && c.After == nil {
			t.Fatalf("change %+v", c)
		}
		if strings.Contains(string(c.After), "\x00") && !strings.Contains(string(c.Before), "\x00") {
			t.Fatalf("text became binary: %+v", c)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", updating("@@ a\n-b\n+x\n c\n*** End of File"))
	f.Add("a\r\nb", "--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@ f\n a\n-b\n\\ No newline at end of file\n+c\n")
	f.Add("", "diff --git \"a/\\303\\251\" \"b/\\303\\251\"\nnew file mode 100755\n--- /dev/null\n+++ \"b/\\303\\251\"\n@@ -0,0 +1 @@\n+x\n")
	f.Add("a\n", "*** Begin Patch\n*** Update File: a.go\n*** Move to: b\n*** Delete File: c\n*** Add File: d\n+\n*** End Patch")
	f.Add("\uFEFFa\n", "diff --git a/a.go b/c\nrename from a.go\nrename to c\n")
	f.Add("{\n    a\n    b\n}\n", updating("@@\n{\n    a\n-    b\n+    c\n}"))
	f.Add("x\na\nx\nb\nx\n", updating("@@\n-x\n+1\n@@\n x\n@@ b\n-x\n+2\n*** End of File"))
	f.Add("+++\n- a\n  b\n", updating("@@\n+++\n- a\n+ c\n  b\n\n"))
	f.Fuzz(func(t *testing.T, file, patch string) {
		raw, err := json.Marshal(map[string]string{"patch": patch})
		if err != nil {
			t.Skip()
		}
		whateverComes(t, "patch", files{"a.go": file, "c": "y\n"}, raw)
	})
}

func FuzzHashline(f *testing.F) {
	f.Add("a\nb\n", "12ab", "replace", "1:abc", "2:def", "x\n")
	f.Add("a\r\nb", "", "insert_after", "0", "", "1:abc|x\n\n2:def|y")
	f.Fuzz(func(t *testing.T, file, tag, op, at, to, text string) {
		if tag == "" {
			tag = fileTag(file)
		}
		ops := named(file, []lineOp{{op, at, to, text}, {"delete", "=1", "", ""}})
		raw, err := json.Marshal(map[string]any{"path": "a.go", "tag": tag, "edits": ops})
		if err != nil {
			t.Skip()
		}
		whateverComes(t, "hashline", files{"a.go": file}, raw)
		if plain, ok := edit.StripTags(text); !ok && plain != text {
			t.Fatalf("%q became %q", text, plain)
		}
	})
}

func FuzzReplace(f *testing.F) {
	f.Add("a\r\n  b\n", "a\n b", "x\ny")
	f.Add("\xff\xfea\x00", "a", "b")
	f.Add("“a…”  \n\tb", "\"a...\"\nb", "")
	f.Add("f {\n\ta\n\tb\n}\n", "a", "if x {\n    a\n}")
	f.Add("  f:\r\n    a\r\n\r\n", "a\r\n", "")
	f.Add("    a\n    b\n    c", "    a\n    b\n", "a\n\nx:\n\ty")
	f.Fuzz(func(t *testing.T, file, old, fresh string) {
		raw, err := json.Marshal(replaceArgs(pair{Old: old, New: fresh}))
		if err != nil {
			t.Skip()
		}
		whateverComes(t, "replace", files{"a.go": file}, raw)
	})
}
