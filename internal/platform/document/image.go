package document

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// ImageLimits are a model's.
type ImageLimits struct {
	MaxEdge  int // pixels; 0 is 1568
	MaxBytes int // encoded; 0 is 3.75 MB
	// Keep is the edge up to which a picture keeps its size, in pixels, if it is within MaxBytes and
	// of a format that models read. It counts where it is more than MaxEdge.
	Keep int
}

// Picture is an image that a model accepts.
type Picture struct {
	MIME          string
	Data          []byte
	Width, Height int // of the original, as it is shown
	Resized       bool

	ShownWidth, ShownHeight int // of Data, where it was resized
}

const (
	defaultEdge  = 1568
	defaultBytes = 15 << 18 // 3.75 MB
	smallPNG     = 512 << 10
	maxPixels    = 100_000_000
	maxDecoded   = 160 << 20 // bytes of memory to decode a picture in
	smallestEdge = 16
)

// FitImage gives the image unchanged if it fits the limits in a format models
// read, else resized and encoded anew: as PNG where it has transparency or PNG
// keeps it small, otherwise as JPEG of the best quality that fits. Of an
// animated GIF the first frame is taken. A JPEG's orientation is applied when it
// is encoded anew.
//
// Pictures of more than 100 megapixels, or that take more than 160 MB to decode (a
// photo of 50 megapixels takes 150), are refused before they are decoded. A PNG that is not
// interlaced is made smaller while it is read, and takes less.
func FitImage(data []byte, l ImageLimits) (*Picture, error) {
	if l.MaxEdge <= 0 {
		l.MaxEdge = defaultEdge
	}
	if l.MaxBytes <= 0 {
		l.MaxBytes = defaultBytes
	}
	format := imageFormat(data)
	if format == "" {
		return nil, errors.New("not a picture of a known format (PNG, JPEG, GIF, WebP, BMP, TIFF)")
	}
	width, height, bands, err := measure(format, data, l)
	if err != nil {
		return nil, fmt.Errorf("picture (%s): %w", format, err)
	}
	turn := orientation(format, data)
	p := &Picture{MIME: format, Data: data, Width: width, Height: height}
	if turn >= 5 {
		p.Width, p.Height = height, width
	}
	if fits(p, l) {
		return p, nil
	}
	var img image.Image
	if bands {
		img, err = reducePNG(data, l.MaxEdge)
	} else {
		img, err = decodeImage(format, data)
	}
	if err != nil {
		return nil, fmt.Errorf("decode picture (%s): %w", format, err)
	}
	p.Resized = bands
	if err := p.encode(img, turn, format, l); err != nil {
		return nil, err
	}
	return p, nil
}

func fits(p *Picture, l ImageLimits) bool {
	if max(p.Width, p.Height) > max(l.MaxEdge, l.Keep) || len(p.Data) > l.MaxBytes {
		return false
	}
	switch p.MIME {
	case "image/png", "image/jpeg", "image/webp":
		return true
	case "image/gif":
		return !animated(p.Data)
	}
	return false
}

// measure reads a picture's size and refuses those that are too large to decode. Some have
// to be decoded in bands.
func measure(format string, data []byte, l ImageLimits) (width, height int, bands bool, err error) {
	defer recovered(&err)
	var c image.Config
	r := bytes.NewReader(data)
	switch format {
	case "image/png":
		c, err = png.DecodeConfig(r)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(r)
	case "image/gif":
		c, err = gif.DecodeConfig(r)
	case "image/webp":
		c, err = webp.DecodeConfig(r)
	case "image/bmp":
		c, err = bmp.DecodeConfig(r)
	case "image/tiff":
		c, err = tiff.DecodeConfig(r)
	}
	if err != nil {
		return 0, 0, false, err
	}
	if c.Width <= 0 || c.Height <= 0 {
		return 0, 0, false, fmt.Errorf("has the size %d×%d", c.Width, c.Height)
	}
	pixels := int64(c.Width) * int64(c.Height)
	if pixels > maxPixels || c.Width > maxPixels || c.Height > maxPixels {
		return 0, 0, false, fmt.Errorf("has %d×%d pixels, more than %d megapixels", c.Width, c.Height, maxPixels/1_000_000)
	}
	if need := pixels * decodeWeight(format, data, c.ColorModel); need > maxDecoded {
		if format == "image/png" && max(c.Width, c.Height) >= 2*l.MaxEdge {
			if h, _, _, err := pngParts(data); err == nil && !h.interlaced() {
				return c.Width, c.Height, true, nil
			}
		}
		return 0, 0, false, fmt.Errorf("has %d×%d pixels of a kind that takes %d MB to decode, %d MB are the limit",
			c.Width, c.Height, need>>20, maxDecoded>>20)
	}
	return c.Width, c.Height, false, nil
}

