package snap

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Ink is how the text of a frame is colored.
type Ink string

// Inks. Dimmed text is grey in both.
const (
	InkBlack    Ink = "bw"   // black
	InkSentence Ink = "sent" // one of six dark hues, another one for each sentence
)

// Shape is how a frame looks.
type Shape struct {
	Name         string
	Font         string // "5x8", "6x12" or "8x13": the size of its glyphs in pixels
	CellW, CellH int    // pixels; the width is that of the font, the height at least its height and at most 16
	Size         int    // pixels: the width of a frame, and the most that its height may be
	Ink          Ink
	Columns      int  // 1: words break at the ends of rows; 2: two columns of lines that end between words
	DimStopwords bool // small words of English are grey

	Tokens int    // what the provider counts for a full frame; of [ShapeFor]
	Detail string // what OpenAI must be told to see a frame as it is; "" elsewhere
}

const (
	maxSize   = 16384
	maxPixels = 8 << 20 // of a frame; more would not be read again
	gutter    = 3       // cells between two columns
	baseSize  = 1568
	smallSize = 1092 // is seen as it is also where larger pictures are made smaller
)

// Shapes are the shapes that can be asked for by name. Those of other programs with
// a font of 8x8 pixels are not among them.
func Shapes() []Shape {
	grid := func(name, font string, w, h, size int, ink Ink) Shape {
		return Shape{Name: name, Font: font, CellW: w, CellH: h, Size: size, Ink: ink, Columns: 1}
	}
	all := []Shape{
		grid("5x8-bw", "5x8", 5, 8, 2576, InkBlack),
		grid("5x8-sent", "5x8", 5, 8, 2576, InkSentence),
		grid("6x12-dim", "6x12", 6, 12, baseSize, InkBlack),
		grid("8x13-bw", "8x13", 8, 13, baseSize, InkBlack),
		grid("8on16-bw", "8x13", 8, 16, baseSize, InkBlack),
		grid("doc-8on16-bw", "8x13", 8, 16, baseSize, InkBlack),
		grid("doc-8on16-sent", "8x13", 8, 16, baseSize, InkSentence),
		grid("doc-8on16-sent-dim", "8x13", 8, 16, baseSize, InkSentence),
	}
	for i := range all {
		s := &all[i]
		s.DimStopwords = strings.HasSuffix(s.Name, "-dim")
		if strings.HasPrefix(s.Name, "doc-") {
			s.Columns = 2
		}
	}
	return all
}

// Auto is the name of the shape that goes with the model.
const Auto = "auto"

// lines says which shape models of a line read, by their id; the first that fits.
//
// Claude gets cells with space between the rows, where the same pages read back exactly;
// in 6x12 and 8x13 words of neighboring rows changed places. Pictures beyond about 1.2
// million pixels are made smaller before older Claudes see them, and then even large
// letters are misread. So their frames are just that large.
var lines = []struct {
	id    *regexp.Regexp
	shape string
	size  int
}{
	{regexp.MustCompile(`(?i)claude.*(fable|mythos)|claude-?opus-?4[.-][7-9]`), "8on16-bw", 1932},
	{regexp.MustCompile(`(?i)claude`), "8on16-bw", smallSize},
	{regexp.MustCompile(`(?i)gemini`), "doc-8on16-sent-dim", 2048},
	{regexp.MustCompile(`(?i)gpt|codex|kimi|glm`), "8on16-bw", baseSize},
}

// ShapeFor returns the shape of that name, sized and priced for the model. "" and
// "auto" choose by the model's id, or by its wire format if the model family is
// unknown. A nil model counts as unknown.
func ShapeFor(model *llm.Model, name string) (Shape, error) {
	var id string
	var api llm.API
	if model != nil {
		id, api = model.ID+" "+model.WireID, model.API
	}
	size := 0
	if name == "" || name == Auto {
		name, size = automatic(id, api)
	}
	for _, s := range Shapes() {
		if s.Name != name {
			continue
		}
		if size > 0 {
			s.Size = size
		}
		s.Tokens, s.Detail = price(api, s.Size)
		return s, nil
	}
	var names []string
	for _, s := range Shapes() {
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("unknown shape %q of pictures of the history (want %s or %s)", name, Auto, strings.Join(names, ", "))
}

func automatic(id string, api llm.API) (name string, size int) {
	for _, l := range lines {
		if l.id.MatchString(id) {
			return l.shape, l.size
		}
	}
	switch api {
	case llm.APIGoogle, llm.APIVertex:
		return "doc-8on16-sent-dim", 2048
	case llm.APICompletions, llm.APIResponses, llm.APICodexResponses, llm.APIAzureResponses:
		return "8on16-bw", baseSize
	}
	return "8on16-bw", smallSize
}

// price is how many tokens the API counts for a frame of that size: the patches it is
// cut into, with what the provider adds to them.
func price(api llm.API, size int) (tokens int, detail string) {
	patches := func(side int) int { n := (size + side - 1) / side; return n * n }
	percent := func(n, p int) int { return (n*p + 99) / 100 }
	switch api {
	case llm.APIGoogle, llm.APIVertex:
		return 1120, ""
	case llm.APICompletions, llm.APIResponses, llm.APICodexResponses, llm.APIAzureResponses:
		return percent(min(patches(32), 10_000), 120), "original"
	}
	return percent(min(patches(28), 4784), 105), ""
}

// Cols is how many cells a line has.
func (s Shape) Cols() int {
	grid := s.Size / s.CellW
	if s.Columns == 2 {
		return (grid - gutter) / 2
	}
	return grid
}

// Rows is how many lines a column has at most.
func (s Shape) Rows() int { return s.Size / s.CellH }

// Capacity is how many cells a frame has.
func (s Shape) Capacity() int { return s.Columns * s.Cols() * s.Rows() }

// check says what is wrong with a shape.
func (s Shape) check() error {
	f, ok := fontOf(s.Font)
	switch {
	case !ok:
		return fmt.Errorf("unknown font %q (want 5x8, 6x12 or 8x13)", s.Font)
	case s.Ink != InkBlack && s.Ink != InkSentence:
		return fmt.Errorf("unknown ink %q (want bw or sent)", s.Ink)
	case s.Columns != 1 && s.Columns != 2:
		return fmt.Errorf("%d columns (want 1 or 2)", s.Columns)
	case s.CellW != f.w || s.CellH < f.h || s.CellH > maxCellH:
		return fmt.Errorf("cells of %dx%d pixels do not fit the font %s", s.CellW, s.CellH, s.Font)
	case s.Size < 1 || s.Size > maxSize:
		return fmt.Errorf("a frame of %d pixels (want 1 to %d)", s.Size, maxSize)
	case s.Size*s.Size > maxPixels:
		return fmt.Errorf("a frame of %d pixels a side has more than %d in all", s.Size, maxPixels)
	case s.Cols() < 1 || s.Rows() < 1:
		return errors.New("a frame has no room for one cell")
	}
	return nil
}
