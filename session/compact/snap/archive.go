package snap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"image/png"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Archive is history as pictures, in the form in which session files have it.
type Archive struct {
	Frames []Frame `json:"frames"`
	// TotalChars counts the characters that were ever put into the archive, and
	// TruncatedChars those of them that are in it no more.
	TotalChars     int `json:"totalChars"`
	TruncatedChars int `json:"truncatedChars"`
	// TextTail is the newest part, for which there was no frame yet: text as
	// [Serialize] writes it.
	TextTail string `json:"textTail,omitempty"`
}

// Frame is one picture. Those of other programs may have shapes that burin has not.
type Frame struct {
	Data        []byte `json:"data"` // base64 in JSON
	MIMEType    string `json:"mimeType"`
	Cols        int    `json:"cols"` // cells of a line
	Rows        int    `json:"rows"` // lines of a column
	Chars       int    `json:"chars"`
	Font        string `json:"font,omitempty"`
	Variant     string `json:"variant,omitempty"` // the ink
	LineRepeat  int    `json:"lineRepeat,omitempty"`
	Columns     int    `json:"columns,omitempty"`
	StopwordDim bool   `json:"stopwordDim,omitempty"`
	Detail      string `json:"detail,omitempty"`
}

// Limits of archives. What is beyond them is left out where one is read, with an
// error that says so.
const (
	maxFrames     = 16       // of an archive; the rest is left out
	maxFrameBytes = 4 << 20  // of a picture as it is stored
	maxRaw        = 64 << 20 // of the JSON; more is not read at all
	maxTail       = 1 << 20  // bytes of the text tail; the rest is left out
	maxChars      = 1 << 40  // that an archive may claim to have had
)

const (
	pngType    = "image/png"
	mostFrames = 200 // of one rendering: no provider takes more pictures
)

// RenderOptions bound a rendering.
type RenderOptions struct {
	// MaxFrames is 8 if it is 0, and at most 200. What finds no room is the text tail, of
	// which as much stays as two frames hold: its beginning and its end.
	MaxFrames int
}

// Render prints text on frames of that shape. The text is one that [Serialize] wrote,
// or any other: line ends become █, and what the fonts do not have is folded. The same
// text gives the same pixels. It stops between frames when ctx ends.
func Render(ctx context.Context, text string, s Shape, o RenderOptions) (Archive, error) {
	limit := o.MaxFrames
	if limit <= 0 {
		limit = defaultFrames
	}
	var k cleaner
	return render(ctx, k.append(nil, text, printed), s, min(limit, mostFrames))
}

// render prints codes on at most that many frames.
func render(ctx context.Context, codes []byte, s Shape, limit int) (Archive, error) {
	if err := s.check(); err != nil {
		return Archive{}, fmt.Errorf("print history in the shape %q: %w", s.Name, err)
	}
	a := Archive{TotalChars: cells(codes)}
	p := newPager(s, codes)
	press := newPress(s)
	for len(a.Frames) < limit && !p.done() {
		if err := ctx.Err(); err != nil {
			return Archive{}, err
		}
		f := s.frame()
		f.Chars = p.next()
		f.Rows = p.used
		var err error
		if f.Data, err = press.png(p.cells, p.used); err != nil {
			return Archive{}, err
		}
		a.Frames = append(a.Frames, f)
	}
	a.TextTail, a.TruncatedChars = tailOf(p, 2*s.Capacity())
	return a, nil
}

// tailOf is what a pager has not printed, without its middle if it is longer than
// limit, and how much that was.
func tailOf(p *pager, limit int) (text string, gone int) {
	if p.done() {
		return "", 0
	}
	var tail []byte
	if p.dim {
		tail = append(tail, codeDimOn)
	}
	tail = append(tail, p.codes[p.at:]...)
	kept, gone := elide(nil, tail, limit, 0.5)
	return textOf(kept), gone
}

// frame describes a frame of the shape, but for what is on it.
func (s Shape) frame() Frame {
	f := Frame{
		MIMEType: pngType, Cols: s.Cols(), Font: s.Font, Variant: string(s.Ink),
		StopwordDim: s.DimStopwords, Detail: s.Detail,
	}
	if s.Columns > 1 {
		f.Columns = s.Columns
	}
	return f
}

