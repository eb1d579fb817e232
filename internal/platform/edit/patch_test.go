package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/edit"
)

func patchArgs(patch string) map[string]any { return map[string]any{"patch": patch} }

// updating is a patch that updates a.go.
func updating(lines string) string {
	return "*** Begin Patch\n*** Update File: a.go\n" + lines + "\n*** End Patch"
}

const twice = "class A:\n  def f():\n    pass\n    return 1\n\nclass B:\n  def f():\n    pass\n    return 1\n"

func TestPatch(t *testing.T) {
	abc := "a\nb\nc\n"
	for _, tt := range []struct {
		name, file, patch string
		want              string
		refusal, note     string
	}{
		{name: "a hunk", file: abc, patch: updating("@@\n a\n-b\n+x\n c"), want: "a\nx\nc\n"},
		{name: "without @@", file: abc, patch: updating(" a\n-b\n+x\n c"), want: "a\nx\nc\n"},
		{name: "several hunks", file: "a\nb\nc\nd\ne\nf\n", patch: updating("@@\n-a\n+x\n b\n@@\n e\n-f\n+y"), want: "x\nb\nc\nd\ne\ny\n"},
		{name: "adds before context", file: abc, patch: updating("@@\n+x\n a"), want: "x\na\nb\nc\n"},
		{name: "removes all", file: abc, patch: updating("@@\n-a\n-b\n-c"), want: ""},
		{name: "in a shell command", file: abc, patch: "apply_patch <<'EOF'\n" + updating("@@\n-b\n+x") + "\nEOF", want: "a\nx\nc\n"},
		{name: "in a code fence", file: abc, patch: "```diff\n" + updating("@@\n-b\n+x") + "\n```", want: "a\nx\nc\n"},
		{name: "sent with CRLF", file: abc, patch: strings.ReplaceAll(updating("@@\n a\n-b\n+x"), "\n", "\r\n"), want: "a\nx\nc\n"},
		{name: "for a CRLF file", file: "a\r\nb\r\nc\r\n", patch: updating("@@\n a\n-b\n+x\n+y"), want: "a\r\nx\r\ny\r\nc\r\n"},
		{name: "no end", file: abc, patch: "*** Begin Patch\n*** Update File: a.go\n@@\n-b\n+x", refusal: "may have been cut"},
		{name: "no begin", file: abc, patch: "*** Update File: a.go\n@@\n-b\n+x\n*** End Patch", want: "a\nx\nc\n"},
		{name: "a hunk without lines", file: abc, patch: updating("@@\n-b\n+x\n@@ c"), refusal: "has no lines"},
		{name: "unknown directive", file: abc, patch: updating("*** Rename to: x"), refusal: "unknown patch directive"},
		{name: "text before sections", file: abc, patch: "*** Begin Patch\nhello\n*** End Patch", refusal: "where a section should begin"},
		{name: "nothing to do", file: abc, patch: updating("@@\n a\n b"), refusal: "changes nothing"},
		{name: "removes and adds the same", file: abc, patch: updating("@@\n-a\n+a"), refusal: "changes nothing"},
		{name: "no such lines", file: abc, patch: updating("@@\n a\n-x\n+y"), refusal: "the context and removed lines are not in the file"},
		{name: "second hunk fails", file: abc, patch: updating("@@\n-a\n+x\n@@\n-nothing here\n+y"), refusal: "hunk 2: the context"},
		{name: "ambiguous", file: twice, patch: updating("@@\n     pass\n-    return 1\n+    return 2"), refusal: "fits 2 places (lines 3, 8)"},
		{name: "settled by a header", file: twice, patch: updating("@@ class B:\n     pass\n-    return 1\n+    return 2"), want: strings.TrimSuffix(twice, "1\n") + "2\n"},
		{name: "settled by nested headers", file: twice, patch: updating("@@ class B:\n@@   def f():\n     pass\n-    return 1\n+    return 2"), want: strings.TrimSuffix(twice, "1\n") + "2\n"},
		{name: "header fits both", file: twice, patch: updating("@@ def f():\n-    return 1\n+    return 2"), refusal: "fits 2 places"},
		{name: "header as a beginning", file: twice, patch: updating("@@ class B\n-    return 1\n+    return 2"), want: strings.TrimSuffix(twice, "1\n") + "2\n"},
		{name: "header not there, unique", file: abc, patch: updating("@@ func x\n-b\n+x"), want: "a\nx\nc\n", note: `no line "func x"`},
		{name: "header not there, ambiguous", file: twice, patch: updating("@@ class C:\n-    return 1\n+    return 2"), refusal: "fits 2 places"},
		{name: "before its header", file: abc, patch: updating("@@ c\n-a\n+x"), refusal: `before "c" in line 3`},
		{name: "settled by a line number", file: twice, patch: updating("@@ -4,1 +4,1 @@\n-    return 1\n+    return 2"), want: strings.Replace(twice, "1", "2", 1)},
		{name: "settled by the end", file: twice, patch: updating("@@\n-    return 1\n+    return 2\n*** End of File"), want: strings.TrimSuffix(twice, "1\n") + "2\n"},
		{name: "settled by the order", file: twice, patch: updating("@@\n class B:\n   def f():\n-    pass\n+    x()\n@@\n-    return 1\n+    return 2"), want: strings.TrimSuffix(twice, "    pass\n    return 1\n") + "    x()\n    return 2\n"},
		{name: "order does not stand in for a header", file: twice, patch: updating("@@\n class B:\n   def f():\n-    pass\n+    x()\n@@ class C\n-    return 1\n+    return 2"), refusal: "hunk 2: the hunk fits 2 places"},
		{name: "hunks out of order", file: abc, patch: updating("@@\n-c\n+z\n@@\n-a\n+x"), want: "x\nb\nz\n"},
		{name: "hunks overlap", file: abc, patch: updating("@@\n-a\n-b\n+x\n@@\n-b\n-c\n+y"), refusal: "hunk 2: overlaps with hunk 1"},
		{name: "contexts overlap", file: abc, patch: updating("@@\n-a\n+x\n b\n@@\n b\n-c\n+y"), want: "x\nb\ny\n"},
		{name: "added at the end", file: abc, patch: updating("@@\n+d\n*** End of File"), want: "a\nb\nc\nd\n"},
		{name: "added without context", file: abc, patch: updating("@@\n+d"), want: "a\nb\nc\nd\n", note: "added at the end"},
		{name: "added under a header", file: abc, patch: updating("@@ b\n+d"), refusal: "has no context to place them"},
		{name: "added to an empty file", file: "", patch: updating("@@\n+d"), want: "d\n"},
		{name: "context without its space", file: "func a() {\n\tx\n}\n", patch: updating("@@\nfunc a() {\n-\tx\n+\ty\n}"), want: "func a() {\n\ty\n}\n", note: "without a space in front"},
		{name: "empty line as context", file: "a\n\nb\n", patch: updating("@@\n a\n\n-b\n+x"), want: "a\n\nx\n"},
		{name: "a blank line is no place", file: "a\n\t\nb\n", patch: updating("@@\n \n+x"), refusal: "not in the file"},
		{name: "gap after a hunk", file: abc, patch: updating("@@\n a\n-b\n+x\n\n"), want: "a\nx\nc\n"},
		{name: "whitespace at the end", file: "a  \nb\nc\n", patch: updating("@@\n a\n-b\n+x"), want: "a  \nx\nc\n", note: "whitespace"},
		{name: "typography", file: "“a”\nb…\n", patch: updating("@@\n \"a\"\n-b...\n+x"), want: "“a”\nx\n", note: "quotes"},
		{name: "indentation", file: "\tif a {\n\t\tb\n\t}\n", patch: updating("@@\n if a {\n-    b\n+    if c {\n+        d\n+    }\n }"), want: "\tif a {\n\t\tif c {\n\t\t\td\n\t\t}\n\t}\n", note: "indentation"},
		{name: "inner whitespace", file: "a  b\n", patch: updating("@@\n-a b\n+x"), refusal: `Line 1 is "a  b"; the hunk has "a b".`},
		{name: "no newline at the end", file: "a\nb", patch: updating("@@\n a\n-b\n+x"), want: "a\nx"},
		{name: "appended to no newline", file: "a\nb", patch: updating("@@\n b\n+c"), want: "a\nb\nc"},
		{name: "last line removed, no newline", file: "a\nb", patch: updating("@@\n a\n-b"), want: "a\n"},
		{name: "elision", file: abc, patch: updating("@@\n-a\n-b\n+// ... existing code ..."), refusal: "would be lost"},
		{name: "Latin-1", file: "\xe9\nb\n", patch: updating("@@\n é\n-b\n+ü"), want: "\xe9\n\xfc\n"},
		{name: "Latin-1 has no such character", file: "\xe9\nb\n", patch: updating("@@\n-b\n+€"), refusal: "Latin-1"},
		{name: "BOM", file: "\uFEFFa\nb\n", patch: updating("@@\n-a\n+x"), want: "\uFEFFx\nb\n"},
		{name: "lines like headers", file: "-- a\n++ b\n@@ c\n", patch: updating("@@\n--- a\n+--- x\n ++ b\n-@@ c\n+@@ d"), want: "--- x\n++ b\n@@ d\n"},
		{name: "added lines like directives", file: abc, patch: updating("@@\n-a\n+*** Add File: x\n+*** End of File"), want: "*** Add File: x\n*** End of File\nb\nc\n"},
		// The end of the file.
		{name: "the end binds against a header", file: "f\n  x\ng\n  x\n", patch: updating("@@ f\n-  x\n+  y\n*** End of File"), want: "f\n  x\ng\n  y\n"},
		{name: "the end binds against a line number", file: twice, patch: updating("@@ -4 +4 @@\n-    return 1\n+    return 2\n*** End of File"), want: strings.TrimSuffix(twice, "1\n") + "2\n"},
		{name: "the end binds against the order", file: "x\na\nx\nb\nx\n", patch: updating("@@\n-a\n+A\n@@\n-x\n+y\n*** End of File"), want: "x\nA\nx\nb\ny\n"},
		{name: "one place, not at the end", file: abc, patch: updating("@@\n-b\n+x\n*** End of File"), refusal: "ends with its last line, but the file continues"},
		{name: "several places, none at the end", file: twice + "z\n", patch: updating("@@ class A:\n-    return 1\n+    return 2\n*** End of File"), refusal: "ends with its last line, but the file continues"},
		{name: "blank lines at the end", file: "x\na\nx\n\n", patch: updating("@@\n-x\n+y\n*** End of File"), want: "x\na\ny\n\n"},
		// The order of hunks.
		{name: "as many places as hunks", file: "x\na\nx\nb\nx\n", patch: updating("@@\n-x\n+1\n@@\n-x\n+2\n@@\n-x\n+3"), want: "1\na\n2\nb\n3\n"},
		{name: "more places than hunks", file: "x\na\nx\nb\nx\n", patch: updating("@@\n-x\n+1\n@@\n-x\n+2"), refusal: "hunk 1: the hunk fits 2 places (lines 1, 3)"},
		{name: "settled by the hunk after", file: twice, patch: updating("@@\n-    return 1\n+    return 2\n@@\n-class B:\n+class C:"), want: strings.Replace(strings.Replace(twice, "1", "2", 1), "B", "C", 1)},
		{name: "settled from both sides", file: "x\na\nx\nb\nx\n", patch: updating("@@\n-a\n+A\n@@\n-x\n+y\n@@\n-b\n+B"), want: "x\nA\ny\nB\nx\n"},
		{name: "no place in order", file: "x\nx\na\n", patch: updating("@@\n-a\n+A\n@@\n-x\n+y"), refusal: "hunk 2: the hunk fits 2 places (lines 1, 2)"},
		{name: "in order, contexts overlap", file: "a\nb\na\nb\na\n", patch: updating("@@\n a\n-b\n+1\n a\n@@\n a\n-b\n+2\n a"), want: "a\n1\na\n2\na\n"},
		{name: "in order, added at two places", file: "a\nb\na\n", patch: updating("@@\n a\n+1\n@@\n a\n+2"), want: "a\n1\nb\na\n2\n"},
		{name: "in order, changes overlap", file: "x\nx\nx\n", patch: updating("@@\n-x\n-x\n+1\n@@\n-x\n-x\n+2"), refusal: "hunk 1: the hunk fits 2 places"},
		{name: "a hunk of context says where", file: twice, patch: updating("@@\n class B:\n@@\n-    return 1\n+    return 2"), want: strings.TrimSuffix(twice, "1\n") + "2\n", note: "hunk 1: changes nothing"},
		{name: "same header, in order", file: "f\n x\ng\nf\n x\n", patch: updating("@@ f\n- x\n+ 1\n@@ f\n- x\n+ 2"), want: "f\n 1\ng\nf\n 2\n"},
		{name: "one hunk changes nothing", file: abc, patch: updating("@@\n-a\n+a\n@@\n-b\n+x"), want: "a\nx\nc\n", note: "hunk 1: changes nothing"},
		// Signs that were forgotten.
		{name: "slipped, one line", file: "{\n    a\n}\n", patch: updating("@@\n    a\n+    b"), want: "{\n    a\n    b\n}\n", note: "without a space"},
		{name: "slipped, and exact elsewhere", file: "{\n   a\n    a\n}\n", patch: updating("@@\n    a\n+    b"), refusal: "fits line 2, and if its context lacks the space in front, line 3"},
		{name: "slipped, other whitespace at the end", file: "{\n    a  \n}\n", patch: updating("@@\n    a\n+    b"), want: "{\n    a  \n    b\n}\n", note: "without a space"},
		{name: "slipped, typography", file: "{\n    “a”\n}\n", patch: updating("@@\n    \"a\"\n+    b"), want: "{\n    “a”\n    b\n}\n", note: "quotes"},
		{name: "slipped, other indentation", file: "{\n        a\n        }\n", patch: updating("@@\n    a\n-    }\n+    b"), want: "{\n        a\n        b\n", note: "without a space"},
		{name: "slipped or other indentation", file: "{\n        a\n}\n", patch: updating("@@\n    a\n+    b"), refusal: "if its context lacks the space in front"},
		{name: "lost -, the others signed", file: "a\nb\nc\n", patch: updating("@@\n a\nb\n+x\n c"), refusal: "line 2, \"b\", has no sign in the hunk"},
		{name: "lost -, indented", file: "f:\n    a\n    b\n", patch: updating("@@\n f:\n    a\n+    x\n     b"), refusal: "line 2, \"    a\", has no sign"},
		{name: "lost -, among removed", file: "a\nb\nc\nd\n", patch: updating("@@\n a\n-b\nc\n+x\n d"), refusal: "line 3, \"c\", has no sign"},
		{name: "lost -, nothing signed", file: "f {\n\ty := 2\n}\n", patch: updating("@@\nf {\n\ty := 2\n+\ty := 3\n}"), refusal: "line 2, \"\\ty := 2\", has no sign"},
		{name: "lost -, nothing added", file: abc, patch: updating("@@\n a\nb\n c"), refusal: "Lines to remove begin with -"},
		{name: "no sign after what is added", file: abc, patch: updating("@@\n a\n-b\n+x\nc"), want: "a\nx\nc\n", note: "without a space"},
		{name: "an item as context", file: "a:\n- b\n- c\n", patch: updating("@@\na:\n- b\n+- x"), refusal: "Line 2 is \"- b\": as context it needs a space in front"},
		{name: "context like an added line", file: "+++\na = 1\n+++\n", patch: updating("@@\na = 1\n+++\n+b = 2"), refusal: "the hunk adds \"++\", and line 3 is \"+++\""},
		{name: "context like an added line, before", file: "+++\na = 1\n", patch: updating("@@\n+++\n+b = 2\na = 1"), refusal: "the hunk adds \"++\", and line 1 is \"+++\""},
		{name: "context like an added line, first", file: "+ x\na = 1\n", patch: updating("@@\n+ x\n-a = 1"), refusal: "the hunk adds \" x\", and line 1 is \"+ x\""},
		// Unified diffs.
		{name: "unified", file: abc, patch: "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", want: "a\nx\nc\n"},
		{name: "unified, wrong numbers", file: abc, patch: "--- a.go\n+++ a.go\n@@ -90,7 +95,1 @@ func x\n a\n-b\n+x\n c\n", want: "a\nx\nc\n"},
		{name: "unified, no numbers", file: abc, patch: "--- a.go\n+++ a.go\n@@ ... @@\n-b\n+x\n", want: "a\nx\nc\n"},
		{name: "unified, times", file: abc, patch: "--- a.go.orig\t2024-01-01 00:00:00\n+++ a.go\t2024-01-02\n@@ -2 +2 @@\n-b\n+x\n", want: "a\nx\nc\n"},
		{name: "unified, settled by number", file: "x\ny\nx\n", patch: "--- a.go\n+++ a.go\n@@ -3 +3 @@\n-x\n+z\n", want: "x\ny\nz\n"},
		{name: "unified, number misses", file: "x\ny\nx\n", patch: "--- a.go\n+++ a.go\n@@ -2 +2 @@\n-x\n+z\n", refusal: "fits 2 places"},
		{name: "unified, shifted like the hunk before", file: "new\na\nx\nb\nx\n", patch: "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-x\n+z\n", want: "new\nA\nx\nb\nz\n"},
		{name: "unified, nothing but additions", file: abc, patch: "--- a.go\n+++ a.go\n@@ -2,0 +3 @@\n+x\n", refusal: "has no context to place them"},
		{name: "unified, lines like headers", file: "-- q\nb\n", patch: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n b\n--- q\n+++ r\n@@ -9 +9 @@\n-z\n", refusal: "hunk 1: the context"},
		{name: "unified, removed -- line", file: "-- q\nb\n", patch: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n--- q\n+++ r\n b\n", want: "++ r\nb\n"},
		{name: "mail", file: abc, patch: "From 1 Mon\nSubject: x\n---\n a.go | 2 +-\n\ndiff --git a/a.go b/a.go\nindex 1..2 100644\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n a\n-b\n+x\n-- \n2.40.0\n", want: "a\nx\nc\n"},
		{name: "newline added", file: "a\nb", patch: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", want: "a\nb\n"},
		{name: "newline removed", file: "a\nb\n", patch: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", want: "a\nb"},
		{name: "newline removed elsewhere", file: "a\nb\nc\n", patch: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n a\n-b\n+x\n\\ No newline at end of file\n", refusal: "ends with its last line"},
		{name: "line endings changed", file: "a\r\nb\r\n", patch: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n", want: "a\r\nb\n"},
		{name: "mode only", file: abc, patch: "diff --git a/a.go b/a.go\nold mode 100644\nnew mode 100755\n", refusal: "only the mode"},
		{name: "mode too", file: abc, patch: "diff --git a/a.go b/a.go\nold mode 100644\nnew mode 100755\n--- a/a.go\n+++ b/a.go\n@@ -2 +2 @@\n-b\n+x\n", want: "a\nx\nc\n", note: "mode"},
		{name: "binary", file: abc, patch: "diff --git a/a.go b/a.go\nindex 1..2\nGIT binary patch\nliteral 1\n", refusal: "binary"},
		{name: "two names", file: abc, patch: "--- a.go\n+++ c.go\n@@ -2 +2 @@\n-b\n+x\n", refusal: "names two files"},
		{name: "hunk without file", file: abc, patch: "@@ -2 +2 @@\n-b\n+x\n", refusal: "before it names a file"},
		{name: "no patch", file: abc, patch: "hello", refusal: "no patch"},
		{name: "in both languages", file: abc, patch: updating("--- a/a.go\n+++ b/a.go\n@@ -2 +2 @@\n-b\n+x"), want: "a\nx\nc\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, "patch", files{"a.go": tt.file}, patchArgs(tt.patch), files{"a.go": tt.want}, tt.refusal, tt.note)
		})
	}
}

func TestPatchFiles(t *testing.T) {
	begin := func(s string) string { return "*** Begin Patch\n" + s + "\n*** End Patch" }
	for _, tt := range []struct {
		name    string
		before  files
		patch   string
		want    files
		refusal string
		note    string
	}{
		{name: "several files", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: a\n-1\n+x\n\n*** Delete File: b\n\n*** Add File: d/c\n+y\n\n+z\n"), want: files{"a": "x\n", "d/c": "y\n\nz\n"}},
		{name: "one fails, all fail", before: files{"a": "1\n"}, patch: begin("*** Update File: a\n-1\n+x\n*** Delete File: b"), refusal: "b: the patch deletes this file, and it does not exist"},
		{name: "one section changes nothing", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: b\n-2\n+2\n*** Update File: a\n-1\n+x"), want: files{"a": "x\n", "b": "2\n"}, note: "b: nothing to change"},
		{name: "one section of context", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: a\n-1\n+x\n*** Update File: b\n 2"), want: files{"a": "x\n", "b": "2\n"}, note: "b: nothing to change"},
		{name: "one section writes the same", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Delete File: b\n*** Add File: b\n+2\n*** Update File: a\n-1\n+x"), want: files{"a": "x\n", "b": "2\n"}, note: "b: nothing to change"},
		{name: "no section changes anything", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: a\n-1\n+1\n*** Update File: b\n-2\n+2"), refusal: "a: the edit changes nothing"},
		{name: "one section fails, one changes nothing", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: a\n-1\n+1\n*** Update File: b\n-3\n+4"), refusal: "b: the context and removed lines"},
		{name: "move, nothing changes", before: files{"a": "1\n"}, patch: begin("*** Update File: a\n*** Move to: b\n@@\n 1"), want: files{"b": "1\n"}},
		{name: "add over a file", before: files{"a": "1\n"}, patch: begin("*** Add File: a\n+x"), refusal: "it exists"},
		{name: "add over an empty file", before: files{"a": ""}, patch: begin("*** Add File: a\n+x"), refusal: "it exists"},
		{name: "add an empty file", before: files{}, patch: begin("*** Add File: a"), want: files{"a": ""}},
		{name: "add without plus", before: files{}, patch: begin("*** Add File: a\nx"), refusal: "without + in front"},
		{name: "update no file", before: files{}, patch: begin("*** Update File: a\n-1\n+x"), refusal: "does not exist"},
		{name: "update without hunks", before: files{"a": ""}, patch: begin("*** Update File: a"), refusal: "no hunks"},
		{name: "move", before: files{"a": "1\r\n"}, patch: begin("*** Update File: a\n*** Move to: b\n@@\n-1\n+x"), want: files{"b": "x\r\n"}},
		{name: "move only", before: files{"a": "\x00\x01"}, patch: begin("*** Update File: a\n*** Move to: b"), want: files{"b": "\x00\x01"}},
		{name: "move over a file", before: files{"a": "1\n", "b": ""}, patch: begin("*** Update File: a\n*** Move to: b\n-1\n+x"), refusal: "b: the patch moves a here, and this file exists"},
		{name: "move to itself", before: files{"a": "1\n"}, patch: begin("*** Update File: a\n*** Move to: ./a\n-1\n+x"), want: files{"a": "x\n"}},
		{name: "move onto another section", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: a\n*** Move to: b\n-1\n+x\n*** Delete File: b"), refusal: "another section"},
		{name: "two moves to one", before: files{"a": "1\n", "b": "2\n"}, patch: begin("*** Update File: a\n*** Move to: c\n*** Update File: b\n*** Move to: c"), refusal: "another section"},
		{name: "two updates", before: files{"a": "1\n2\n"}, patch: begin("*** Update File: a\n-2\n+y\n*** Update File: ./a\n-1\n+x"), want: files{"a": "x\ny\n"}},
		{name: "update and delete", before: files{"a": "1\n"}, patch: begin("*** Update File: a\n-1\n+x\n*** Delete File: a"), refusal: "do not go together"},
		{name: "delete and add", before: files{"a": "1\r\n2\r\n"}, patch: begin("*** Delete File: a\n*** Add File: a\n+1\n+x"), want: files{"a": "1\r\nx\r\n"}},
		{name: "delete a binary file", before: files{"a": "\x00"}, patch: begin("*** Delete File: a"), want: files{}},
		{name: "delete with text", before: files{"a": "x"}, patch: begin("*** Delete File: a\n-x"), refusal: "text after"},
		{name: "empty path", before: files{}, patch: begin("*** Add File: \n+x"), refusal: "path is empty"},
		{name: "unified: new file", before: files{}, patch: "diff --git a/a b/a\nnew file mode 100755\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n", want: files{"a": "x\ny"}},
		{name: "unified: new file, no git", before: files{}, patch: "--- /dev/null\n+++ b/a\n@@ -0,0 +1,3 @@\n+x\n\n+y\n\n", want: files{"a": "x\n\ny\n"}},
		{name: "unified: new empty file", before: files{}, patch: "diff --git a/a b/a\nnew file mode 100644\nindex 0000000..e69de29\n", want: files{"a": ""}},
		{name: "unified: new file with context", before: files{}, patch: "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n x\n+y\n", refusal: "has context"},
		{name: "unified: deleted file", before: files{"a": "x\ny\n"}, patch: "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n", want: files{}},
		{name: "unified: deleted file has more", before: files{"a": "x\ny\n"}, patch: "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", refusal: "lines that the patch does not remove"},
		{name: "unified: rename", before: files{"a b": "x\ny\n"}, patch: "diff --git a/a b b/c d\nsimilarity index 50%\nrename from a b\nrename to c d\n--- a/a b\t\n+++ b/c d\t\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n", want: files{"c d": "x\nz\n"}},
		{name: "unified: rename only", before: files{"a": "x\n"}, patch: "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", want: files{"b": "x\n"}},
		{name: "unified: copy", before: files{"a": "x\n"}, patch: "diff --git a/a b/b\ncopy from a\ncopy to b\n", refusal: "copies a file"},
		{name: "unified: quoted name", before: files{"é\t\"": "x\n"}, patch: `--- "a/\303\251\t\""` + "\n" + `+++ "b/\303\251\t\""` + "\n@@ -1 +1 @@\n-x\n+y\n", want: files{"é\t\"": "y\n"}},
		{name: "unified: two files", before: files{"a": "x\n", "b": "y\n"}, patch: "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+1\n--- b\n+++ b\n@@ -1 +1 @@\n-y\n+2\n", want: files{"a": "1\n", "b": "2\n"}},
		{name: "unified: two files, wrong counts", before: files{"a": "x\n", "b": "y\n"}, patch: "--- a\n+++ a\n@@ -1,9 +1,9 @@\n-x\n+1\n--- b\n+++ b\n@@ -1,9 +1,9 @@\n-y\n+2\n", want: files{"a": "1\n", "b": "2\n"}},
		{name: "unified: a link", before: files{}, patch: "diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", refusal: "symbolic link"},
		{name: "unified: no prefixes", before: files{"a/x": "1\n"}, patch: "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n", want: files{"a/x": "2\n"}},
		{name: "unified: other prefixes", before: files{"x": "1\n"}, patch: "diff --git i/x w/x\n--- i/x\n+++ w/x\n@@ -1 +1 @@\n-1\n+2\n", want: files{"x": "2\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, "patch", tt.before, patchArgs(tt.patch), tt.want, tt.refusal, tt.note)
		})
	}
}

// The right one of very many places is found, and no other.
func TestPatchManyPlaces(t *testing.T) {
	file := strings.Repeat("a\nx\n", 5000)
	at := func(line string) string { return "--- a.go\n+++ a.go\n@@ -" + line + " +1 @@\n-x\n+y\n" }
	want := strings.Repeat("a\nx\n", 3999) + "a\ny\n" + strings.Repeat("a\nx\n", 1000)
	expect(t, "patch", files{"a.go": file}, patchArgs(at("8000")), files{"a.go": want}, "", "")
	expect(t, "patch", files{"a.go": file}, patchArgs(at("8001")), nil, "fits more than 5 places (lines 2, 4, 6, 8, 10, …)", "")
	expect(t, "patch", files{"a.go": strings.Repeat(file, 20)}, patchArgs(updating("@@ a\n@@ a\n-x\n+y")), nil, "fits more than 5 places", "")
	many := func(n int) map[string]any {
		return patchArgs(updating(strings.TrimSpace(strings.Repeat("@@\n-x\n+y\n", n))))
	}
	few := strings.Repeat("a\nx\n", 300)
	expect(t, "patch", files{"a.go": few}, many(300), files{"a.go": strings.ReplaceAll(few, "x", "y")}, "", "")
	expect(t, "patch", files{"a.go": file}, many(5000), nil, "hunk 27: the file repeats itself so much", "")
	expect(t, "patch", files{"a.go": "b\n" + file}, patchArgs(updating("@@\n-b\n+c\n@@\n-x\n+y")), nil, "hunk 2: the hunk fits more", "")
}

func TestPatchPathsAndChanges(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: ./a\n*** Move to: b\n-1\n+2\n*** Delete File: c\n*** Add File: d\n+x\n*** End Patch"
	paths, err := edit.Engines()["patch"].Paths(arguments(t, patchArgs(patch)))
	if diff := cmp.Diff([]string{"./a", "b", "c", "d"}, paths); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	_, res, r := apply(t, "patch", files{"./a": "1\n", "c": "y\n"}, patchArgs(patch))
	if r != nil {
		t.Fatal(r)
	}
	want := []edit.Change{
		{Path: "b", From: "./a", Before: []byte("1\n"), After: []byte("2\n")},
		{Path: "c", Before: []byte("y\n")},
		{Path: "d", After: []byte("x\n")},
	}
	if diff := cmp.Diff(want, res.Changes); diff != "" {
		t.Error(diff)
	}
	if res.Added != 2 || res.Removed != 2 {
		t.Errorf("+%d -%d", res.Added, res.Removed)
	}
	_, res, _ = apply(t, "patch", files{}, patchArgs("diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+#!\n"))
	if res == nil || res.Changes[0].Mode != 0o755 {
		t.Errorf("mode of a script: %+v", res)
	}
}
