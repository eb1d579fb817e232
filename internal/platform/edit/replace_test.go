package edit_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

type pair struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty"`
}

func replaceArgs(edits ...pair) map[string]any { return map[string]any{"path": "a.go", "edits": edits} }

// inUTF16 is a text as UTF-16 with its mark.
func inUTF16(s string, bigEndian bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\uFEFF" + s)) {
		if bigEndian {
			b.WriteByte(byte(u >> 8))
		}
		b.WriteByte(byte(u))
		if !bigEndian {
			b.WriteByte(byte(u >> 8))
		}
	}
	return b.String()
}

func TestReplace(t *testing.T) {
	one := func(old, fresh string) []pair { return []pair{{Old: old, New: fresh}} }
	every := func(old, fresh string) []pair { return []pair{{Old: old, New: fresh, All: true}} }
	for _, tt := range []struct {
		name, file string
		edits      []pair
		want       string
		refusal    string
		note       string
	}{
		// Exact.
		{name: "one place", file: "a b c\n", edits: one("b", "x"), want: "a x c\n"},
		{name: "no place", file: "alpha\nbeta\n", edits: one("gamma gamma", "x"), refusal: "Nothing in the file is like it"},
		{name: "two places", file: "a b\nb\n", edits: one("b", "x"), refusal: "fits 2 places (lines 1, 2)"},
		{name: "overlapping places", file: "aaa\n", edits: one("aa", "x"), refusal: "fits 2 places"},
		{name: "every place", file: "a b b\n", edits: every("b", "bb"), want: "a bb bb\n"},
		{name: "every place, overlapping", file: "aaaaa", edits: every("aa", "b"), want: "bba"},
		{name: "dollars are letters", file: "x\n", edits: one("x", `$1 $& \1 ${x} %s`), want: `$1 $& \1 ${x} %s` + "\n"},
		{name: "no pattern", file: "a.c\nabc\n", edits: one("a.c", "x"), want: "x\nabc\n"},
		{name: "delete", file: "a\nb\nc\n", edits: one("b\n", ""), want: "a\nc\n"},
		{name: "delete everything", file: "a\n", edits: one("a\n", ""), want: ""},
		{name: "nothing to do", file: "a\n", edits: one("a", "a"), refusal: "the same"},
		{name: "exact wins over tolerant", file: "x  = 1 \nx  = 1\n", edits: one("x  = 1\n", "y\n"), want: "x  = 1 \ny\n"},
		{name: "new text holds old", file: "f()\n", edits: one("f()", "g(f())"), want: "g(f())\n"},
		// Several edits.
		{name: "two edits", file: "a b c\n", edits: []pair{{Old: "c", New: "z"}, {Old: "a", New: "x"}}, want: "x b z\n"},
		{name: "one snapshot", file: "a b\n", edits: []pair{{Old: "a", New: "b"}, {Old: "b", New: "a"}}, want: "b a\n"},
		{name: "touching", file: "abcd", edits: []pair{{Old: "ab", New: "x"}, {Old: "cd", New: "y"}}, want: "xy"},
		{name: "overlap", file: "abc", edits: []pair{{Old: "ab", New: "x"}, {Old: "bc", New: "y"}}, refusal: "edit 2: overlaps with edit 1"},
		{name: "same twice", file: "ab", edits: []pair{{Old: "ab", New: "x"}, {Old: "ab", New: "y"}}, refusal: "overlaps"},
		{name: "all or nothing", file: "a\nb\n", edits: []pair{{Old: "a", New: "x"}, {Old: "nothing", New: "y"}}, refusal: "edit 2: old is not in the file"},
		{name: "of an edit's text", file: "a\n", edits: []pair{{Old: "a", New: "first"}, {Old: "first", New: "y"}}, refusal: "only in the new text of edit 1"},
		{name: "together nothing", file: "ab", edits: []pair{{Old: "a", New: ""}, {Old: "b", New: "ab"}}, refusal: "changes nothing"},
		// Whitespace.
		{name: "whitespace at the end", file: "a  \nb\nc\n", edits: one("a\nb", "a\nx"), want: "a  \nx\nc\n", note: "line 1, where the file has other whitespace"},
		{name: "whitespace at the end of old", file: "a\nb\nc\n", edits: one("a \nb\t\n", "x\ny\n"), want: "x\ny\nc\n", note: "whitespace"},
		{name: "blanks within a line", file: "a  b\n", edits: one("a b", "x"), refusal: `Line 1 is "a  b"`},
		{name: "tolerant in two places", file: "a \nb\na\t\nb\n", edits: one("a\nb", "x"), refusal: "fits 2 places (lines 1, 3)"},
		{name: "deeper in the file", file: "\tif a {\n\t\tb()\n\t}\n", edits: one("if a {\n\tb()\n}", "if a {\n\tc()\n}"), want: "\tif a {\n\t\tc()\n\t}\n", note: "indentation"},
		{name: "deeper, new levels", file: "    x:\n        y\n", edits: one("x:\n    y\n", "x:\n    if z:\n        y\n"), want: "    x:\n        if z:\n            y\n", note: "indentation"},
		{name: "less deep in the file", file: "a {\n  b\n}\n", edits: one("  a {\n    b\n  }", "  a {\n    c\n  }"), want: "a {\n  c\n}\n", note: "indentation"},
		{name: "less deep than it can be", file: "  a\n    b\n", edits: one("    a\n      b\n", "  a\nb\n"), refusal: "not clear how to indent"},
		{name: "tabs for spaces", file: "f {\n\tif a {\n\t\tb\n\t}\n}\n", edits: one("f {\n    if a {\n        b\n    }\n}", "f {\n    if a {\n        if c {\n            b\n        }\n    }\n}"), want: "f {\n\tif a {\n\t\tif c {\n\t\t\tb\n\t\t}\n\t}\n}\n", note: "indentation"},
		{name: "spaces for tabs", file: "f {\n    a\n}\n", edits: one("f {\n\ta\n}", "f {\n\tb\n\t\tc\n}"), want: "f {\n    b\n        c\n}\n", note: "indentation"},
		{name: "two for four", file: "a\n  b\n    c\n", edits: one("a\n    b\n        c", "a\n    b\n        d"), want: "a\n  b\n    d\n", note: "indentation"},
		{name: "first line from its letter", file: "  if a {\n      b\n  }\n", edits: one("if a {\n        b\n    }", "if a {\n        c\n    }"), want: "  if a {\n      c\n  }\n", note: "indentation"},
		{name: "first line from its letter, tabs", file: "\tif a {\n\t\tb\n\t}\n", edits: one("if a {\n        b\n    }", "if x {\n        c\n    }"), want: "\tif x {\n\t\tc\n\t}\n", note: "indentation"},
		{name: "other structure", file: "if a:\n    b\n    c\n", edits: one("if a:\n    b\nc", "x"), refusal: "old is not in the file"},
		{name: "indented in two places", file: "\ta\n\tb\n\t\ta\n\t\tb\n", edits: one("a\nb", "x"), refusal: "with other indentation, fits 2 places"},
		{name: "indented the other way round", file: "  a:\nb\n", edits: one("a:\n  b", "x"), refusal: "old is not in the file"},
		{name: "indented alike, not in the file", file: "  a\n    b\n        c\n", edits: one("a\nb\n    c", "x"), refusal: "old is not in the file"},
		{name: "from the blanks before a line end", file: "x  \nfoo \nbar\n", edits: one("\nfoo\nbar", "\nq"), want: "x  \nq\n", note: "whitespace"},
		{name: "blank lines are no place", file: "a\n\n\nb\n", edits: one("  \n \n", "x"), refusal: "old is not in the file"},
		// Indentation that old or new lacks.
		{name: "whole line from its letter deleted", file: "f {\n    a\n    b\n}\n", edits: one("a\n", ""), want: "f {\n    b\n}\n"},
		{name: "whole lines from their letter deleted", file: "f {\n\ta\n\tb\n}\n", edits: one("a\n\tb\n", ""), want: "f {\n}\n"},
		{name: "last line from its letter deleted", file: "f\n    a\n", edits: one("a\n", ""), want: "f\n"},
		{name: "all of a line deleted", file: "f {\n    a\n    b\n}\n", edits: one("a", ""), want: "f {\n\n    b\n}\n"},
		{name: "end of a line deleted", file: "    a b\n", edits: one(" b", ""), want: "    a\n"},
		{name: "beginning of a line deleted", file: "    a b\n", edits: one("a ", ""), want: "    b\n"},
		{name: "every such line deleted", file: "  a\n    b\n  b\n", edits: every("b\n", ""), want: "  a\n"},
		{name: "deleted, CRLF", file: "f {\r\n    a\r\n    b\r\n}\r\n", edits: one("a\r\n", ""), want: "f {\r\n    b\r\n}\r\n"},
		{name: "deleted, CRLF, tolerant", file: "f {\r\n    a\r\n    b\r\n}\r\n", edits: one("a\n", ""), want: "f {\r\n    b\r\n}\r\n", note: "line endings"},
		{name: "deleted, other whitespace", file: "f {\n    a \n    b\n}\n", edits: one("a\n    b\n", ""), want: "f {\n}\n", note: "whitespace"},
		{name: "first of two deleted", file: "f {\n    a\n    b\n}\n", edits: one("a\n    b\n", "    b\n"), want: "f {\n    b\n}\n"},
		{name: "first of two deleted, tolerant", file: "f {\n    a \n    b\n}\n", edits: one("a\n    b\n", "    b\n"), want: "f {\n    b\n}\n", note: "whitespace"},
		{name: "first of two deleted, from its letter", file: "f {\n    a\n    b\n}\n", edits: one("a\n    b\n", "b\n"), want: "f {\n    b\n}\n"},
		{name: "first of two deleted, unclear", file: "f {\n        a\n    b\n}\n", edits: one("a\n    b\n", "b\n"), refusal: "not clear how to indent"},
		{name: "a line made empty", file: "f {\n    a\n    b\n}\n", edits: one("a\n", "\n"), want: "f {\n\n    b\n}\n"},
		{name: "dedented lines for one", file: "f {\n    a\n    b\n}\n", edits: one("a", "if x {\n    a\n}"), want: "f {\n    if x {\n        a\n    }\n    b\n}\n"},
		{name: "dedented lines for one, in tabs", file: "f {\n\ta\n\tb\n}\n", edits: one("a", "if x {\n    a\n}"), want: "f {\n\tif x {\n\t\ta\n\t}\n\tb\n}\n"},
		{name: "dedented lines for one, in spaces", file: "f {\n  a\n  b\n}\n", edits: one("a", "if x {\n\ta\n}"), want: "f {\n  if x {\n    a\n  }\n  b\n}\n"},
		{name: "dedented lines for every one", file: "f {\n  a\n  {\n    a\n  }\n}\n", edits: every("a", "b\nc"), want: "f {\n  b\n  c\n  {\n    b\n    c\n  }\n}\n"},
		{name: "dedented lines, typography", file: "f {\n    “a”\n    b\n}\n", edits: one("\"a\"", "c\nd"), want: "f {\n    c\n    d\n    b\n}\n", note: "quotes"},
		{name: "dedented lines, CRLF", file: "f {\r\n    a\r\n    b\r\n}\r\n", edits: one("a\r\n", "c\r\nd\r\n"), want: "f {\r\n    c\r\n    d\r\n    b\r\n}\r\n"},
		{name: "part of the indentation", file: "f {\n        a\n        b\n}\n", edits: one("    a\n", "    c\n      d\n"), want: "f {\n        c\n          d\n        b\n}\n"},
		{name: "lines with the file's indentation", file: "f {\n    a\n    b\n}\n", edits: one("a", "if x {\n        a\n    }"), want: "f {\n    if x {\n        a\n    }\n    b\n}\n"},
		{name: "lines that leave the block", file: "f {\n    a\n}\n", edits: one("a", "b\n}\n\ng {\n    c"), want: "f {\n    b\n}\n\ng {\n    c\n}\n"},
		{name: "lines that may leave the block", file: "def f():\n    a\n\nx\n", edits: one("a", "b\n\ndef g():\n    c"), refusal: "old begins after the indentation of line 2"},
		{name: "lines that can't leave the block", file: "def f():\n    a\n    x\n", edits: one("a", "b\nc"), want: "def f():\n    b\n    c\n    x\n"},
		{name: "what is inside is not deeper", file: "def f():\n    a\n    x\n", edits: one("a", "if b:\n    a"), refusal: "not clear how to indent"},
		{name: "a block that may take what follows", file: "def f():\n    a\n    x\n", edits: one("a", "b\n\ndef g():\n    c"), refusal: "not clear how to indent"},
		{name: "a switch with the file's indentation", file: "f {\n\ta\n\tb\n}\n", edits: one("a", "switch x {\n\tcase 1:\n\t\ta\n\t}"), want: "f {\n\tswitch x {\n\tcase 1:\n\t\ta\n\t}\n\tb\n}\n"},
		{name: "a string of several lines", file: "def f():\n    a\n    x\n", edits: one("a", "a = \"\"\"\nb\n\"\"\""), refusal: "not clear how to indent"},
		{name: "directives", file: "f {\n    a\n    b\n}\n", edits: one("a", "c\n#ifdef X\nd\n#endif"), refusal: "not clear how to indent"},
		{name: "a comment before a line", file: "f {\n\ta {\n\t\tx\n\t}\n}\n", edits: one("a {\n", "/*\n * c\n */\na {\n"), want: "f {\n\t/*\n\t * c\n\t */\n\ta {\n\t\tx\n\t}\n}\n"},
		{name: "aligned by a single space", file: "f {\n\ta\n\tb\n}\n", edits: one("a", "/*\n * c\n */"), refusal: "not clear how to indent"},
		{name: "within a line", file: "f {\n    x = a\n    b\n}\n", edits: one("a", "c\nd"), want: "f {\n    x = c\nd\n    b\n}\n"},
		{name: "new dedented, as a kept line shows", file: "f {\n    a\n    b\n    c\n}\n", edits: one("    a\n    b\n", "a\nif x {\n    y\n}\n"), want: "f {\n    a\n    if x {\n        y\n    }\n    c\n}\n", note: "it was indented"},
		{name: "new less indented", file: "f {\n    a\n    b\n    c\n}\n", edits: one("    a\n    b\n", "x\ny\n"), want: "f {\nx\ny\n    c\n}\n", note: "it was written so"},
		{name: "new less indented on purpose", file: "f {\n    a\n    b\n    c\n}\n", edits: one("    a\n    b\n", "a\nb\n"), want: "f {\na\nb\n    c\n}\n"},
		{name: "new less indented, at the end of a block", file: "f:\n    a\n    b\nc\n", edits: one("    a\n    b\n", "a\nx\n"), want: "f:\na\nx\nc\n"},
		{name: "reindented, spaces in new for tabs", file: "f {\n\t\ta\n\t\tb\n}\n", edits: one("a\nb\n", "if x {\n    a\n    b\n}\n"), want: "f {\n\t\tif x {\n\t\t\ta\n\t\t\tb\n\t\t}\n}\n", note: "indentation"},
		{name: "reindented, tabs in new for spaces", file: "f {\n  {\n    a\n    b\n  }\n}\n", edits: one("a\nb\n", "if x {\n\ta\n\tb\n}\n"), want: "f {\n  {\n    if x {\n      a\n      b\n    }\n  }\n}\n", note: "indentation"},
		{name: "reindented, not so many spaces", file: "f {\n\t\ta\n\t\tb\n}\n", edits: one("a\nb\n", "if x {\n    a\n      b\n}\n"), refusal: "not clear how to indent"},
		// Line endings.
		{name: "CRLF file", file: "a\r\nb\r\nc\r\n", edits: one("a\nb\n", "a\nx\ny\n"), want: "a\r\nx\r\ny\r\nc\r\n", note: "line endings"},
		{name: "CRLF file, one line", file: "a\r\nb\r\n", edits: one("a", "x\ny"), want: "x\r\ny\r\nb\r\n"},
		{name: "CRLF edit", file: "a\nb\n", edits: one("a\r\nb", "x\r\ny"), want: "x\ny\n", note: "line endings"},
		{name: "CRLF in new only", file: "a\nb\n", edits: one("a", "x\r\ny"), want: "x\ny\nb\n", note: "line endings of the new text"},
		{name: "mixed, untouched stay", file: "a\r\nb\nc\r\n", edits: one("a\nb\nc", "a\nb\nx"), want: "a\r\nb\nx\r\n", note: "line endings"},
		{name: "mixed, region's ending", file: "a\nb\nc\r\nd\r\ne\r\n", edits: one("a\nb\n", "a\nx\nb\n"), want: "a\nx\nb\nc\r\nd\r\ne\r\n"},
		{name: "mixed, region against the file", file: "a\nb\nc\nd\r\ne\r\n", edits: one("d\ne\n", "x\ne\n"), want: "a\nb\nc\nx\r\ne\r\n", note: "line endings"},
		{name: "a newline that is there", file: "a\r\na", edits: one("a\n", "x\n"), want: "x\r\na", note: "line endings"},
		{name: "ending only", file: "a\r\nb\r\n", edits: every("\r\n", "\n"), want: "a\nb\n"},
		{name: "from the line end", file: "a\r\nb\r\n", edits: one("\nb", "\nx"), want: "a\r\nx\r\n"},
		{name: "every place in CRLF", file: "a\r\nb\r\na\r\nb\r\n", edits: every("a\nb", "x\ny"), want: "x\r\ny\r\nx\r\ny\r\n", note: "line endings"},
		{name: "a lone CR is no ending", file: "a\rb", edits: one("a\nb", "x"), refusal: "old is not in the file"},
		{name: "no newline at the end", file: "a\nb", edits: one("b\n", "x\ny\n"), want: "a\nx\ny", note: "line endings"},
		{name: "no second newline at the end", file: "a\n", edits: one("a\n\n", "x"), refusal: "old is not in the file"},
		{name: "line deleted at the end", file: "a \nb \nc\n", edits: one("a\nb", "a"), want: "a \nc\n", note: "whitespace"},
		{name: "line added at the end", file: "a \nb\nc\n", edits: one("a\nb", "a\nb\nx"), want: "a \nb\nx\nc\n", note: "whitespace"},
		// Typography.
		{name: "quotes", file: "say “hi” and ‘bye’\n", edits: one(`say "hi" and 'bye'`, `say $1 "x"`), want: `say $1 "x"` + "\n", note: "quotes"},
		{name: "ellipsis and dash", file: "wait… 1–2 — no\n", edits: one("wait... 1-2 -- no", "y"), want: "y\n", note: "quotes"},
		{name: "typed ellipsis", file: "wait... \"x\"\n", edits: one("wait… “x”", "y"), want: "y\n", note: "quotes"},
		{name: "no-break space", file: "10\u00a0km\n", edits: one("10 km", "11 km"), want: "11 km\n", note: "quotes"},
		{name: "decrement is no dash", file: "i-\n", edits: one("i--", "j"), refusal: "old is not in the file"},
		{name: "untouched line keeps quotes", file: "“a”\nb\n", edits: one("\"a\"\nb", "\"a\"\nc"), want: "“a”\nc\n", note: "quotes"},
		{name: "other letters", file: "naïve\n", edits: one("naive", "x"), refusal: "old is not in the file"},
		// Encodings.
		{name: "BOM", file: "\uFEFFa\nb\n", edits: one("a\n", "x\n"), want: "\uFEFFx\nb\n"},
		{name: "UTF-16 LE", file: inUTF16("a\r\nß😀\r\n", false), edits: one("ß", "é😀"), want: inUTF16("a\r\né😀😀\r\n", false)},
		{name: "UTF-16 BE", file: inUTF16("a\nb\n", true), edits: one("b", "x"), want: inUTF16("a\nx\n", true)},
		{name: "UTF-16 of odd length", file: inUTF16("a", false) + "x", edits: one("a", "x"), refusal: "odd number"},
		{name: "UTF-16 of half a character", file: "\xff\xfe\x00\xd8a\x00", edits: one("a", "x"), refusal: "half a character"},
		{name: "Latin-1", file: "caf\xe9 a\n", edits: one("café", "thé"), want: "th\xe9 a\n"},
		{name: "Latin-1 has no such character", file: "caf\xe9\n", edits: one("caf", "€"), refusal: "Latin-1, which has no '€'"},
		{name: "damaged UTF-8", file: "é \xff a\n", edits: one("a", "b"), want: "é \xff b\n"},
		{name: "damaged UTF-8, more damage", file: "é \xff a\n", edits: one("a", "ü"), refusal: "mixes UTF-8"},
		{name: "binary", file: "a\x00b", edits: one("a", "x"), refusal: "is a binary file"},
		{name: "UTF-32", file: "\xff\xfe\x00\x00a\x00\x00\x00", edits: one("a", "x"), refusal: "is a binary file"},
		{name: "NUL in new", file: "a", edits: one("a", "x\x00"), refusal: "NUL"},
		// Elisions, empty old.
		{name: "elision", file: "a\nb\nc\n", edits: one("a\nb\nc", "x\n// ... rest of the code unchanged ..."), refusal: "would be lost"},
		{name: "elision that was there", file: "a\n# ... existing code ...\n", edits: one("a\n# ... existing code ...", "b\n# ... existing code ..."), want: "b\n# ... existing code ...\n"},
		{name: "old empty", file: "a\n", edits: one("", "x"), refusal: "old is empty"},
		{name: "old empty, file empty", file: "", edits: one("", "x\n"), want: "x\n"},
		{name: "file empty", file: "", edits: one("a", "x\n"), refusal: "the file is empty"},
		{name: "BOM alone", file: "\uFEFF", edits: one("", "x"), want: "\uFEFFx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, "replace", files{"a.go": tt.file}, replaceArgs(tt.edits...), files{"a.go": tt.want}, tt.refusal, tt.note)
		})
	}
}

