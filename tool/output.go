package tool

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// Output is the part of a longer text that a sink or a tool shows.
type Output struct {
	Text      string `json:"-"` // the window, with a mark where the middle is missing
	Truncated bool   `json:"truncated,omitempty"`
	By        string `json:"truncatedBy,omitempty"` // "bytes", "lines", "columns"
	Lines     int    `json:"totalLines"`            // of the whole text
	Bytes     int64  `json:"totalBytes"`
	Shown     int    `json:"outputLines"`
	HeadLines int    `json:"headLines,omitempty"` // how many lines of Shown are from the beginning; the rest is from the end

	ElidedBytes int64 `json:"elidedBytes,omitempty"` // bytes of lines that are not shown at all
	CutLines    int   `json:"cutLines,omitempty"`    // lines shown without their end
	Columns     int   `json:"columns,omitempty"`     // bytes that those lines were cut to

	Artifact      string `json:"artifactId,omitempty"`    // id of the artifact with the whole text
	ArtifactLost  int64  `json:"artifactLost,omitempty"`  // bytes that even the artifact doesn't have
	ArtifactError string `json:"artifactError,omitempty"` // why there is no artifact
}

// elide sets o to a window without its middle or its beginning.
func (o *Output) elide(head, tail []byte, gone int64) {
	o.Truncated, o.By = true, "bytes"
	o.ElidedBytes = gone
	o.HeadLines = countLines(head)
	o.Shown = o.HeadLines + countLines(tail)
	if len(head) == 0 {
		o.Text = string(tail)
		return
	}
	var b strings.Builder
	b.Grow(len(head) + len(tail) + 64)
	b.Write(head)
	if head[len(head)-1] != '\n' {
		b.WriteByte('\n')
	}
	if n := o.Lines - o.Shown; n > 0 {
		fmt.Fprintf(&b, "[… %s elided (%s) …]\n", prose.Count(n, "line"), size(gone))
	} else {
		fmt.Fprintf(&b, "[… %s elided …]\n", size(gone))
	}
	b.Write(tail)
	o.Text = b.String()
}

func countLines(p []byte) int {
	n := bytes.Count(p, []byte{'\n'})
	if len(p) > 0 && p[len(p)-1] != '\n' {
		n++
	}
	return n
}

// Notice returns the bracketed line that tells the model what is missing and how to get it, or
// "" if nothing is missing.
func (o Output) Notice() string {
	if !o.Truncated {
		return ""
	}
	var said []string
	if o.By != "columns" {
		said = append(said, o.showing())
	}
	if o.CutLines > 0 {
		said = append(said, fmt.Sprintf("%s cut to %d bytes", prose.Count(o.CutLines, "long line"), o.Columns))
	}
	switch {
	case o.Artifact != "" && o.ArtifactLost > 0:
		said = append(said, fmt.Sprintf("Read artifact://%s for the output without %s of its middle", o.Artifact, size(o.ArtifactLost)))
	case o.Artifact != "":
		said = append(said, fmt.Sprintf("Read artifact://%s for the full output", o.Artifact))
	case o.ArtifactError != "":
		said = append(said, fmt.Sprintf("The full output could not be kept (%s)", prose.Short(o.ArtifactError, 200)))
	}
	return "[" + strings.Join(said, ". ") + "]"
}

// showing says which part of the whole is shown.
func (o Output) showing() string {
	tail := o.Shown - o.HeadLines
	if o.Shown >= o.Lines { // parts of one or two long lines
		return fmt.Sprintf("Showing %s of %s", size(o.Bytes-o.ElidedBytes), size(o.Bytes))
	}
	switch {
	case o.HeadLines == 0 && tail == 0:
		return fmt.Sprintf("Showing none of %s (%s)", prose.Count(o.Lines, "line"), size(o.Bytes))
	case o.HeadLines == 0:
		return fmt.Sprintf("Showing lines %s of %d", span(o.Lines-tail+1, o.Lines), o.Lines)
	case tail == 0:
		return fmt.Sprintf("Showing lines %s of %d", span(1, o.HeadLines), o.Lines)
	}
	return fmt.Sprintf("Showing lines %s and %s of %d; %s in the middle (%s) left out", span(1, o.HeadLines),
		span(o.Lines-tail+1, o.Lines), o.Lines, prose.Count(o.Lines-o.Shown, "line"), size(o.ElidedBytes))
}

func span(from, to int) string {
	if from == to {
		return strconv.Itoa(from)
	}
	return strconv.Itoa(from) + "-" + strconv.Itoa(to)
}

// size formats n bytes for readers.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