// preserved is what the session file keeps of the strategies of a compaction.
type preserved struct {
	Snap json.RawMessage `json:"snapcompact"`
}

// archiveOf reads the archive of a compaction, which anybody may have written. What
// is not sound is left out and counted as truncated; the error says why. There may be
// no archive, which is no error.
func archiveOf(e *transcript.Entry) (Archive, error) {
	if e == nil || len(e.PreserveData) == 0 {
		return Archive{}, nil
	}
	if len(e.PreserveData) > maxRaw {
		return Archive{}, fmt.Errorf("the pictures of the history have %d bytes (at most %d are read)", len(e.PreserveData), maxRaw)
	}
	var p preserved
	if json.Unmarshal(e.PreserveData, &p) != nil || len(p.Snap) == 0 {
		return Archive{}, nil // of another strategy
	}
	var raw struct {
		Archive
		Frames []json.RawMessage `json:"frames"`
	}
	if err := json.Unmarshal(p.Snap, &raw); err != nil {
		return Archive{}, fmt.Errorf("read the pictures of the history: %w", err)
	}
	a := raw.Archive
	a.TotalChars, a.TruncatedChars = claimed(a.TotalChars), claimed(a.TruncatedChars)
	var k cleaner
	tail := k.append(nil, a.TextTail[:min(len(a.TextTail), maxTail)], printed)
	a.TextTail = textOf(tail)
	var errs []error
	for i, data := range raw.Frames {
		if i == maxFrames {
			errs = append(errs, fmt.Errorf("%d pictures of the history are left out: at most %d are read", len(raw.Frames)-i, maxFrames))
			break
		}
		f, err := readFrame(data)
		if err != nil {
			a.TruncatedChars = claimed(a.TruncatedChars + f.Chars)
			errs = append(errs, fmt.Errorf("picture %d of the history is left out: %w", i+1, err))
			continue
		}
		a.Frames = append(a.Frames, f)
	}
	return a, errors.Join(errs...)
}

func claimed(n int) int { return min(max(n, 0), maxChars) }

// readFrame reads one frame and makes sure that it can be decoded.
func readFrame(data []byte) (Frame, error) {
	var f Frame
	err := json.Unmarshal(data, &f)
	f.Chars = claimed(f.Chars)
	switch {
	case err != nil:
		return f, fmt.Errorf("read it: %w", err)
	case f.MIMEType != pngType:
		return f, fmt.Errorf("it is of type %q, not %s", f.MIMEType, pngType)
	case len(f.Data) > maxFrameBytes:
		return f, fmt.Errorf("it has %d bytes (at most %d)", len(f.Data), maxFrameBytes)
	}
	c, err := png.DecodeConfig(bytes.NewReader(f.Data))
	if err != nil {
		return f, fmt.Errorf("read it: %w", err)
	}
	if m := c.ColorModel; m == color.RGBA64Model || m == color.NRGBA64Model || m == color.Gray16Model {
		return f, errors.New("its colors have 16 bits")
	}
	if c.Width > maxSize || c.Height > maxSize || c.Width*c.Height > maxPixels {
		return f, fmt.Errorf("it has %dx%d pixels (at most %d a side and %d in all)", c.Width, c.Height, maxSize, maxPixels)
	}
	if _, err := png.Decode(bytes.NewReader(f.Data)); err != nil {
		return f, fmt.Errorf("decode it: %w", err)
	}
	return f, nil
}

// Images returns the frames of a compaction as blocks, the oldest first, to stand behind
// the text of its message. Entries of other strategies have none. Frames that are no
// sound PNG within the limits are left out; the error then says which, and the others
// are given nevertheless. Each frame is decoded to know that, which takes 5
// to 20 ms a frame: keep what it gives as long as the entry is the last compaction.
func Images(e *transcript.Entry) ([]llm.Block, error) {
	a, err := archiveOf(e)
	var blocks []llm.Block
	for _, f := range a.Frames {
		blocks = append(blocks, llm.Image{MIME: f.MIMEType, Data: f.Data})
	}
	return blocks, err
}
