package document

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/draw"
	"image/png"
	"io"
)

// bandBytes is how much of a large PNG is decoded at a time, unless one row of the result
// takes more.
const bandBytes = 4 << 20

// pngHeader is what an IHDR chunk says.
type pngHeader struct {
	raw           []byte
	width, height int
	bits          int // of a pixel
}

// interlaced PNGs have their rows in an order that only a whole decoder can follow.
func (h *pngHeader) interlaced() bool { return h.raw[12] != 0 }

func (h *pngHeader) stride() int { return (h.width*h.bits + 7) / 8 }

// pngParts finds the header, the chunks with colors and the compressed rows of a PNG.
func pngParts(data []byte) (h pngHeader, colors []byte, rows io.Reader, err error) {
	var pieces []io.Reader
	for at := 8; at+12 <= len(data); {
		n := int(binary.BigEndian.Uint32(data[at:]))
		if n < 0 || n > len(data)-at-12 {
			break
		}
		chunk, body := data[at:at+12+n], data[at+8:at+8+n]
		switch string(chunk[4:8]) {
		case "IHDR":
			if n != 13 {
				return h, nil, nil, errors.New("malformed header")
			}
			channels := map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[body[9]]
			h = pngHeader{body, int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:])), channels * int(body[8])}
		case "PLTE", "tRNS":
			colors = append(colors, chunk...)
		case "IDAT":
			pieces = append(pieces, bytes.NewReader(body))
		}
		at += 12 + n
	}
	if h.bits == 0 || len(pieces) == 0 {
		return h, nil, nil, errors.New("malformed: header or pixels are missing")
	}
	return h, colors, io.MultiReader(pieces...), nil
}

// reducePNG decodes a PNG band by band and averages it by a whole factor, so that its longer
// edge is at least edge: a picture that is too large to be decoded as a whole takes little
// more memory than the result.
func reducePNG(data []byte, edge int) (*image.RGBA, error) {
	h, colors, packed, err := pngParts(data)
	if err != nil {
		return nil, err
	}
	factor := max(h.width, h.height) / edge
	if factor = min(factor, h.width, h.height); factor < 2 || h.interlaced() {
		return nil, errors.New("cannot be reduced while it is read")
	}
	rows := factor * max(1, bandBytes/(factor*h.width*8)) // of a band; a pixel has at most 8 bytes
	if rows*h.width*8 > maxDecoded/2 {
		return nil, fmt.Errorf("its rows take more than %d MB", maxDecoded>>21)
	}
	z, err := zlib.NewReader(packed)
	if err != nil {
		return nil, err
	}
	width, height := h.width/factor, h.height/factor
	dst := image.NewRGBA(image.Rect(0, 0, width, height))
	line := 1 + h.stride()
	band, before := make([]byte, rows*line), make([]byte, line)
	for y := 0; y < height; {
		n := min(rows, (height-y)*factor)
		part := band[:n*line]
		if _, err := io.ReadFull(z, part); err != nil {
			return nil, fmt.Errorf("malformed: %w", err)
		}
		for i := range n {
			row := part[i*line : (i+1)*line]
			if err := unfilter(row, before, max(1, h.bits/8)); err != nil {
				return nil, err
			}
			row[0] = 0
			before = append(before[:0], row...)
		}
		img, err := png.Decode(h.plain(part, n, colors))
		if err != nil {
			return nil, err
		}
		small := average(img, factor)
		draw.Draw(dst, image.Rect(0, y, width, y+n/factor), small, image.Point{}, draw.Src)
		y += n / factor
	}
	return dst, nil
}

// plain is a PNG of some rows without a filter.
func (h *pngHeader) plain(rows []byte, n int, colors []byte) io.Reader {
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		body := append([]byte(kind), data...)
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
		out.Write(body)
		out.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
	}
	head := bytes.Clone(h.raw)
	binary.BigEndian.PutUint32(head[4:], uint32(n))
	chunk("IHDR", head)
	out.Write(colors)
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, zlib.NoCompression) // the level is a valid one
	_, _ = z.Write(rows)                                     // into memory
	_ = z.Close()
	chunk("IDAT", packed.Bytes())
	chunk("IEND", nil)
	return &out
}

// unfilter gives a row its bytes back, which a PNG stores as differences from the pixel on
// the left and the row before. Both begin with the byte that names the filter.
func unfilter(row, before []byte, pixel int) error {
	kind, row, before := row[0], row[1:], before[1:]
	for i := range row {
		var left, up, corner int
		up = int(before[i])
		if i >= pixel {
			left, corner = int(row[i-pixel]), int(before[i-pixel])
		}
		switch kind {
		case 0:
			return nil
		case 1:
			row[i] += byte(left)
		case 2:
			row[i] += byte(up)
		case 3:
			row[i] += byte((left + up) / 2)
		case 4:
			row[i] += byte(paeth(left, up, corner))
		default:
			return fmt.Errorf("malformed: unknown filter %d", kind)
		}
	}
	return nil
}

// paeth is the neighbor that is nearest to what the three together predict.
func paeth(left, up, corner int) int {
	predicted := left + up - corner
	toLeft, toUp, toCorner := abs(predicted-left), abs(predicted-up), abs(predicted-corner)
	switch {
	case toLeft <= toUp && toLeft <= toCorner:
		return left
	case toUp <= toCorner:
		return up
	}
	return corner
}

func abs(n int) int { return max(n, -n) }
