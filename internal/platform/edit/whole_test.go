package edit_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
)

func TestWhole(t *testing.T) {
	kept := "line endings that the file has"
	for _, tt := range []struct {
		name, file, content string
		want                string
		refusal, note       string
	}{
		{name: "replaces", file: "a\nb\n", content: "x\n", want: "x\n"},
		{name: "inserts", file: "a\nb\n", content: "a\nx\nb\n", want: "a\nx\nb\n"},
		{name: "fills an empty file", file: "", content: "x", want: "x"},
		{name: "empties", file: "a\n", content: "", want: ""},
		{name: "adds a newline", file: "a", content: "a\n", want: "a\n"},
		{name: "takes a newline", file: "a\n", content: "a", want: "a"},
		{name: "the same", file: "a\n", content: "a\n", refusal: "changes nothing"},
		{name: "the same, CRLF", file: "a\r\n", content: "a\n", refusal: "changes nothing"},
		{name: "empty and empty", file: "", content: "", refusal: "changes nothing"},
		{name: "CRLF stays", file: "a\r\nb\r\n", content: "a\nx\n", want: "a\r\nx\r\n", note: kept},
		{name: "CRLF, no newline at the end", file: "a\r\nb\r\n", content: "a\nx", want: "a\r\nx", note: kept},
		{name: "CRLF, emptied", file: "a\r\n", content: "", want: ""},
		{name: "CRLF, one line", file: "a\r\nb", content: "c", want: "c"},
		{name: "CRLF asked for", file: "a\nb\n", content: "a\r\nb\r\n", want: "a\r\nb\r\n"},
		{name: "CRLF with CRLF", file: "a\r\nb\r\n", content: "a\r\nx\r\n", want: "a\r\nx\r\n"},
		{name: "mixed, lines keep theirs", file: "a\r\nb\nc\r\n", content: "a\nb\nx\n", want: "a\r\nb\nx\r\n", note: kept},
		{name: "mixed, line before", file: "a\r\nb\nc\r\n", content: "new\na\nb\nc\n", want: "new\r\na\r\nb\nc\r\n", note: kept},
		{name: "mixed, mostly LF", file: "a\r\nb\nc\n", content: "a\nb\nc\nd\n", want: "a\r\nb\nc\nd\n", note: kept},
		{name: "mixed, region", file: "a\r\nb\nc\nd\r\ne\r\n", content: "a\nx\ny\nd\ne\n", want: "a\r\nx\ny\nd\r\ne\r\n", note: kept},
		{name: "lone CR", file: "a\rb\n", content: "a\rc\n", want: "a\rc\n"},
		{name: "BOM stays", file: "\uFEFFa\n", content: "x\n", want: "\uFEFFx\n"},
		{name: "BOM in both", file: "\uFEFFa\n", content: "\uFEFFx\n", want: "\uFEFFx\n"},
		{name: "BOM added", file: "a\n", content: "\uFEFFa\n", want: "\uFEFFa\n"},
		{name: "UTF-16 LE", file: inUTF16("a\r\nb\r\n", false), content: "a\n😀\n", want: inUTF16("a\r\n😀\r\n", false), note: kept},
		{name: "UTF-16 BE", file: inUTF16("a\n", true), content: "ß\n", want: inUTF16("ß\n", true)},
		{name: "UTF-16, mark in content", file: inUTF16("a\n", true), content: "\uFEFFb\n", want: inUTF16("b\n", true)},
		{name: "UTF-16, odd length", file: "\xff\xfea", content: "x", refusal: "odd number"},
		{name: "Latin-1", file: "\xe9\nb\n", content: "é\nü\n", want: "\xe9\n\xfc\n"},
		{name: "Latin-1 to ASCII", file: "\xe9\n", content: "e\n", want: "e\n"},
		{name: "Latin-1 has no such character", file: "\xe9\n", content: "é\n漢\n", refusal: "no '漢'"},
		{name: "damaged UTF-8, written back", file: "é\xff\nb\n", content: "Ã©ÿ\nc\n", want: "é\xff\nc\n"},
		{name: "damaged UTF-8, more damage", file: "é\xff\nb\n", content: "Ã©ÿ\nü\n", refusal: "mixes UTF-8"},
		{name: "binary", file: "\x7fELF\x00", content: "x", refusal: "binary"},
		{name: "NUL", file: "a\n", content: "a\x00\n", refusal: "NUL"},
		{name: "elision", file: "a\nb\n", content: "a\n// ... existing code ...\n", refusal: "would be lost"},
		{name: "elision in a comment block", file: "a\nb\n", content: "x\n/* rest of the file remains unchanged */\n", refusal: "would be lost"},
		{name: "elision that was there", file: "a\n// ... existing code ...\n", content: "b\n  // ... existing code ...\n", want: "b\n  // ... existing code ...\n"},
		{name: "dots alone", file: "a\n", content: "def f():\n    ...\n", want: "def f():\n    ...\n"},
		{name: "repeated lines", file: "a\na\na\n", content: "a\na\n", want: "a\na\n"},
		{name: "letters in common", file: "ab\n", content: "b\n", want: "b\n"},
		{name: "NEL and others are no line ends", file: "a\u0085b\u2028c\n", content: "a\u0085b\u2028d\n", want: "a\u0085b\u2028d\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := map[string]any{"path": "a.go", "content": tt.content}
			expect(t, "whole", files{"a.go": tt.file}, args, files{"a.go": tt.want}, tt.refusal, tt.note)
		})
	}
	t.Run("creates", func(t *testing.T) {
		for _, content := range []string{"", "a\r\nb", "\uFEFFx\n", strings.Repeat("x\n", 100)} {
			expect(t, "whole", files{}, map[string]any{"path": "d/a", "content": content}, files{"d/a": content}, "", "")
		}
	})
}