// decodeWeight is how many bytes a decoder takes for a pixel, at most.
func decodeWeight(format string, data []byte, m color.Model) int64 {
	weight := int64(4)
	switch m {
	case color.RGBA64Model, color.NRGBA64Model:
		weight = 8
	case color.YCbCrModel:
		weight = 3
	case color.GrayModel:
		weight = 1
	}
	switch {
	case format == "image/tiff":
		weight += 8 // the unpacked strip beside the picture
	case format == "image/jpeg" && progressive(data):
		weight += 12 // the coefficients of three channels
	case format == "image/webp":
		weight += 4
	}
	return weight
}

// decodeImage decodes the first frame. The decoders are called by name, because
// the registry of package image would try them all.
func decodeImage(format string, data []byte) (img image.Image, err error) {
	defer recovered(&err)
	r := bytes.NewReader(data)
	switch format {
	case "image/png":
		return png.Decode(r)
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/gif":
		return gif.Decode(r)
	case "image/webp":
		return webp.Decode(r)
	case "image/bmp":
		return bmp.Decode(r)
	}
	return tiff.Decode(r)
}

// recovered turns a panic of a decoder into an error.
func recovered(err *error) {
	if x := recover(); x != nil {
		*err = fmt.Errorf("malformed: %v", x)
	}
}

// encode makes the picture fit: first by its edge, then by its bytes.
func (p *Picture) encode(img image.Image, turn int, format string, l ImageLimits) error {
	lossless := format != "image/jpeg" && format != "image/webp"
	b := img.Bounds()
	width, height := within(b.Dx(), b.Dy(), l.MaxEdge)
	p.Resized = p.Resized || width != b.Dx() || height != b.Dy()
	var small image.Image = scale(img, width, height)
	for {
		upright := rotate(small, turn)
		mime, data, err := compress(upright, lossless, l.MaxBytes)
		if err != nil {
			return fmt.Errorf("encode picture: %w", err)
		}
		if len(data) <= l.MaxBytes {
			p.MIME, p.Data = mime, data
			p.ShownWidth, p.ShownHeight = upright.Bounds().Dx(), upright.Bounds().Dy()
			return nil
		}
		width, height = within(width, height, max(width, height)*3/4)
		if max(width, height) < smallestEdge {
			return fmt.Errorf("picture does not fit in %d bytes", l.MaxBytes)
		}
		small = scale(small, width, height)
		p.Resized = true
	}
}

// within is the size with the same proportions whose longer edge is at most edge.
func within(width, height, edge int) (int, int) {
	if longer := max(width, height); longer > edge {
		width, height = max(1, width*edge/longer), max(1, height*edge/longer)
	}
	return width, height
}

// compress encodes a picture, if it can in at most limit bytes.
func compress(img image.Image, lossless bool, limit int) (mime string, data []byte, err error) {
	opaque := isOpaque(img)
	if lossless || !opaque {
		small := min(limit, smallPNG)
		if !opaque {
			small = limit
		}
		var buf bytes.Buffer
		enc := png.Encoder{CompressionLevel: png.DefaultCompression}
		if err := enc.Encode(&buf, img); err != nil {
			return "", nil, err
		}
		if buf.Len() <= small {
			return "image/png", buf.Bytes(), nil
		}
	}
	if !opaque {
		img = onWhite(img)
	}
	for _, quality := range []int{85, 70, 55, 40} {
		var buf bytes.Buffer
		if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
			return "", nil, err
		}
		data = buf.Bytes()
		if len(data) <= limit {
			break
		}
	}
	return "image/jpeg", data, nil
}

func isOpaque(img image.Image) bool {
	o, ok := img.(interface{ Opaque() bool })
	return ok && o.Opaque()
}