func TestReplaceCreates(t *testing.T) {
	expect(t, "replace", files{}, replaceArgs(pair{New: "a\n"}), files{"a.go": "a\n"}, "", "")
	expect(t, "replace", files{}, replaceArgs(pair{Old: "x", New: "a\n"}), nil, "does not exist", "")
	expect(t, "replace", files{}, replaceArgs(pair{New: "a\n"}, pair{New: "b\n"}), nil, "does not exist", "")
	_, res, _ := apply(t, "replace", files{}, replaceArgs(pair{New: "a\nb"}))
	if res.Changes[0].Before != nil || res.Added != 2 || res.Removed != 0 {
		t.Errorf("change %+v, +%d -%d", res.Changes[0], res.Added, res.Removed)
	}
}

func TestReplaceTooLarge(t *testing.T) {
	args := replaceArgs(pair{Old: "a", New: strings.Repeat("x", 1000), All: true})
	expect(t, "replace", files{"a.go": strings.Repeat("a", 70_000)}, args, nil, "would have 66 MB, and the limit is 64 MB", "")
}

// The nearest text is found in a long file, and the first difference is told.
func TestReplaceNearest(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "\tvalue%d := compute(%d, other)\n", i, i*7)
	}
	b.WriteString("func target(a, b int) error {\n\treturn check(a, b)\n}\n")
	_, _, r := apply(t, "replace", files{"a.go": b.String()}, replaceArgs(pair{Old: "func target(a int) error {\n\treturn check(a)\n}", New: "x"}))
	if r == nil || r.Line != 3001 || !strings.HasPrefix(r.Nearest, "func target(a, b int) error {\n\treturn check(a, b)\n}") {
		t.Fatalf("nearest: %v", r)
	}
	if want := `Line 3001 is "func target(a, b int) error {"; the edit has "func target(a int) error {".`; r.Hint != want {
		t.Errorf("hint %q, want %q", r.Hint, want)
	}
	_, _, r = apply(t, "replace", files{"a.go": "func a() {\n\tx()\n"}, replaceArgs(pair{Old: "func a() {\n\tx()\n\ty()", New: "z"}))
	if r == nil || r.Line != 1 || !strings.Contains(r.Hint, "The file ends there") {
		t.Errorf("beyond the end: %v", r)
	}
}

