package edit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
)

// source is a file of n lines as programs have them.
func source(n int) string {
	var b strings.Builder
	for i := range n {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "func step%d(in []byte) error {\n", i)
		case 1:
			fmt.Fprintf(&b, "\tvalue := compute(in, %d)\n", i*31)
		case 2:
			b.WriteString("\treturn check(value)\n")
		case 3:
			b.WriteString("}\n")
		default:
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Each engine changes two lines in the middle of a file of 10,000 lines.
func BenchmarkApply(b *testing.B) {
	text := source(10_000)
	old := "\tvalue := compute(in, 155031)\n"
	fresh := strings.Replace(text, old, "\tvalue := other(in)\n\tuse(value)\n", 1)
	spaces := strings.ReplaceAll(text, "\t", "    ")
	var many strings.Builder
	for i := 1; i < 500; i += 5 {
		fmt.Fprintf(&many, "@@\n func step%d(in []byte) error {\n-    value := compute(in, %d)\n+    value := other(in)\n     return check(value)\n", i-1, i*31)
	}
	for _, bb := range []struct {
		name, engine, file string
		args               any
	}{
		{"replace", "replace", text, replaceArgs(pair{Old: old, New: "\tvalue := other(in)\n\tuse(value)\n"})},
		{"replace-crlf", "replace", strings.ReplaceAll(text, "\n", "\r\n"), replaceArgs(pair{Old: old, New: "\tvalue := other(in)\n"})},
		{"replace-typography", "replace", strings.Replace(text, old, "“q”\n", 1), replaceArgs(pair{Old: "\"q\"", New: "'q'"})},
		{"replace-indent", "replace", text, replaceArgs(pair{Old: "func step5000(in []byte) error {\n    value := compute(in, 155031)\n    return", New: "x"})},
		{"patch", "patch", text, patchArgs(updating("@@ func step5000(in []byte) error {\n-" + old + "+\tvalue := other(in)\n \treturn check(value)"))},
		{"patch-spaces", "patch", spaces, patchArgs(updating("@@\n-    value := compute(in, 155031)\n+    value := other(in)\n     return check(value)\n }"))},
		{"patch-many", "patch", spaces, patchArgs(updating(strings.TrimSpace(many.String())))},
		{"replace-line", "replace", text, replaceArgs(pair{Old: "value := compute(in, 155031)", New: "if ok {\n\tvalue = other(in)\n}"})},
		{"hashline", "hashline", text, map[string]any{"path": "a.go", "tag": fileTag(text), "edits": named(text, []lineOp{{"replace", "=5002", "", "\tuse(in)\n"}})}},
		{"hashline-moved", "hashline", "new\n" + text, map[string]any{"path": "a.go", "tag": fileTag(text), "edits": named(text, []lineOp{{"replace", "=5002", "", "\tuse(in)\n"}})}},
		{"whole", "whole", text, map[string]any{"path": "a.go", "content": fresh}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			raw, e := arguments(b, bb.args), edit.Engines()[bb.engine]
			src := files{"a.go": bb.file}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Apply(src, raw); err != nil && bb.name != "replace-indent" {
					b.Fatal(err)
				}
			}
		})
	}
}

// The refusal of a text that is nowhere in a file of 50,000 lines.
func BenchmarkNearest(b *testing.B) {
	text := source(50_000)
	for name, old := range map[string]string{
		"similar":  "func step25000(in []byte, extra int) error {\n\tvalue := compute(in, extra, 1)\n\treturn check(value, extra)\n}\n\nfunc step25005(in, out []byte) error {",
		"nothing":  strings.Repeat("SELECT * FROM t WHERE q = 'zzz' ORDER BY 17;\n", 40),
		"one word": "cheque(value)",
		"all over": "}}\n\n}}\n",
	} {
		b.Run(name, func(b *testing.B) {
			raw := arguments(b, replaceArgs(pair{Old: old, New: "x"}))
			src := files{"a.go": text}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := edit.Engines()["replace"].Apply(src, raw); err == nil {
					b.Fatal("applied")
				}
			}
		})
	}
}

// A file that is rewritten line by line, as formatters do: many hunks.
func BenchmarkDiffEverywhere(b *testing.B) {
	before := source(10_000)
	after := strings.ReplaceAll(before, "check(value)", "check(value, true)")
	b.ReportAllocs()
	for b.Loop() {
		if _, added, _ := edit.Diff("a.go", []byte(before), []byte(after)); added < 2000 {
			b.Fatal(added)
		}
	}
}

func BenchmarkTagged(b *testing.B) {
	data := []byte(source(10_000))
	b.ReportAllocs()
	for b.Loop() {
		_ = edit.Tagged("a.go", data, 4000, 6000)
	}
}

func BenchmarkPaths(b *testing.B) {
	raw, err := json.Marshal(patchArgs(updating(strings.Repeat("@@\n a\n-b\n+c\n", 100))))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := edit.Engines()["patch"].Paths(raw); err != nil {
			b.Fatal(err)
		}
	}
}
