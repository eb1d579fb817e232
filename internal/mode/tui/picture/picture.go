// Package picture shows pictures in the terminal, by the protocols of kitty, iTerm2 and
// sixel. [Detect] chooses the protocol; [Render] gives a [Picture]: a sequence and the
// cells it takes. Where there is none, card.Image says in words what the picture is.
//
// Bytes of others never reach the terminal. A picture is decoded, made as small as it
// is shown, and encoded anew; one that would take too much memory is refused before it
// is decoded. What cannot be shown is an error, never half a sequence.
//
// Render takes milliseconds, of a large photograph some hundreds: call it outside of
// the face's goroutine, once for a picture.
//
// # What a screen has to do
//
// The sequence draws from where the cursor is, down and to the right, and may leave
// the cursor anywhere. So whoever draws it writes Rows blank rows first (terminals do
// not all scroll for pictures), moves up to the first of them, and writes
// [Picture.Guarded], which saves and restores the cursor. It is written once: drawing
// a row of it again erases the picture, or a part of it.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"  // decoder
	_ "image/jpeg" // decoder
	_ "image/png"  // decoder

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoder

	"github.com/burin-dev/burin/llm"
)

// Limits of pictures.
const (
	MaxCols = 100 // cells
	MaxRows = 20

	maxEdge   = 2000          // pixels that are sent, each way
	maxPixels = 50_000_000    // that are decoded
	maxBytes  = 32 << 20      // of a file
	maxMemory = 4 * maxPixels // bytes of a decoded picture
	maxSend   = 8 << 20       // bytes of a sequence
	cellW     = 10            // pixels of a cell where the terminal does not say
	cellH     = 20            //
	sharp     = 2             // times as many pixels then: the cells may be larger
	maxCell   = 200           // pixels; what is more is not believed
)

// ErrTooLarge is that a picture would take too much memory, or its sequence is too long.
var ErrTooLarge = errors.New("the picture is too large to show")

// Options say how a picture is shown.
type Options struct {
	Protocol Protocol
	// Cols and Rows are the most cells it may take; 0 is MaxCols and MaxRows, which
	// hold in any case.
	Cols, Rows int
	// CellWidth and CellHeight are the pixels of a cell; 0 where not known.
	CellWidth, CellHeight int
}

// Picture is a picture ready for the terminal.
type Picture struct {
	Sequence   string
	Cols, Rows int // cells it takes
}

// Guarded is the sequence between saving and restoring the cursor.
func (p Picture) Guarded() string { return "\x1b7" + p.Sequence + "\x1b8" }

// Render makes a picture ready. Of animations it is the first frame.
func Render(img llm.Image, o Options) (Picture, error) {
	if o.Protocol == None {
		return Picture{}, errors.New("the terminal cannot show pictures")
	}
	src, err := decode(img.Data)
	if err != nil {
		return Picture{}, err
	}
	cw, ch, scale := o.CellWidth, o.CellHeight, 1.0
	if cw <= 0 || ch <= 0 || cw > maxCell || ch > maxCell {
		if o.Protocol == Sixel { // it is shown pixel by pixel, and would reach over its rows
			return Picture{}, errors.New("the terminal does not report its cell size")
		}
		cw, ch, scale = cellW, cellH, sharp
	}
	size := src.Bounds().Size()
	cols, rows, w, h := place(size.X, size.Y, limit(o.Cols, MaxCols), limit(o.Rows, MaxRows), cw, ch)
	// As many pixels as are shown: not more than there are, nor than are sent.
	scale = min(scale, float64(size.X)/float64(w), float64(maxEdge)/float64(cols*cw), float64(maxEdge)/float64(rows*ch))
	pixels := func(n int) int { return max(1, int(float64(n)*scale+0.5)) }
	shown := shrink(src, pixels(w), pixels(h), pixels(cols*cw), pixels(rows*ch))
	p := Picture{Cols: cols, Rows: rows}
	switch o.Protocol {
	case Kitty:
		p.Sequence, err = kitty(shown, cols, rows)
	case ITerm2:
		p.Sequence, err = iterm2(shown, cols, rows)
	case Sixel:
		p.Sequence = sixel(shown)
	}
	if err != nil {
		return Picture{}, fmt.Errorf("encode the picture: %w", err)
	}
	if len(p.Sequence) > maxSend {
		return Picture{}, ErrTooLarge
	}
	return p, nil
}

func limit(want, most int) int {
	if want <= 0 || want > most {
		return most
	}
	return want
}

// decode reads a picture whose size is known to be bearable.
func decode(data []byte) (image.Image, error) {
	if len(data) > maxBytes {
		return nil, ErrTooLarge
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	if c.Width <= 0 || c.Height <= 0 {
		return nil, errors.New("read the picture: it is empty")
	}
	if c.Width > maxPixels || c.Height > maxPixels || c.Width*c.Height > maxPixels || c.Width*c.Height*depth(c.ColorModel) > maxMemory {
		return nil, fmt.Errorf("%d×%d pixels: %w", c.Width, c.Height, ErrTooLarge)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	if img.Bounds().Empty() {
		return nil, errors.New("read the picture: it is empty")
	}
	return img, nil
}

// depth is how many bytes a pixel takes.
func depth(m color.Model) int {
	switch m {
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}

// place fits a picture into cells: as large as it is, at most so many columns and
// rows, with its proportions. W and h are the pixels it then takes.
func place(width, height, maxCols, maxRows, cw, ch int) (cols, rows, w, h int) {
	w, h = min(width, maxCols*cw), 0
	h = max(1, int(int64(height)*int64(w)/int64(width)))
	if h > maxRows*ch {
		h = maxRows * ch
		w = max(1, int(int64(width)*int64(h)/int64(height)))
	}
	return min(maxCols, (w+cw-1)/cw), min(maxRows, (h+ch-1)/ch), w, h
}

// roughly is from how many pixels a picture is first shrunk roughly, to twice what is
// shown: the better way takes memory in proportion to the height it begins with.
const roughly = 4_000_000

// shrink gives a picture of w×h pixels at the upper left of a ground that is not drawn
// and fills whole cells: a terminal that stretched it over them would change its shape.
func shrink(src image.Image, w, h, groundW, groundH int) *image.NRGBA {
	b := src.Bounds()
	dst := image.NewNRGBA(image.Rect(0, 0, max(w, groundW), max(h, groundH)))
	at := image.Rect(0, 0, w, h)
	if b.Size() == at.Size() {
		draw.Draw(dst, at, src, b.Min, draw.Src)
		return dst
	}
	if b.Dx()*b.Dy() > roughly && b.Dx() > 2*w && b.Dy() > 2*h {
		half := image.NewNRGBA(image.Rect(0, 0, 2*w, 2*h))
		draw.ApproxBiLinear.Scale(half, half.Rect, src, b, draw.Src, nil)
		src, b = half, half.Rect
	}
	draw.BiLinear.Scale(dst, at, src, b, draw.Src, nil)
	return dst
}
