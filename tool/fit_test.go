package tool_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/tool"
)

func TestFit(t *testing.T) {
	all := lines(1, 100)
	for _, tt := range []struct {
		name, in string
		o        tool.SinkOptions
		text     string
		by       string
		notice   string
	}{
		{"fits", all, tool.SinkOptions{Head: 500, Tail: 500}, all, "", ""},
		{"empty", "", tool.SinkOptions{}, "", "", ""},
		{
			"head and tail", all,
			tool.SinkOptions{Head: 25, Tail: 15},
			lines(1, 2) + "[… 97 lines elided (970 B) …]\n" + lines(100, 100), "bytes",
			"[Showing lines 1-2 and 100 of 100; 97 lines in the middle (970 B) left out. Read artifact://0 for the full output]",
		},
		{
			"head alone", all,
			tool.SinkOptions{Head: 25},
			lines(1, 2) + "[… 98 lines elided (980 B) …]\n", "bytes",
			"[Showing lines 1-2 of 100. Read artifact://0 for the full output]",
		},
		{"long line that fits", strings.Repeat("x", 2000), tool.SinkOptions{}, strings.Repeat("x", 2000), "", ""},
		{"columns", "short\nlonger line\n", tool.SinkOptions{Columns: 6}, "short\nlonger…\n", "columns", "[1 long line cut to 6 bytes. Read artifact://0 for the full output]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{}
			tt.o.Artifacts = s
			got := tool.Fit(tt.in, tt.o)
			if got.Text != tt.text || got.By != tt.by || got.Notice() != tt.notice {
				t.Errorf("by %q shows %q\n%s", got.By, got.Text, got.Notice())
			}
			if got.Bytes != int64(len(tt.in)) || got.Truncated != (len(s.items) == 1) {
				t.Errorf("%d bytes, truncated %v, %d artifacts", got.Bytes, got.Truncated, len(s.items))
			}
			if got.Truncated && s.items[0].data.String() != tt.in {
				t.Error("the artifact is not the whole")
			}
		})
	}
	if got := tool.Fit(lines(1, 5200), tool.SinkOptions{}); len(got.Text) < 40_000 || len(got.Text) > 41_100 {
		t.Errorf("without limits %d bytes of 52,000 are shown", len(got.Text))
	}
}

func TestNoticeOfOthers(t *testing.T) {
	for want, o := range map[string]tool.Output{
		"": {Lines: 10, Shown: 10},
		"[Showing lines 1-3 of 10. Read artifact://4 for the full output]": {Truncated: true, By: "lines", Lines: 10, Shown: 3, HeadLines: 3, Artifact: "4"},
		"[Showing none of 10 lines (2.0 MB)]":                              {Truncated: true, By: "bytes", Lines: 10, Bytes: 2 << 20},
		"[Showing 1.0 GB of 3.0 GB]":                                       {Truncated: true, By: "bytes", Lines: 1, Shown: 1, Bytes: 3 << 30, ElidedBytes: 2 << 30},
	} {
		if got := o.Notice(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