// Files and edits that repeat themselves end soon, too.
func TestReplaceRepetitive(t *testing.T) {
	lines := strings.Repeat("a\n", 200_000)
	for _, tt := range []struct{ name, file, old, refusal string }{
		{"dashes", strings.Repeat("-", 300_000) + "y z", strings.Repeat("-", 20_000) + "y\u00a0x", "takes too long"},
		{"blanks", strings.Repeat(" ", 1_000_000) + "\nfoo", "x\nfoo", "old is not in the file"},
		{"blanks before", strings.Repeat(" ", 1_000_000) + "\nfoo", " \n\nfoo", "old is not in the file"},
		{"lines", lines, strings.Repeat("  a\n", 50_000) + "  b\n  a", "old is not in the file"},
		{"lines that fit everywhere", lines, strings.Repeat("  a\n", 50_000), "takes too long"},
		{"lines with other endings", strings.Repeat("a\r\n", 200_000), strings.Repeat("a\n", 50_000), "fits"},
		{"lines with other indentation", strings.Repeat("a\n b\n", 100_000), strings.Repeat("a\n b\n", 5_000) + "a\nb\n", "takes too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, "replace", files{"a.go": tt.file}, replaceArgs(pair{Old: tt.old, New: "x\n"}), nil, tt.refusal, "")
		})
	}
}