func TestElision(t *testing.T) {
	for _, line := range []string{
		"// ... existing code ...", "// ...existing code...", "# ... rest of the code remains unchanged", "/* ... other methods ... */",
		"<!-- ... rest of the page ... -->", "{/* ... existing props ... */}", "-- ... remaining columns and definitions", "// … rest of implementation …",
		"... rest of file unchanged ...", "[rest of the file unchanged]", "// (rest of the code unchanged)", "// Rest of the code remains the same",
		"    # existing code here", "// ... (unchanged)", "// the rest of this function is unchanged", "/* previous code stays the same */",
		"// ... keep existing handlers ...", "# ... same as before ...", "; ... rest of section",
	} {
		_, _, r := apply(t, "whole", files{"a.go": "x\n"}, map[string]any{"path": "a.go", "content": "y\n" + line + "\n"})
		if r == nil || !strings.Contains(r.Reason, "would be lost") {
			t.Errorf("%q was written", line)
		}
	}
	for _, line := range []string{
		"...", "// ...", "f(rest...)", "...props,", "...existing,", "// the rest of the bytes are padding", "x = \"// ... existing code ...\"",
		"// Keep the existing behaviour for old clients.", "return append(other, rest...)", "# existing users are not asked again",
		"// and so on...", "// waits until the file is unchanged for a second", "<rest of=\"line\">", "log(\"rest of file unchanged\")",
		"// If the same code is given twice, the first wins.", "- existing tests still pass", "// TODO: remove the remaining lines",
	} {
		if _, _, r := apply(t, "whole", files{"a.go": "x\n"}, map[string]any{"path": "a.go", "content": line + "\n"}); r != nil {
			t.Errorf("%q was refused: %v", line, r)
		}
	}
	// Documentation shows code with such comments.
	doc := "```go\n// ... existing code ...\n```\n"
	if _, _, r := apply(t, "whole", files{}, map[string]any{"path": "README.md", "content": doc}); r != nil {
		t.Errorf("documentation: %v", r)
	}
	if _, _, r := apply(t, "whole", files{"a.md": "x\n"}, map[string]any{"path": "a.md", "content": "[rest of the document unchanged]\n"}); r == nil {
		t.Error("an elision in prose was written")
	}
}

func TestGenerated(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       bool
	}{
		{"a.go", "// Code generated by stringer; DO NOT EDIT.\n\npackage a\n", true},
		{"a.go", "// Copyright\n\n/*\nThis file was automatically generated.\n*/\npackage a\n", true},
		{"a.go", "package a\n\n// Code generated by hand\n", false},
		{"a.go", "/* licence */ package a // Code generated by x\n", false},
		{"a.go", "# Code generated by x\n", false},
		{"a.go", "// Generated by entities of the team.\n", false},
		{"a.go", "// It decodes what was generated by users.\n", false},
		{"a.py", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.\n", true},
		{"a.py", "#!/usr/bin/env python\n# Generated by protoc-gen-x\n", true},
		{"a.py", "// @generated\n", false},
		{"a.py", "\uFEFF# @generated\n", true},
		{"a.ts", "/**\n * @generated SignedSource<x>\n */\n", true},
		{"a.ts", "/** @generatedBy nobody */\n", false},
		{"a.html", "<!-- This file is auto-generated -->\n", true},
		{"a.sql", "-- Code generated by sqlc. DO NOT EDIT.\n", true},
		{"a.json", "{\"x\": \"@generated\"}\n", false},
		{"a.go", strings.Repeat("//\n", 41) + "// @generated\n", false},
		{"a.go", strings.Repeat("// long words\n", 100) + "// @generated\n", false},
		{"x/zz_generated.deepcopy.go", "", true},
		{"a.pb.go", "", true},
		{"a_pb2_grpc.py", "", true},
		{"q.gen.ts", "", true},
		{"generated.go", "", true},
		{"api.swagger.json", "", true},
		{"a.mock.ts", "", true},
		{"a.mocks.js", "", true},
		{"regenerated.go", "", false},
		{"pb.go", "", false},
		{"mock.go", "", false},
		{"generated/a.go", "", false},
		{"a.go", "", false},
	} {
		if why := edit.Generated(tt.name, []byte(tt.head)); (why != "") != tt.want {
			t.Errorf("%s %q: %q", tt.name, tt.head, why)
		}
	}
}
